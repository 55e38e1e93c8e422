import MediaCore

/// The room as a layout sees it at one instant.
public struct RoomView: Hashable, Sendable {
  /// Everything that could be shown, in the order of joining. A key that occurs twice counts once.
  public var sources: [LayoutSource]
  /// Those who talk or have talked: the active talker first, then the one before, and so on.
  public var talkers: [TileKey]
  /// What the operator pinned, in that order.
  public var pinned: [TileKey]
  /// What the operator wants in the large place.
  public var spotlight: TileKey?
  /// The instant: pages turn by it.
  public var time: SessionTime

  /// Makes a view; see the properties.
  public init(
    sources: [LayoutSource], talkers: [TileKey] = [], pinned: [TileKey] = [], spotlight: TileKey? = nil,
    time: SessionTime = .zero
  ) {
    self.sources = sources
    self.talkers = talkers
    self.pinned = pinned
    self.spotlight = spotlight
    self.time = time
  }
}

/// Where everything is at one instant.
public struct Arrangement: Hashable, Sendable {
  /// Name of the scene in force; empty when none applies.
  public var scene: String
  /// The tiles, in the order of painting.
  public var layers: [VideoLayer]
  /// What lies behind them.
  public var background: Background
  /// What is drawn on the whole picture, in the order of painting.
  public var overlays: [Overlay]
  /// The arrangement holds until this instant even if nothing in the room changes: then a page turns. Nil: for ever.
  public var validUntil: SessionTime?

  /// Makes an arrangement; see the properties.
  public init(
    scene: String = "", layers: [VideoLayer] = [], background: Background = .theme, overlays: [Overlay] = [],
    validUntil: SessionTime? = nil
  ) {
    self.scene = scene
    self.layers = layers
    self.background = background
    self.overlays = overlays
    self.validUntil = validUntil
  }
}
