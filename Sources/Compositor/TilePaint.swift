import Layouts
import MediaCore

/// Why a card stands where a picture could be: the last column of the track-status truth table.
public enum CardReason: Sendable, Hashable, CaseIterable {
  /// No camera is published, or it is muted.
  case cameraOff
  /// The track is published but not subscribed.
  case notReceived
  /// The track is encrypted end to end, and there is no key for it.
  case encrypted
  /// Subscribed and enabled, but no frame has come for a while.
  case noSignal
  /// There is a picture, and it was asked that nobody sees it.
  case hidden
  /// The room service holds the track back because the connection is too narrow.
  case lowBandwidth
  /// Subscribed and enabled, but it comes in a codec, named here, that can't be decoded.
  case unsupportedCodec(String)
  /// The connection to the room is lost and there is no last picture.
  case reconnecting
  /// Subscribed and enabled; the first picture is on its way.
  case joining
  /// A person who takes part by sound only: name and initials, no reason.
  case audioOnly

  /// Every reason, one codec standing for all.
  public static var allCases: [CardReason] {
    [
      .cameraOff, .notReceived, .encrypted, .noSignal, .hidden, .lowBandwidth, .unsupportedCodec("H.265"),
      .reconnecting, .joining, .audioOnly,
    ]
  }

  /// The line under the initials; empty for `audioOnly`.
  public var text: String {
    switch self {
    case .cameraOff: "Camera off"
    case .notReceived: "Not received"
    case .encrypted: "Encrypted"
    case .noSignal: "No signal"
    case .hidden: "Hidden"
    case .lowBandwidth: "Low bandwidth"
    case .unsupportedCodec(let name): "Codec not supported: \(name)"
    case .reconnecting: "Reconnecting…"
    case .joining: "Joining…"
    case .audioOnly: ""
    }
  }
}

/// What fills a tile.
public enum TileContent: Sendable {
  /// A decoded picture. The compositor reads it during `compose` and doesn't keep it.
  case video(Picture)
  /// Initials on a colour that belongs to the participant (both from the layer's key and the name), and the reason.
  case card(CardReason)
}

/// Everything about one tile of one output frame.
public struct TilePaint: Sendable {
  /// Where, what, and how it is drawn. For keys that are nobody's the other members don't matter: an `.overflow` tile
  /// says "+N", an `.empty` one is only ground.
  public var layer: VideoLayer
  /// Picture or card.
  public var content: TileContent
  /// The name to show, in any script; never interpreted as markup. Empty: no label (cards show the identity's initial).
  public var name: String
  /// True: a crossed-out microphone stands before the name.
  public var isMuted: Bool
  /// True: the tile is outlined.
  public var isTalking: Bool
  /// Must differ whenever the content of the picture does (for example a count of decoded frames of this track): a
  /// tile whose number and looks are unchanged isn't painted again. Of no importance for cards.
  public var pictureID: UInt64
  /// True: the connection is lost. The picture is dimmed and the tile says "Reconnecting…".
  public var isDimmed: Bool
  /// True: marked as pinned.
  public var isPinned: Bool
  /// True: marked as held back by a narrow connection, though there is a picture.
  public var isLowBandwidth: Bool
  /// Loudness, 0 (silent) to 1000: the ring of a card.
  public var level: Int
  /// The person's image, on their card instead of initials; until it is loaded, and where it cannot be, the initials.
  public var avatar: ImageSource?
  /// What is done to the picture before it is painted; `.mask`: a card stands in its place.
  public var processor: VideoProcessor?

  /// Makes a tile; see the properties.
  public init(
    layer: VideoLayer, content: TileContent, name: String = "", isMuted: Bool = false, isTalking: Bool = false,
    pictureID: UInt64 = 0, isDimmed: Bool = false, isPinned: Bool = false, isLowBandwidth: Bool = false,
    level: Int = 0, avatar: ImageSource? = nil, processor: VideoProcessor? = nil
  ) {
    self.layer = layer
    self.content = content
    self.name = name
    self.isMuted = isMuted
    self.isTalking = isTalking
    self.pictureID = pictureID
    self.isDimmed = isDimmed
    self.isPinned = isPinned
    self.isLowBandwidth = isLowBandwidth
    self.level = level
    self.avatar = avatar
    self.processor = processor
  }

  /// Why there is a card; nil for a picture.
  var cardReason: CardReason? {
    if layer.key.participant == nil { return .audioOnly }
    switch content {
    case .card(.reconnecting): return .reconnecting
    // Where nobody's picture is shown, none is missing.
    case .card where !layer.look.video, .video where !layer.look.video: return .audioOnly
    case .card(let reason): return reason
    case .video: return processor == .mask ? .hidden : nil
    }
  }

  /// The number that belongs on a tile for those who have none.
  var overflow: Int? {
    if case .overflow(let count) = layer.key { return count }
    return nil
  }

  /// `level` in steps that can be told apart; 0 where no ring is drawn.
  var levelStep: Int {
    guard layer.look.levelRing, !isMuted, cardReason != nil, layer.key.participant != nil else { return 0 }
    return min(max(level, 0), 1000) * TileDesign.levelSteps / 1000
  }
}
