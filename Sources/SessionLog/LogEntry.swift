import MediaCore
import Session

/// What a session log begins with: what the session is, and how it was recorded live.
public struct LogBeginning: Sendable {
  /// The format that this version writes and reads.
  public static let format: UInt32 = 1

  /// How it was recorded: canvas, layout, rules. `composition` is not logged.
  public var settings: SessionCore.Settings
  /// The program that wrote the log, with its version.
  public var program: String
  /// The log may be deleted from this instant on, nanoseconds since 1970-01-01 UTC; nil: never by itself.
  public var keepUntil: Int64?

  /// Makes a beginning; see the properties.
  public init(settings: SessionCore.Settings, program: String, keepUntil: Int64? = nil) {
    self.settings = settings
    self.program = program
    self.keepUntil = keepUntil
  }
}

/// What follows the beginning, in order.
public enum LogEntry: Sendable {
  /// The room, a command, or a frame.
  case event(SessionEvent)
  /// Frames are missing.
  case gap(LogGap)
  /// The recording ended. Nothing follows.
  case end(LogEnd)
}

/// Frames that were not logged, since the log could not be written as fast as they came.
public struct LogGap: Sendable, Hashable {
  /// Arrival of the first one.
  public var from: SessionTime
  /// Arrival of the last one.
  public var until: SessionTime
  /// How many.
  public var frames: UInt64

  /// Makes a gap; see the properties.
  public init(from: SessionTime, until: SessionTime, frames: UInt64) {
    self.from = from
    self.until = until
    self.frames = frames
  }
}

/// How the live recording ended.
public struct LogEnd: Sendable, Hashable {
  /// Why.
  public var reason: SessionEnd
  /// Length of its file.
  public var length: Duration

  /// Makes an end; see the properties.
  public init(reason: SessionEnd, length: Duration) {
    self.reason = reason
    self.length = length
  }
}
