import Glibc
import Platform

/// A file of lines, each written at once. Made anew, mode 0600. Confined to the recording's thread.
final class LineFile {
  private let descriptor: Int32
  /// True once a line could not be written: the file lacks lines from then on.
  private(set) var isBroken = false

  /// Creates the file, which must not exist.
  init(creating path: String) throws(RecordingError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw RecordingError.output("cannot make \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// Appends a line. A timeline that cannot be written does not end the recording.
  func append(_ line: String) {
    guard !isBroken else { return }
    let bytes = Array((line + "\n").utf8)
    isBroken = bytes.withUnsafeBytes { FileWriting.append($0, to: descriptor) } != nil
  }
}
