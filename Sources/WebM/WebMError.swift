import Glibc

/// What went wrong with a WebM file, in one line that names the file, the cause and, where there is one, the remedy.
public struct WebMError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; stable, for programs.
  public enum Code: String, Sendable, Hashable {
    /// The output exists already. It is never overwritten.
    case exists
    /// The file could not be opened or created.
    case open
    /// Writing failed for a reason other than space.
    case write
    /// The disk, the quota or the file size limit is full.
    case full
    /// Data could not be made durable (`fdatasync`, `fsync`).
    case sync
    /// Reading failed.
    case read
    /// The file is not WebM or Matroska.
    case notWebM
    /// The configuration or a frame cannot be written as WebM.
    case invalid
    /// The writer has failed before or was closed; nothing more is written.
    case closed
  }

  /// The kind of failure.
  public var code: Code
  /// The system's error number; 0 when the system was not involved.
  public var number: Int32
  /// What was being done, as a verb phrase: "create", "write at byte 4096".
  public var operation: String
  /// Path of the file that could not be read or written.
  public var path: String

  /// Makes an error; see the properties.
  public init(code: Code, number: Int32 = 0, operation: String, path: String) {
    self.code = code
    self.number = number
    self.operation = operation
    self.path = path
  }

  /// A failed system call; the code follows from the number where it says more than `code`.
  init(code: Code, failed operation: String, path: String, number: Int32) {
    switch number {
    case EEXIST, ELOOP: self.init(code: .exists, number: number, operation: operation, path: path)
    case ENOSPC, EDQUOT, EFBIG: self.init(code: .full, number: number, operation: operation, path: path)
    default: self.init(code: code, number: number, operation: operation, path: path)
    }
  }

  /// One line for people.
  public var description: String {
    switch code {
    case .exists:
      return number == ELOOP
        ? "\(path): is a symbolic link; recordings are not written through links"
        : "\(path): exists already and is not overwritten; choose another name or move it away"
    case .open: return "\(path): cannot \(operation): \(reason)"
    case .full: return "\(path): no space left (\(operation): \(reason)); what was recorded so far is kept and plays"
    case .write: return "\(path): cannot \(operation): \(reason); what was recorded so far is kept and plays"
    case .sync: return "\(path): the disk does not take the data (\(operation): \(reason))"
    case .read: return "\(path): cannot \(operation): \(reason)"
    case .notWebM: return "\(path): not a WebM or Matroska file (\(operation))"
    case .invalid: return "\(path): \(operation)"
    case .closed: return "\(path): cannot \(operation): the recording has ended"
    }
  }

  /// The system's words for the number. glibc's `strerror` is thread-safe since 2.32.
  private var reason: String {
    guard number != 0, let text = strerror(number) else { return "unknown error" }
    return String(cString: text)
  }
}
