import Layouts
import MediaCore

/// Names one frame of the stream: the sequence number of the event that brought it.
public struct FrameID: Hashable, Sendable, CustomStringConvertible {
  /// `SessionEvent.sequence`.
  public var rawValue: UInt64
  /// Wraps a sequence number.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// Decimal with a `#`.
  public var description: String { "#\(rawValue)" }
}

/// Why a tile shows a card instead of video: the rows of the track-status truth table.
public enum PlaceholderReason: Sendable, Hashable {
  /// No camera is published, or it is disabled.
  case cameraOff
  /// Published, but not subscribed.
  case notReceived
  /// Encrypted end to end, and there is no key for it.
  case encrypted
  /// Subscribed and enabled, the first picture is on its way.
  case starting
  /// Subscribed and enabled, held back until now for want of a tile, and never shown yet.
  case arriving
  /// Subscribed and enabled, but nothing comes.
  case noSignal
  /// Subscribed and enabled, and it comes, but in a codec, or a form of one, that can't be shown.
  case unsupportedCodec(String)
  /// The service holds the track back because the connection is too narrow.
  case lowBandwidth
  /// The connection to the room is lost.
  case reconnecting
  /// More people than fit: a card with their number.
  case overflow
  /// Nobody: a cell of the layout that stays empty.
  case empty
}

/// What a tile shows.
public enum PlannedContent: Hashable, Sendable {
  /// The picture decoded from this frame of this track.
  case picture(FrameID, TrackID)
  /// A card that says why there is no picture.
  case card(PlaceholderReason)
}

/// One tile of a plan.
public struct PlannedTile: Hashable, Sendable {
  /// Where it is and how it is drawn.
  public var layer: VideoLayer
  /// Whose it is.
  public var identity: ParticipantIdentity
  /// The name to write on it.
  public var name: String
  /// What it shows.
  public var content: PlannedContent
  /// True when no sound of this person can be heard (truth table, audio).
  public var isMuted: Bool
  /// True while the person talks.
  public var isTalking: Bool
  /// True for the last picture from before the connection was lost.
  public var isDimmed: Bool
  /// True when the operator pinned it.
  public var isPinned = false
  /// True while the service holds the track back because the connection is too narrow.
  public var isLowBandwidth = false
  /// Where the person's image is, as the application says it, not checked in any way; empty: nothing is said.
  public var avatar = ""
  /// How loud the person is, 0 (-60 dB and less) to 1000; 0 for screens.
  public var level = 0
  /// What is done to the picture before anybody sees it.
  public var processor: VideoProcessor?
}

/// Something that is drawn on the whole picture.
public struct PlannedOverlay: Hashable, Sendable {
  /// What, and where.
  public var overlay: Overlay
  /// The words; empty for a picture.
  public var text: String
}

/// What is shown at one output instant. Names frames, not pixels, so that it can be computed without decoding and
/// compared as text.
public struct FramePlan: Hashable, Sendable, CustomStringConvertible {
  /// Number of the output slot, from 0.
  public var slot: Int64
  /// Presentation time of the slot in the file.
  public var time: SessionTime
  /// The session's instant that it shows: the same, with the cuts.
  public var sessionTime: SessionTime
  /// The tiles, in the order in which they are painted. Empty when nobody is there, and while the recording is paused.
  public var tiles: [PlannedTile] = []
  /// How many people are in the room, the bot not counted.
  public var participants: Int
  /// The name of the active talker, for progress lines; nil when nobody has talked.
  public var talker: String?
  /// Who talks at this instant, seen or not, in the order of their identities; nobody while the recording is paused.
  public var talking: [ParticipantIdentity] = []
  /// Name of the layout in force.
  public var layout: String
  /// Name of its scene.
  public var scene = ""
  /// Which colours the picture is painted in.
  public var theme = ThemeName.dark
  /// What lies behind the tiles.
  public var background = Background.theme
  /// What is drawn on the whole picture, in the order of painting.
  public var overlays: [PlannedOverlay] = []
  /// How the recording is paused: a slate is shown. Never `.cut`, since a cut has no pictures. Nil: it isn't.
  public var pause: PausePolicy?
  /// True while the connection to the room is lost.
  public var isReconnecting: Bool

  /// A line a tile, for goldens.
  public var description: String {
    var text = "\(slot) @\(time)"
    if sessionTime != time { text += " (\(sessionTime))" }
    if isReconnecting { text += " reconnecting" }
    if let pause { text += " \(pause.rawValue)" }
    for tile in tiles {
      let what =
        switch tile.content {
        case .picture(let frame, let track): "\(track) \(frame)"
        case .card(let reason): "card \(reason)"
        }
      text += "\n  \(tile.layer.key) \(tile.layer.rect) \(tile.name): \(what)"
      if tile.isMuted { text += " muted" }
      if tile.isTalking { text += " talking" }
      if tile.isDimmed { text += " dimmed" }
      if tile.isPinned { text += " pinned" }
      if let processor = tile.processor { text += " \(processor.rawValue)" }
    }
    for overlay in overlays where !overlay.text.isEmpty {
      text += "\n  \(overlay.overlay.anchor.rawValue): \(overlay.text)"
    }
    return text
  }
}
