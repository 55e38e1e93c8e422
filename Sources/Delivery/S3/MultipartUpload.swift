import Logging
import NIOCore
import Platform

/// One multipart upload: its name in the store, and the parts that are there. Survives the process by its journal.
actor MultipartUpload {
  let partSize: Int64
  private let client: S3Client
  private let file: String
  private let key: String
  private let logger: Logger
  private var upload: String?
  private var stored: [Int: StoredPart] = [:]

  init(_ client: S3Client, file: String, key: String, partSize: Int64, logger: Logger) {
    self.client = client
    self.file = file
    self.key = key
    self.partSize = partSize
    self.logger = logger
  }

  /// Takes up an upload that an earlier process began for the same file and key; false: there is none.
  func resume() async throws(DeliveryError) -> Bool {
    if upload != nil { return true }
    let file = file
    guard let journal = try await BlockingWork.run({ () throws(DeliveryError) in UploadJournal.read(for: file) }) else {
      return false
    }
    guard journal.endpoint == endpoint, journal.bucket == client.target.bucket else { return false }
    guard journal.key == key, journal.partSize == partSize else {
      // Another name or size was wanted then: nothing of it is of use now.
      try await client.abortUpload(journal.key, upload: journal.upload)
      await forget()
      return false
    }
    guard let parts = try await client.listParts(key, upload: journal.upload) else {
      // It was completed, and the process ended before it could say so; or somebody has removed it.
      await forget()
      return false
    }
    upload = journal.upload
    stored = parts
    logger.info("an upload goes on", metadata: ["key": "\(key)", "parts": "\(stored.count)"])
    return true
  }

  /// Begins the upload, unless it is under way.
  func begin() async throws(DeliveryError) {
    guard upload == nil else { return }
    let name = try await client.createUpload(key)
    let journal = UploadJournal(
      endpoint: endpoint, bucket: client.target.bucket, key: key, upload: name, partSize: partSize)
    let file = file
    upload = name
    stored = [:]
    do throws(DeliveryError) {
      try await BlockingWork.run { () throws(DeliveryError) in try journal.write(for: file) }
    } catch {
      // Without a journal nobody would ever take back what a crash leaves in the store.
      await abort()
      throw error
    }
  }

  /// True when the store is known to have a part with this content.
  func holds(_ number: Int, _ content: ContentHash) -> Bool { stored[number]?.holds(content) ?? false }

  /// Sends a part. False: the store does not know the upload any more.
  func send(_ number: Int, _ body: ByteBuffer, _ content: ContentHash) async throws(DeliveryError) -> Bool {
    guard let upload else { return false }
    guard let part = try await client.uploadPart(key, upload: upload, number: number, body, content) else {
      return false
    }
    stored[number] = part
    return true
  }

  /// Puts the parts 1 to `count` together.
  func complete(count: Int) async throws(DeliveryError) -> S3Client.Completion {
    guard let upload else { return .noUpload }
    let parts = (1...max(1, count)).compactMap { stored[$0] }
    guard parts.count == count else { return .noUpload }
    return try await client.completeUpload(key, upload: upload, parts)
  }

  /// Takes the upload back and forgets it. What the store does not confirm is logged: its own rules remove it in time.
  func abort() async {
    guard let name = upload else { return }
    do throws(DeliveryError) {
      try await client.abortUpload(key, upload: name)
    } catch {
      logger.warning("an upload could not be taken back", metadata: ["key": "\(key)", "reason": "\(error)"])
      return
    }
    await forget()
  }

  /// Forgets the upload: it is completed, or gone.
  func forget() async {
    upload = nil
    stored = [:]
    let file = file
    _ = try? await BlockingWork.run { () throws(DeliveryError) in UploadJournal.remove(for: file) }
  }

  private var endpoint: String { client.target.endpoint ?? client.target.region }
}
