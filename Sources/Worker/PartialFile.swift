import Digests
import Glibc
import Platform
import Synchronization

/// A file that arrives: what is there of it, and its checksum. One download at a time has it. Any thread; most calls block.
final class PartialFile: Sendable {
  private struct State: ~Copyable {
    var count: Int64 = 0
    var digest = Digest(.sha256)
    var problem: String?
  }

  private let path: String
  private let descriptor: Int32
  /// Bytes of the whole file.
  private let size: Int64
  private let state = Mutex(State())

  /// Opens the file, or makes it, and reads what is there.
  init(_ path: String, size: Int64) throws(DownloadError) {
    self.path = path
    self.size = size
    descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .disk("\(path) cannot be written: \(String(cString: strerror(errno)))") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw .disk("\(path): another download of this file runs")
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let offset = count
      let read = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { break }
      buffer.withUnsafeBytes { bytes in
        take(UnsafeRawBufferPointer(rebasing: bytes[..<read]))
      }
    }
    // More than the whole is nothing of it.
    if count > size { restart(at: 0) }
  }

  deinit { close(descriptor) }

  /// The SHA-256 of a regular file of that size, in hexadecimal; nil when there is none, or it can't be read. Blocks.
  static func digest(of path: String, size: Int64) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == size else {
      return nil
    }
    var digest = Digest(.sha256)
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      guard count > 0 else { return Hexadecimal.text(digest.value) }
      buffer.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }

  /// Bytes that are there.
  var count: Int64 { state.withLock { $0.count } }
  /// What is wrong with the disk; nil: nothing.
  var problem: String? { state.withLock { $0.problem } }
  /// The checksum of what is there, in hexadecimal.
  var sha256: String { Hexadecimal.text(state.withLock { $0.digest.value }) }

  /// Begins anew, when the sender does. What can't be begun there is a problem.
  func restart(at offset: Int64) {
    state.withLock { state in
      guard offset == 0, ftruncate(descriptor, 0) == 0 else {
        state.problem = "\(path): what arrives does not go on where it broke off; remove it and try again"
        return
      }
      state.count = 0
      state.digest = Digest(.sha256)
    }
  }

  /// Adds bytes; false when the disk doesn't take them, or there are too many.
  func append(_ bytes: [UInt8]) -> Bool {
    let (offset, isGood) = state.withLock { ($0.count, $0.problem == nil) }
    guard isGood else { return false }
    guard offset + Int64(bytes.count) <= size else {
      state.withLock { $0.problem = "\(path): more arrives than the file has; try again" }
      return false
    }
    if let number = bytes.withUnsafeBytes({ FileWriting.put($0, at: offset, to: descriptor) }) {
      let reason = String(cString: strerror(number))
      state.withLock { $0.problem = "\(path) cannot be written: \(reason)" }
      return false
    }
    bytes.withUnsafeBytes { take($0) }
    return true
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    state.withLock { state in
      state.digest.update(bytes)
      state.count += Int64(bytes.count)
    }
  }

  /// Removes it.
  func discard() { unlink(path) }

  /// Gives it its name, durably; replaces nothing.
  func finish(as name: String) throws(DownloadError) {
    guard fsync(descriptor) == 0 else { throw .disk("\(path) cannot be written: \(String(cString: strerror(errno)))") }
    if link(path, name) == 0 {
      unlink(path)
      return
    }
    if errno == EEXIST { throw .exists(name) }
    // A file system without second names. Renaming replaces: look first.
    guard access(name, F_OK) != 0 else { throw .exists(name) }
    guard rename(path, name) == 0 else { throw .disk("\(name) cannot be made: \(String(cString: strerror(errno)))") }
  }
}
