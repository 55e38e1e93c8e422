import Glibc

/// Small files that are replaced as a whole.
enum AtomicFile {
  /// Writes a file, mode 0600, durably: a crash leaves the one before, or the new one. Blocks. Throws `.file`.
  static func write(_ bytes: [UInt8], to path: String) throws(DeliveryError) {
    let temporary = "\(path).\(getpid())"
    unlink(temporary)
    let descriptor = open(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw SourceFile.failed(temporary, "cannot be created") }
    var isWritten = true
    var done = 0
    while done < bytes.count, isWritten {
      let count = bytes[done...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 { done += count } else if errno != EINTR { isWritten = false }
    }
    isWritten = isWritten && fsync(descriptor) == 0
    let number = errno
    close(descriptor)
    guard isWritten, rename(temporary, path) == 0 else {
      if !isWritten { errno = number }
      let error = SourceFile.failed(path, "cannot be written")
      unlink(temporary)
      throw error
    }
  }
}
