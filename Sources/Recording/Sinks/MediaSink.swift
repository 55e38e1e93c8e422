import Layouts
import MediaCore
import Session

/// Where sound or pictures of a recording go while it is made: to whoever transcribes, analyses or plays them.
public struct MediaSink: Sendable, Hashable {
  /// Whose they are.
  public enum Source: Sendable, Hashable {
    /// All that is recorded, as it is in the file.
    case mixed
    /// One person's: the sound as they sent it, silence when there is none; the camera, or the card that stands for it.
    case participant(ParticipantIdentity)
  }

  /// What is given.
  public enum Medium: Sendable, Hashable {
    /// Samples of 16 bits, signed, little-endian, channels in turn.
    case sound(SoundForm)
    /// I420, 8 bits, limited range (BT.601).
    case pictures(PictureForm)
  }

  /// Where it goes.
  public enum Target: Sendable, Hashable {
    /// A Unix socket that the recording makes at this path; several readers may connect, and come back.
    case socket(path: String)
    /// A descriptor that the process was started with: a pipe, usually.
    case descriptor(Int32)
    /// A WebSocket at this URL, as messages of a block or a picture each. Somebody else dials, and hands readers in:
    /// `RoomRecording.give`.
    case webSocket(url: String)
  }

  /// The form of sound.
  public struct SoundForm: Sendable, Hashable {
    /// Samples a second of each channel: one of `rates`.
    public var rate: Int
    /// 1 or 2.
    public var channels: Int
    /// True: a head of 16 bytes before each block of 20 ms, see `SinkBlock`. False: one sample after the other.
    public var isTimed: Bool
    /// Makes a form; see the properties.
    public init(rate: Int = 48_000, channels: Int = 2, isTimed: Bool = false) {
      (self.rate, self.channels, self.isTimed) = (rate, channels, isTimed)
    }

    /// The rates that 48 kHz is a multiple of.
    public static let rates = [8_000, 16_000, 24_000, 48_000]
  }

  /// The form of pictures.
  public struct PictureForm: Sendable, Hashable {
    /// How they are put together.
    public enum Framing: String, Sendable, Hashable, CaseIterable {
      /// YUV4MPEG2, which players read.
      case y4m
      /// One picture after the other.
      case raw
      /// A head of 16 bytes before each: `SinkBlock`.
      case timed
    }

    /// Their size, pixels; nil: that of the recording.
    public var size: CanvasSize?
    /// Of so many pictures of the recording there is one, 1 and more.
    public var interval: Int
    /// See `Framing`.
    public var framing: Framing

    /// Makes a form; see the properties.
    public init(size: CanvasSize? = nil, interval: Int = 1, framing: Framing = .y4m) {
      (self.size, self.interval, self.framing) = (size, interval, framing)
    }
  }

  /// As it was written, but for a URL's query, which may hold secrets: names the sink in progress and messages.
  public let text: String
  /// See `Source`.
  public let source: Source
  /// See `Target`.
  public let target: Target
  /// See `Medium`.
  public internal(set) var medium: Medium

  /// More are refused.
  public static let most = 16

  /// One over a WebSocket, which has no `y4m`. `text` names it.
  public init(_ source: Source, _ medium: Medium, webSocket url: String) {
    let whose = if case .participant(let identity) = source { identity.rawValue } else { "mixed" }
    let what = if case .sound = medium { "audio" } else { "video" }
    text = "\(what):\(whose)=\(Self.shown(url))"
    (self.source, self.medium, target) = (source, medium, .webSocket(url: url))
  }

  /// A URL without its query, which may hold secrets.
  static func shown(_ url: String) -> String { url.prefix { $0 != "?" } + (url.contains("?") ? "?…" : "") }

  /// True when pictures are given.
  public var hasPictures: Bool { if case .pictures = medium { true } else { false } }

  /// True when its blocks have heads for whoever dials a WebSocket, though its readers may not get them.
  var isDialled: Bool { if case .webSocket = target { true } else { false } }
  /// How long a block is: bytes for each of what its head counts.
  public var bytesPerCount: Int { sound.map { $0.channels * 2 } ?? 1 }
  /// True when readers want the heads of blocks.
  public var isTimed: Bool {
    switch medium {
    case .sound(let form): form.isTimed
    case .pictures(let form): form.framing == .timed
    }
  }

  /// The sound's form; nil for pictures.
  var sound: SoundForm? { if case .sound(let form) = medium { form } else { nil } }

  /// What must be composed for it beside the recording's own picture: its size, and one person's camera where that is wanted.
  /// Nil: nothing.
  func composed(beside canvas: CanvasSize) -> SessionCore.Settings.FurtherPicture? {
    guard case .pictures(let form) = medium else { return nil }
    let size = form.size ?? canvas
    switch source {
    case .mixed: return size == canvas ? nil : .init(canvas: size)
    case .participant(let identity): return .init(canvas: size, layout: .camera(of: identity))
    }
  }
}

/// Why a sink cannot be had. One line.
public struct SinkError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, and what to do.
  public let description: String
  /// Makes an error from its line.
  public init(_ description: String) { self.description = description }
}

/// How a sink stands; a snapshot.
public struct SinkProgress: Sendable, Hashable {
  /// As it was asked for.
  public var sink: String
  /// True when it gives pictures.
  public var hasPictures = false
  /// Readers that are connected.
  public var readers = 0
  /// Blocks of 20 ms, or pictures, that a reader lacks because it did not read them in time, or the machine did not make them,
  /// of all readers.
  public var lostBlocks: UInt64 = 0
  /// Why nothing is given any more, though the recording goes on; nil: all is well.
  public var failure: String?

  /// Nothing yet.
  public init(sink: String) { self.sink = sink }
}
