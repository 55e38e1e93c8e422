import Glibc

/// Why a session log cannot be written or read: one line that says what, where, and what to do.
public struct LogError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of trouble it is.
  public enum Reason: Sendable, Hashable {
    /// The folder has something in it already.
    case exists
    /// The folder or a file cannot be made or opened.
    case open
    /// Nothing more can be written: disk full, or an error of the disk.
    case write
    /// A file cannot be read.
    case read
    /// It is no session log.
    case notALog
    /// A later version of recbot wrote it.
    case newer
    /// Somebody else is writing it.
    case busy
  }

  /// What kind of trouble it is.
  public let reason: Reason
  /// What is wrong, where, and what to do, in one line.
  public let description: String

  /// Makes an error; see the properties.
  public init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  /// An error of the system: `PATH: cannot OPERATION: No space left on device`.
  init(_ reason: Reason, _ path: String, cannot operation: String, number: Int32) {
    self.init(reason, "\(path): cannot \(operation): \(String(cString: strerror(number)))")
  }
}
