import MediaCore

/// A layout: what is shown where, as data. `Settings` reads layouts from files; `Arranger` applies them.
public struct Layout: Hashable, Sendable {
  /// The name under which it is known.
  public var name: String
  /// What it is for, in one line; may be empty.
  public var summary: String
  /// Which colours it is painted in.
  public var theme: ThemeName
  /// The size that the layout was made for; nil: any.
  public var canvas: CanvasSize?
  /// What lies behind the tiles.
  public var background: Background
  /// How tiles get from one place to the next.
  public var transition: Transition
  /// The arrangements. The first whose condition holds is in force.
  public var scenes: [Scene]
  /// What is drawn on the whole picture, in the order of painting.
  public var overlays: [Overlay]

  /// Makes a layout; see the properties.
  public init(
    name: String, summary: String = "", theme: ThemeName = .dark, canvas: CanvasSize? = nil,
    background: Background = .theme, transition: Transition = .cut, scenes: [Scene], overlays: [Overlay] = []
  ) {
    self.name = name
    self.summary = summary
    self.theme = theme
    self.canvas = canvas
    self.background = background
    self.transition = transition
    self.scenes = scenes
    self.overlays = overlays
  }
}

/// One arrangement of a layout.
public struct Scene: Hashable, Sendable {
  /// The scene's name; unique in its layout.
  public var name: String
  /// When it applies.
  public var when: Condition
  /// The regions. A region's `others` are what the regions before it don't show.
  public var regions: [Region]

  /// Makes a scene; see the properties.
  public init(name: String, when: Condition = .always, regions: [Region]) {
    self.name = name
    self.when = when
    self.regions = regions
  }
}

/// When a scene applies: one of the alternatives must hold, with all of its requirements.
public struct Condition: Hashable, Sendable {
  /// Something that can be counted, or is so or not.
  public enum Requirement: Hashable, Sendable {
    /// So many people are in the room.
    case people(ClosedRange<Int>)
    /// So many people have a picture.
    case cameras(ClosedRange<Int>)
    /// So many screens are shared.
    case screens(ClosedRange<Int>)
    /// So much is pinned or in the spotlight.
    case pinned(ClosedRange<Int>)
    /// So many different people have talked who are still there.
    case talkers(ClosedRange<Int>)
    /// The canvas has one of these shapes.
    case canvas([CanvasShape])
    /// Something in the room is named so.
    case present(SourceTerm)
    /// Nothing in the room is named so.
    case absent(SourceTerm)
  }

  /// Empty: always.
  public var alternatives: [[Requirement]]

  /// Makes a condition; see the properties.
  public init(_ alternatives: [[Requirement]]) { self.alternatives = alternatives }

  /// Holds in every room.
  public static let always = Condition([])

  /// The end of counts without an upper end.
  public static let unlimited = 1_000_000
}

/// The shape of a canvas.
public enum CanvasShape: String, CaseIterable, Sendable, Hashable {
  /// Wider than high by more than a fifth.
  case landscape
  /// Neither.
  case square
  /// Higher than wide by more than a fifth.
  case portrait

  /// The shape of a size.
  public init(_ canvas: CanvasSize) {
    if 5 * canvas.width > 6 * canvas.height {
      self = .landscape
    } else if 5 * canvas.height > 6 * canvas.width {
      self = .portrait
    } else {
      self = .square
    }
  }
}
