import Glibc
import Platform

/// Small files that are replaced as a whole.
enum AtomicFile {
  /// Writes a file, mode 0600, durably: a crash leaves the one before, or the new one. Blocks. Throws `.file`.
  static func write(_ bytes: [UInt8], to path: String) throws(DeliveryError) {
    let temporary = "\(path).\(getpid())"
    unlink(temporary)
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw SourceFile.failed(temporary, "cannot be created") }
    var number = bytes.withUnsafeBytes { FileWriting.append($0, to: descriptor) }
    if number == nil, fsync(descriptor) != 0 { number = errno }
    close(descriptor)
    if number == nil, rename(temporary, path) != 0 { number = errno }
    guard let number else { return }
    unlink(temporary)
    throw SourceFile.failed(path, "cannot be written", number)
  }
}
