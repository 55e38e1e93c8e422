import Layouts
import MediaCore

/// What stands in the middle of a picture without tiles.
public struct Notice: Hashable, Sendable {
  /// The symbol above the words.
  public enum Symbol: Hashable, Sendable {
    /// Only words.
    case none
    /// People: nobody is there yet.
    case people
    /// The recording pauses.
    case pause
    /// A connection is being restored.
    case reconnecting
  }

  /// The symbol above the words.
  public var symbol: Symbol
  /// What the notice says, in one line.
  public var text: String
  /// A second, smaller line; empty: none.
  public var detail: String

  /// Makes a notice; see the properties.
  public init(_ text: String, detail: String = "", symbol: Symbol = .none) {
    self.symbol = symbol
    self.text = text
    self.detail = detail
  }

  /// The empty room.
  public static let waiting = Notice("Waiting for others to join", symbol: .people)
  /// The slate of a pause.
  public static let paused = Notice("Recording paused", symbol: .pause)
  /// The slate of a lost connection.
  public static let reconnecting = Notice("Reconnecting…", symbol: .reconnecting)
}

/// Something drawn on the whole picture, with its words filled in.
public struct OverlayPaint: Hashable, Sendable {
  /// What is drawn, where, and how large.
  public var overlay: Overlay
  /// The words of a text overlay, for example the time; of no importance for images.
  public var text: String

  /// Makes an overlay; see the properties.
  public init(_ overlay: Overlay, text: String = "") {
    self.overlay = overlay
    self.text = text
  }
}

/// Everything about one output frame.
public struct ScenePaint: Sendable {
  /// Which colours the scene is painted in.
  public var theme: ThemeName
  /// What lies behind the tiles.
  public var background: Background
  /// The tiles, as the layout places them. None: the notice.
  public var tiles: [TilePaint]
  /// Words and images on the whole picture, in the order of painting.
  public var overlays: [OverlayPaint]
  /// What stands in the middle when there are no tiles.
  public var notice: Notice

  /// Makes a scene; see the properties.
  public init(
    theme: ThemeName = .dark, background: Background = .theme, tiles: [TilePaint] = [], overlays: [OverlayPaint] = [],
    notice: Notice = .waiting
  ) {
    self.theme = theme
    self.background = background
    self.tiles = tiles
    self.overlays = overlays
    self.notice = notice
  }
}
