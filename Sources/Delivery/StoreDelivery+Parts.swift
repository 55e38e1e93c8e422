import Foundation
import Glibc
import MediaCore
import Platform

/// Parts of a recording that goes on elsewhere.
extension StoreDelivery {
  /// The folder of parts below the store's prefix. Objects in it belong to jobs that are not completed.
  public static let partsFolder = ".parts"

  /// Begins to bring a part into the store, or goes on with it; nil when the target is a local folder. `name`: the same
  /// for everyone who may need it. Nothing is sent yet. Throws `.configuration`, `.refusedAddress`.
  public func part(file: String, name: String) throws(DeliveryError) -> PartUpload? {
    guard let objects = try objects(name) else { return nil }
    return PartUpload(client: objects.client, file: file, key: objects.key)
  }

  /// Brings a small file of a part into the store as it is; what has the name is replaced. Nothing happens when the target is
  /// a local folder. `name`: as of `part`; `fetchPart` and `removePart` take it, too.
  public func sharePart(file: String, name: String) async throws(DeliveryError) {
    guard let objects = try objects(name) else { return }
    let source = try await SourceFile.open(file)
    var (number, sent): (Int, Int64) = (0, 0)
    while sent < source.size {
      let end = min(source.size, sent + PartObjects.largest)
      let (body, content) = try await source.part(sent..<end)
      try await objects.put(number, body, content, end: end)
      (number, sent) = (number + 1, end)
    }
  }

  /// Makes a file of what the store has of a part; false when it has nothing. `path`: where it goes; a file of that name
  /// is replaced as a whole.
  public func fetchPart(_ name: String, to path: String) async throws(DeliveryError) -> Bool {
    guard let objects = try objects(name) else { return false }
    let temporary = "\(path).\(getpid())"
    let descriptor = try await BlockingWork.run { () throws(DeliveryError) -> Int32 in
      unlink(temporary)
      let descriptor = open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
      guard descriptor >= 0 else { throw SourceFile.failed(temporary, "cannot be created") }
      return descriptor
    }
    defer {
      close(descriptor)
      unlink(temporary)
    }
    let isThere = try await objects.read { bytes throws(DeliveryError) in
      try await BlockingWork.run { () throws(DeliveryError) in
        if let number = bytes.withUnsafeBytes({ FileWriting.append($0, to: descriptor) }) {
          throw SourceFile.failed(path, "cannot be written", number)
        }
      }
    }
    guard isThere else { return false }
    try await BlockingWork.run { () throws(DeliveryError) in
      guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
        throw SourceFile.failed(path, "cannot be written")
      }
    }
    return true
  }

  /// Removes a part from the store. Nothing happens when there is none.
  public func removePart(_ name: String) async throws(DeliveryError) {
    guard let objects = try objects(name) else { return }
    try await objects.remove()
  }

  private func objects(_ name: String) throws(DeliveryError) -> PartObjects? {
    guard case .s3(let target) = target else { return nil }
    let path = "\(Self.partsFolder)/\(name)"
    try KeyTemplate.checkForDelivery(path)
    return PartObjects(
      client: try S3Client(target, options: options, logger: logger), key: Self.key(path, target))
  }
}
