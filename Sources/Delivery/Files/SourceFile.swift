import Digests
import Glibc
import NIOCore
import Platform
import Synchronization
import WebM

/// A file that is sent: opened once, read in parts and hashed, on threads that may block.
final class SourceFile: Sendable {
  let path: String
  private let descriptor: Int32

  /// Opens a regular file; symbolic links are followed.
  static func open(_ path: String) async throws(DeliveryError) -> SourceFile {
    try await BlockingWork.run { () throws(DeliveryError) in try SourceFile(path) }
  }

  /// Opens a regular file. Blocks.
  init(_ path: String) throws(DeliveryError) {
    self.path = path
    descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw SourceFile.failed(path, "cannot be opened") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw DeliveryError(.file, "\(path): is not a regular file")
    }
  }

  /// Takes an open file, which is closed with it; nil, and closed at once, when it is no regular file.
  init?(descriptor: Int32, path: String) {
    self.path = path
    self.descriptor = descriptor
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
  }

  deinit { close(descriptor) }

  /// Bytes of the file now. Does not block.
  var size: Int64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Device and number of the file: the same for all its names.
  var identity: (device: UInt64, number: UInt64) {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? (UInt64(status.st_dev), UInt64(status.st_ino)) : (0, 0)
  }

  /// Reads a part and its checksums; `whole` takes it, too. Throws `.file`, also when the file has become shorter.
  func part(_ range: Range<Int64>, whole: WholeHash? = nil) async throws(DeliveryError) -> (ByteBuffer, ContentHash) {
    try await BlockingWork.run { () throws(DeliveryError) in
      let count = Int(range.upperBound - range.lowerBound)
      let buffer = try self.bytes(range)
      let content = buffer.withUnsafeReadableBytes { bytes in
        whole?.update(bytes)
        return ContentHash(
          size: Int64(count), sha256: Digest.of(bytes, .sha256), md5: Digest.of(bytes, .md5))
      }
      return (buffer, content)
    }
  }

  /// Reads a part. Blocks. Throws `.file`.
  func bytes(_ range: Range<Int64>) throws(DeliveryError) -> ByteBuffer {
    let count = Int(range.upperBound - range.lowerBound)
    var buffer = ByteBuffer()
    buffer.reserveCapacity(count)
    var failure: DeliveryError?
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
      do throws(DeliveryError) {
        try self.read(UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), at: range.lowerBound)
        return count
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
    return buffer
  }

  /// Fills a buffer. Blocks. Throws `.file`.
  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DeliveryError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
      let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
      if count > 0 {
        done += count
      } else if count == 0 {
        throw DeliveryError(.file, "\(path): became shorter while it was sent; is somebody still writing it?")
      } else if errno != EINTR {
        throw SourceFile.failed(path, "cannot be read")
      }
    }
  }

  /// Looks at what of a recording that is still written has become final since the last look.
  func follow(_ before: ClusterTail) async throws(DeliveryError) -> ClusterTail {
    try await BlockingWork.run { () throws(DeliveryError) in
      var tail = before
      tail.advance { buffer, offset in
        guard offset + Int64(buffer.count) <= self.size else { return false }
        do throws(DeliveryError) {
          try self.read(buffer, at: offset)
          return true
        } catch {
          return false
        }
      }
      return tail
    }
  }

  /// The error of the system call that has just failed.
  static func failed(_ path: String, _ what: String, _ number: Int32 = errno) -> DeliveryError {
    DeliveryError(.file, "\(path): \(what): \(String(cString: strerror(number)))")
  }
}

/// SHA-256 of a file that comes in order, part by part.
final class WholeHash: Sendable {
  private let hasher = Mutex(Digest(.sha256))

  /// Takes the next bytes.
  func update(_ bytes: UnsafeRawBufferPointer) { hasher.withLock { $0.update(bytes) } }

  /// The hash of what has come so far.
  var value: [UInt8] { hasher.withLock { $0.value } }
}
