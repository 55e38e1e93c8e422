import Glibc
import Platform

/// Owns the descriptor of the file being written or repaired. Confined to one thread.
final class OutputFile {
  /// One change of the file, as the tests record and replay it.
  enum Change {
    case write(offset: Int64, bytes: [UInt8])
    case truncate(size: Int64)
    case sync
  }

  /// Name of the file, for messages and for syncing its directory.
  let path: String
  /// The open descriptor; -1 after `close()`.
  private(set) var descriptor: Int32
  /// For tests: sees each change before it is made and may make it fail, by the error number that it returns.
  var observer: ((Change) -> Int32)?

  /// Creates a file that must not exist, readable and writable by its owner only.
  init(creating path: String) throws(WebMError) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_RDWR, 0o600)
    guard descriptor >= 0 else { throw WebMError(code: .open, failed: "create it", path: path, number: errno) }
    self.descriptor = descriptor
    self.path = path
  }

  /// Takes over an open, empty, writable regular file.
  init(descriptor: Int32, path: String) throws(WebMError) {
    self.descriptor = descriptor
    self.path = path
    var status = stat()
    let result = fstat(descriptor, &status)
    let number = errno
    guard result == 0 else { throw WebMError(code: .open, failed: "look at it", path: path, number: number) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw WebMError(code: .invalid, operation: "not a regular file; a recording needs one", path: path)
    }
    guard status.st_size == 0 else {
      throw WebMError(code: .exists, number: EEXIST, operation: "start in a file with content", path: path)
    }
  }

  /// Opens a file that is there, to change it. Throws `.write`, or `.exists` for a symbolic link.
  init(existing path: String) throws(WebMError) {
    let descriptor = open(path, O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_RDWR)
    guard descriptor >= 0 else { throw WebMError(code: .write, failed: "change it", path: path, number: errno) }
    self.descriptor = descriptor
    self.path = path
  }

  /// Takes over an open, writable regular file that has content.
  init(continuing descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close() }

  /// Closes the descriptor. Safe to call again.
  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Takes a file that has just been created away again, and closes it.
  func remove() {
    unlink(path)
    close()
  }

  /// Writes the bytes `from..<to`, by default all of them, so that the first of them comes to `offset`.
  func write(_ bytes: [UInt8], from: Int = 0, to: Int? = nil, at offset: Int64) throws(WebMError) {
    let to = to ?? bytes.count
    try bytes.withUnsafeBufferPointer { (all) throws(WebMError) in
      try write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(all)[from..<to]), at: offset)
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(WebMError) {
    if let observer {
      let number = observer(.write(offset: offset, bytes: Array(bytes)))
      guard number == 0 else {
        throw WebMError(code: .write, failed: "write at byte \(offset)", path: path, number: number)
      }
    }
    if let number = FileWriting.put(bytes, at: offset, to: descriptor) {
      throw WebMError(code: .write, failed: "write at byte \(offset)", path: path, number: number)
    }
  }

  /// Cuts the file off after `size` bytes.
  func truncate(to size: Int64) throws(WebMError) {
    if let observer {
      let number = observer(.truncate(size: size))
      guard number == 0 else { throw WebMError(code: .write, failed: "cut it off", path: path, number: number) }
    }
    while ftruncate(descriptor, off_t(size)) != 0 {
      guard errno == EINTR else { throw WebMError(code: .write, failed: "cut it off", path: path, number: errno) }
    }
  }

  /// Makes content and size durable, then the directory entry. Blocks until the disk has it.
  func syncEverything() throws(WebMError) {
    if let observer {
      let number = observer(.sync)
      guard number == 0 else { throw WebMError(code: .sync, failed: "fsync", path: path, number: number) }
    }
    guard fsync(descriptor) == 0 else {
      throw WebMError(code: .sync, failed: "fsync", path: path, number: errno)
    }
    if let number = FileWriting.syncFolder(of: path) {
      throw WebMError(code: .sync, failed: "fsync of its directory", path: path, number: number)
    }
  }
}
