import Digests
import Foundation
import Logging
import NIOCore

/// Brings a finished file into a bucket.
struct S3Delivery: Sendable {
  /// Damaged objects and uploads that vanish are sent again this often.
  private static let rounds = 3

  let client: S3Client
  let file: String
  let key: String
  let options: DeliveryOptions
  let logger: Logger
  let progress: @Sendable (DeliveryProgress) -> Void

  /// What one round came to.
  private enum Outcome {
    case delivered(DeliveredFile)
    case again(DeliveryError)
  }

  /// What is sent, as far as it was read.
  private struct Content {
    var parts: [ContentHash]
    var sha256: [UInt8]
    var size: Int64
    /// What the store says of it when all is well.
    var expected: (checksum: String, etag: String)

    init(parts: [ContentHash], sha256: [UInt8], isSingle: Bool) {
      self.parts = parts
      self.sha256 = sha256
      size = parts.reduce(0) { $0 + $1.size }
      expected = isSingle && !parts.isEmpty ? (parts[0].checksum, parts[0].etag) : ContentHash.composite(parts)
    }
  }

  /// Sends the file. `live`: an upload that has been going on while the file was written.
  func run(live: MultipartUpload? = nil) async throws(DeliveryError) -> DeliveredFile {
    let source = try await SourceFile.open(file)
    let plan = UploadPlan(size: source.size, wished: options.partSize)
    var upload = live
    if let live, plan.isSingle || live.partSize != plan.partSize {
      // Too small for parts, or too long for parts of this size.
      await live.abort()
      upload = nil
    }
    var round = 1
    while true {
      let outcome =
        plan.isSingle
        ? try await sendWhole(source, plan) : try await sendParts(source, plan, upload ?? makeUpload(plan))
      switch outcome {
      case .delivered(let delivered): return delivered
      case .again(let error):
        guard round < Self.rounds else { throw error }
        logger.warning("a file is sent again", metadata: ["file": "\(file)", "reason": "\(error)"])
      }
      upload = nil
      round += 1
    }
  }

  private func makeUpload(_ plan: UploadPlan) -> MultipartUpload {
    MultipartUpload(client, file: file, key: key, partSize: plan.partSize, logger: logger)
  }

  // MARK: - One request

  private func sendWhole(_ source: SourceFile, _ plan: UploadPlan) async throws(DeliveryError) -> Outcome {
    let whole = WholeHash()
    let (body, part) = try await source.part(0..<plan.size, whole: whole)
    let content = Content(parts: [part], sha256: whole.value, isSingle: true)
    if case .present(let object) = try await client.head(key) { return try await settle(object, content) }
    tell(0, plan.size)
    guard try await client.put(key, body, part, extras: true) else {
      return try await settle(try await object(), content)
    }
    tell(plan.size, plan.size)
    return try await verify(content, source)
  }

  // MARK: - Parts

  private func sendParts(
    _ source: SourceFile, _ plan: UploadPlan, _ upload: MultipartUpload
  ) async throws(DeliveryError) -> Outcome {
    if try await !upload.resume() {
      if case .present(let object) = try await client.head(key) {
        return try await settle(object, try await hash(source, plan))
      }
      try await upload.begin()
    }
    do throws(DeliveryError) {
      guard let content = try await transfer(source, plan, upload) else {
        return try await unknownUpload(upload, source, plan)
      }
      switch try await upload.complete(count: plan.count) {
      case .done:
        await upload.forget()
        return try await verify(content, source)
      case .noUpload: return try await unknownUpload(upload, source, plan)
      case .exists:
        await upload.abort()
        return try await settle(try await object(), content)
      case .partsDiffer(let error):
        await upload.abort()
        return .again(error)
      }
    } catch {
      if error.code == .cancelled {
        // The task is cancelled; taking the upload back must not be.
        await Task { await upload.abort() }.value
      }
      throw error
    }
  }

