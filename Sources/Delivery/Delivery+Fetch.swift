import Foundation
import Glibc

extension Delivery {
  /// Brings a delivered file back: what `DeliveredFile.location` says, for the same target. For parts of a recording that
  /// another machine has handed over.
  ///
  /// - Parameters:
  ///   - location: `s3://bucket/key` of this target's bucket, or a path below its root.
  ///   - path: where it goes; must not exist. It is there when it is complete.
  /// - Throws: `DeliveryError`; `.file` also when there is no such object.
  public func fetch(_ location: String, to path: String) async throws(DeliveryError) {
    guard case .s3(let target) = target else {
      let parts = path.split(separator: "/")
      let folder = (path.hasPrefix("/") ? "/" : "") + parts.dropLast().joined(separator: "/")
      let copy = LocalDelivery(
        root: folder.isEmpty ? "." : folder, file: location, name: String(parts.last ?? ""), progress: { _ in })
      _ = try await DiskWork.run { () throws(DeliveryError) in try copy.run() }
      return
    }
    let start = "s3://\(target.bucket)/"
    guard location.hasPrefix(start) else {
      throw DeliveryError(.configuration, "\(location): is not in the bucket \(target.bucket)")
    }
    let client = try S3Client(target, options: options, logger: logger)
    try await client.fetch(String(location.dropFirst(start.count)), to: path)
  }
}

extension S3Client {
  /// Writes an object into a new file, which appears when it is complete.
  func fetch(_ key: String, to path: String) async throws(DeliveryError) {
    guard case .present(let object) = try await head(key) else {
      throw DeliveryError(.file, "\(location(of: key)): there is no such object, or it cannot be read")
    }
    let temporary = "\(path).\(getpid()).part"
    let descriptor = try await DiskWork.run { () throws(DeliveryError) -> Int32 in
      unlink(temporary)
      let descriptor = open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
      guard descriptor >= 0 else { throw SourceFile.failed(temporary, "cannot be created") }
      return descriptor
    }
    defer {
      close(descriptor)
      unlink(temporary)
    }
    try await read(key, size: object.size) { bytes, offset throws(DeliveryError) in
      try await DiskWork.run { () throws(DeliveryError) in
        var done = 0
        while done < bytes.count {
          let count = bytes[done...].withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset) + off_t(done))
          }
          if count > 0 { done += count } else if errno != EINTR { throw SourceFile.failed(path, "cannot be written") }
        }
      }
    }
    try await DiskWork.run { () throws(DeliveryError) in
      guard fsync(descriptor) == 0 else { throw SourceFile.failed(path, "is not durable") }
      // Makes the name or fails; never replaces anything.
      guard link(temporary, path) == 0 else { throw SourceFile.failed(path, "cannot be given its name") }
    }
  }
}
