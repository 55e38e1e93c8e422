import Layouts
import MediaCore
import Session

/// Everything that shapes one recording.
public struct RecordingSettings: Sendable {
  /// What is shown where, and when it ends.
  public var session: SessionCore.Settings
  /// The file to write. It must not exist.
  public var output: String
  /// Bits a second of the picture.
  public var videoBitrate: Int
  /// Bits a second of the sound.
  public var audioBitrate: Int
  /// The longest distance between keyframes: how exactly a player can seek.
  public var keyframeInterval: SessionTime
  /// The room's name, for the file's tags.
  public var title: String

  /// Makes settings; the defaults are those of the command line.
  public init(
    session: SessionCore.Settings, output: String, videoBitrate: Int = 2_500_000, audioBitrate: Int = 96_000,
    keyframeInterval: SessionTime = .seconds(5), title: String = ""
  ) {
    self.session = session
    self.output = output
    self.videoBitrate = videoBitrate
    self.audioBitrate = audioBitrate
    self.keyframeInterval = keyframeInterval
    self.title = title
  }
}

/// Where a recording stands; a snapshot.
public struct RecordingProgress: Sendable, Hashable {
  /// What the recording is doing.
  public enum Phase: String, Sendable, Hashable {
    /// Not in the room yet; nothing is written.
    case waiting
    /// Recording.
    case recording
    /// The connection is lost; recording placeholders until it is back.
    case reconnecting
    /// The file is whole.
    case finished
  }

  /// What the recording is doing.
  public var phase = Phase.waiting
  /// Length of the recording so far.
  public var time = SessionTime.zero
  /// People in the room.
  public var participants = 0
  /// Display name of the active talker.
  public var talker: String?
  /// Name of the layout.
  public var layout = ""
  /// Pictures written.
  public var frames: UInt64 = 0
  /// Pictures not written because the machine was too slow.
  public var droppedFrames: UInt64 = 0
  /// Frames that could not be decoded.
  public var decodeErrors: UInt64 = 0
  /// Bytes written.
  public var bytes: UInt64 = 0

  /// Nothing yet.
  public init() {}
}
