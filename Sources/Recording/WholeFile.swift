import Compositor
import Glibc
import MediaCore

/// Files that are there as a whole or not at all: written into `PATH.part`, synced, and renamed. A kill leaves nothing, or the
/// part, which the next call replaces. Blocks.
enum WholeFile {
  /// Writes a text, mode 0600, into a file which must not exist.
  static func write(_ text: String, to path: String) throws(RecordingError) {
    try write(to: path) { (part) throws(RecordingError) in
      let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw failure(part) }
      defer { close(descriptor) }
      var text = text
      let isWritten = text.withUTF8 { bytes in
        var sent = 0
        while sent < bytes.count {
          let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { return false }
          sent += count
        }
        return true
      }
      guard isWritten else { throw failure(part) }
    }
  }

  /// Writes a picture as PNG, mode 0600, into a file which must not exist.
  static func write(_ picture: Picture, to path: String) throws(RecordingError) {
    try write(to: path) { (part) throws(RecordingError) in
      do throws(CompositorError) {
        try writePNG(picture, path: part)
      } catch {
        throw .output(error.description)
      }
    }
  }

  private static func write(to path: String, _ body: (_ part: String) throws(RecordingError) -> Void)
    throws(RecordingError)
  {
    let part = path + ".part"
    unlink(part)
    defer { unlink(part) }
    try body(part)
    try sync(part)
    // Unlike a rename this replaces nothing that somebody else has put there meanwhile.
    guard link(part, path) == 0 else { throw failure(path) }
  }

  private static func sync(_ path: String) throws(RecordingError) {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(path) }
  }

  private static func failure(_ path: String) -> RecordingError {
    .output("\(path): \(String(cString: strerror(errno)))")
  }
}
