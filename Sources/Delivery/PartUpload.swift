import Logging
import NIOCore
import WebM

/// Brings a part of a recording into the store while it is being written, for whoever must go on without this machine:
/// what is final is there a moment later, and `StoreDelivery.fetchPart` makes a file of it that plays.
public actor PartUpload {
  private let objects: PartObjects
  private let file: String
  private var source: SourceFile?
  private var tail = ClusterTail()
  /// Objects that are in the store, and how much of the file they are; nil before the store was asked.
  private var state: (count: Int, end: Int64)?
  private var isAdvancing = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(client: S3Client, file: String, key: String) {
    objects = PartObjects(client: client, key: key)
    self.file = file
  }

  /// Bytes of the file that are in the store.
  public var sent: Int64 { state?.end ?? 0 }

  /// Sends what has become final. Call it about once a second. An error harms nothing: the next call makes up for it.
  /// Does nothing while another call is at work.
  public func advance() async throws(DeliveryError) {
    guard !isAdvancing else { return }
    isAdvancing = true
    defer { rest() }
    try await look()
    try await send(upTo: tail.end)
  }

  /// Sends all of a file that nobody writes any more, also what a crash has cut off, and its final first page.
  public func finish() async throws(DeliveryError) {
    while isAdvancing { await withCheckedContinuation { waiters.append($0) } }
    isAdvancing = true
    defer { rest() }
    try await look()
    guard let source, tail.end > 0 || tail.hasEnded else { return }
    try await send(upTo: source.size)
    if tail.hasEnded { try await sendHead(source) }
  }

  /// Reads how much of the file is final, and once how much of it an earlier process has sent.
  private func look() async throws(DeliveryError) {
    let source: SourceFile
    if let opened = self.source {
      source = opened
    } else {
      // The recorder may not have made it yet.
      guard let opened = try? await SourceFile.open(file) else { return }
      source = opened
      self.source = opened
    }
    tail = try await source.follow(tail)
    if state == nil { state = try await objects.state() }
  }

  private func send(upTo end: Int64) async throws(DeliveryError) {
    guard let source, end > 0 else { return }
    if state?.count == 0 { try await sendHead(source) }
    while let (count, sent) = state, sent < end {
      let next = min(end, sent + PartObjects.largest)
      let (body, content) = try await source.part(sent..<next)
      try await objects.put(count, body, content, end: next)
      state = (count + 1, next)
    }
  }

  private func sendHead(_ source: SourceFile) async throws(DeliveryError) {
    let size = min(source.size, ClusterTail.headSize)
    let (body, content) = try await source.part(0..<size)
    try await objects.put(0, body, content, end: size)
    if state?.count == 0 { state = (1, size) }
  }

  private func rest() {
    isAdvancing = false
    let waiting = waiters
    waiters = []
    for waiter in waiting { waiter.resume() }
  }
}
