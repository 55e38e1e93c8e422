import Layouts
import MediaCore

/// Why a card stands where a picture could be: the last column of the track-status truth table.
public enum CardReason: Sendable, Hashable, CaseIterable {
  /// No camera is published, or it is muted.
  case cameraOff
  /// The track is published but not subscribed.
  case notReceived
  /// Subscribed and enabled, but no frame has come for a while.
  case noSignal
  /// The room service holds the track back because the connection is too narrow.
  case lowBandwidth
  /// The connection to the room is lost and there is no last picture.
  case reconnecting
  /// Subscribed and enabled; the first picture is on its way.
  case joining
  /// A person who takes part by sound only: name and initials, no reason.
  case audioOnly

  /// The line under the initials; empty for `audioOnly`.
  public var text: String {
    switch self {
    case .cameraOff: "Camera off"
    case .notReceived: "Not received"
    case .noSignal: "No signal"
    case .lowBandwidth: "Low bandwidth"
    case .reconnecting: "Reconnecting…"
    case .joining: "Joining…"
    case .audioOnly: ""
    }
  }
}

/// What fills a tile.
public enum TileContent {
  /// A decoded picture. The compositor reads it during `compose` and doesn't keep it.
  case video(Picture)
  /// Initials on a colour that belongs to the participant (both from the layer's key and the name), and the reason.
  case card(CardReason)

  var cardReason: CardReason? {
    if case .card(let reason) = self { return reason }
    return nil
  }
}

/// Everything about one tile of one output frame.
public struct TilePaint {
  /// Where, and what. For an `.overflow` key the other members don't matter: the tile says "+N".
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

  /// Makes a tile.
  public init(
    layer: VideoLayer, content: TileContent, name: String = "", isMuted: Bool = false, isTalking: Bool = false,
    pictureID: UInt64 = 0, isDimmed: Bool = false
  ) {
    self.layer = layer
    self.content = content
    self.name = name
    self.isMuted = isMuted
    self.isTalking = isTalking
    self.pictureID = pictureID
    self.isDimmed = isDimmed
  }
}