  /// Sends the parts that the store does not have, several at once. Nil: the store does not know the upload any more.
  private func transfer(
    _ source: SourceFile, _ plan: UploadPlan, _ upload: MultipartUpload
  ) async throws(DeliveryError) -> Content? {
    let whole = WholeHash()
    let parallel = min(max(options.parallelParts, 1), 16)
    do {
      return try await withThrowingTaskGroup(of: Int64?.self) { group -> Content? in
        var contents: [ContentHash] = []
        var sent: Int64 = 0
        var running = 0
        var isKnown = true
        func finishOne() async throws {
          guard let result = try await group.next() else { return }
          running -= 1
          if let result { sent += result } else { isKnown = false }
          tell(sent, plan.size)
        }
        for number in 1...plan.count {
          let (body, content) = try await source.part(plan.range(number), whole: whole)
          contents.append(content)
          if await upload.holds(number, content) {
            sent += content.size
            tell(sent, plan.size)
            continue
          }
          if running == parallel { try await finishOne() }
          guard isKnown else { break }
          running += 1
          group.addTask { try await upload.send(number, body, content) ? content.size : nil }
        }
        while running > 0 { try await finishOne() }
        return isKnown ? Content(parts: contents, sha256: whole.value, isSingle: false) : nil
      }
    } catch let error as DeliveryError {
      throw error
    } catch {
      throw S3Client.cancelled
    }
  }

  /// The upload is not known: it was completed by a process whose end came before it could say so, or it was removed.
  private func unknownUpload(
    _ upload: MultipartUpload, _ source: SourceFile, _ plan: UploadPlan
  ) async throws(DeliveryError) -> Outcome {
    await upload.forget()
    if case .present(let object) = try await client.head(key) {
      return try await settle(object, try await hash(source, plan))
    }
    return .again(DeliveryError(.unreachable, "\(client.location(of: key)): the store has lost the upload; try again"))
  }

  private func hash(_ source: SourceFile, _ plan: UploadPlan) async throws(DeliveryError) -> Content {
    let whole = WholeHash()
    var contents: [ContentHash] = []
    for number in 1...plan.count {
      if Task.isCancelled { throw S3Client.cancelled }
      contents.append(try await source.part(plan.range(number), whole: whole).1)
    }
    return Content(parts: contents, sha256: whole.value, isSingle: plan.isSingle)
  }

  // MARK: - Verification

  /// Compares what has just been sent. What is damaged is removed and sent again.
  private func verify(_ content: Content, _ source: SourceFile) async throws(DeliveryError) -> Outcome {
    guard source.size == content.size else {
      throw DeliveryError(.file, "\(file): was changed while it was sent; deliver it when nobody writes it any more")
    }
    let object = try await object()
    if try await matches(object, content) { return .delivered(delivered(content)) }
    try await client.delete(key)
    return .again(
      DeliveryError(
        .checksum,
        "\(client.location(of: key)): what the store has is not what was sent; it was removed; check the store"))
  }

  /// There is an object of that name: it is this file, or it stays as it is.
  private func settle(_ object: S3Object, _ content: Content) async throws(DeliveryError) -> Outcome {
    guard try await matches(object, content) else {
      throw DeliveryError(
        .exists, "\(client.location(of: key)): there is another object of that name; it is not overwritten")
    }
    tell(content.size, content.size)
    return .delivered(delivered(content))
  }

  private func object() async throws(DeliveryError) -> S3Object {
    switch try await client.head(key) {
    case .present(let object): return object
    case .absent:
      throw DeliveryError(.checksum, "\(client.location(of: key)): the store took the file, and does not have it")
    case .unknown:
      throw DeliveryError(
        .denied, "\(client.location(of: key)): the object cannot be compared; give the credentials s3:GetObject")
    }
  }

  /// True when the store's object is the file: by its size, and by what the store computed of what it has. A store may
  /// only repeat the checksum that came with the bytes, so an ETag that is a digest has to agree, too. What they leave
  /// open is decided by reading the object back.
  private func matches(_ object: S3Object, _ content: Content) async throws(DeliveryError) -> Bool {
    guard object.size == content.size else { return false }
    let (checksum, etag) = content.expected
    var isGood = false
    if let theirs = object.checksum {
      isGood = theirs == checksum || theirs == Data(content.sha256).base64EncodedString()
      // One over parts of another size says nothing about the content.
      if !isGood, Self.partCount(theirs) == Self.partCount(checksum) { return false }
    }
    if object.etag == etag { return true }
    if isGood, !object.isETagDigest || Self.partCount(object.etag) != Self.partCount(etag) { return true }
    logger.info("the object is read back to be compared", metadata: ["key": "\(key)"])
    return try await client.readBack(key, size: object.size) == content.sha256
  }

  private static func partCount(_ checksum: String) -> Substring? {
    checksum.firstIndex(of: "-").map { checksum[$0...] }
  }

  private func delivered(_ content: Content) -> DeliveredFile {
    DeliveredFile(location: client.location(of: key), size: content.size, sha256: Hexadecimal.text(content.sha256))
  }

  private func tell(_ sent: Int64, _ total: Int64) {
    progress(DeliveryProgress(sent: sent, total: total, retries: client.retries))
  }
}
