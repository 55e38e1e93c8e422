import Logging
import WebM

/// The upload of a recording that is still being written: parts go to the store as soon as they are final, so that
/// little is left to do when the recording ends.
///
/// What is final is read from the file itself: its Clusters that have ended. The first part is sent last, because the
/// file's head is completed when the recording ends; `finish` compares all parts with the file once more, so that what is
/// in the store is the file, whatever was sent before.
public actor LiveUpload {
  private let client: S3Client
  private let file: String
  private let key: String
  private let options: DeliveryOptions
  private let logger: Logger
  private let upload: MultipartUpload
  private var source: SourceFile?
  private var tail = ClusterTail()
  /// The next part to send; the first has to wait.
  private var next = 2
  private var isAdvancing = false
  private var isOver = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// Bytes that have been sent.
  public private(set) var sent: Int64 = 0

  init(client: S3Client, file: String, key: String, options: DeliveryOptions, logger: Logger) {
    self.client = client
    self.file = file
    self.key = key
    self.options = options
    self.logger = logger
    upload = MultipartUpload(
      client, file: file, key: key, partSize: UploadPlan(size: 0, wished: options.partSize).partSize, logger: logger)
  }

  /// True once the file says that it was ended: then nothing but `finish` is left to do.
  public var fileHasEnded: Bool { tail.hasEnded }

  /// Sends what has become final. Call it every few seconds. An error harms nothing: the next call, or `finish`, makes
  /// up for it. Does nothing while another call is at work.
  public func advance() async throws(DeliveryError) {
    guard !isAdvancing, !isOver else { return }
    isAdvancing = true
    defer { rest() }
    let final = try await look()
    let partSize = upload.partSize
    guard let source, Int64(next) * partSize <= final else { return }
    if try await !upload.resume() { try await upload.begin() }
    while !isOver, next < UploadPlan.mostParts, Int64(next) * partSize <= final {
      let range = Int64(next - 1) * partSize..<Int64(next) * partSize
      let (body, content) = try await source.part(range)
      if await !upload.holds(next, content) {
        guard try await upload.send(next, body, content) else {
          // Somebody has taken the upload back: it begins again.
          await upload.forget()
          next = 2
          sent = 0
          return
        }
      }
      next += 1
      sent += content.size
    }
  }

  /// Completes the upload of the finished file and compares it; see `StoreDelivery.deliver`.
  public func finish(
    progress: @escaping @Sendable (DeliveryProgress) -> Void = { _ in }
  ) async throws(DeliveryError) -> DeliveredFile {
    await stop()
    return try await S3Delivery(
      client: client, file: file, key: key, options: options, logger: logger, progress: progress
    ).run(live: upload)
  }

  /// Takes the upload back: nothing of it stays in the store. The file stays.
  public func cancel() async {
    await stop()
    await upload.abort()
  }

  /// Finds out how much of the file is final.
  private func look() async throws(DeliveryError) -> Int64 {
    let file = file
    let source: SourceFile
    if let opened = self.source {
      source = opened
    } else {
      // The recorder may not have made it yet.
      guard let opened = try? await SourceFile.open(file) else { return 0 }
      source = opened
      self.source = opened
    }
    tail = try await source.follow(tail)
    return tail.end
  }

  private func stop() async {
    isOver = true
    while isAdvancing { await withCheckedContinuation { waiters.append($0) } }
  }

  private func rest() {
    isAdvancing = false
    let waiting = waiters
    waiters = []
    for waiter in waiting { waiter.resume() }
  }
}
