/// What a text overlay says.
public enum OverlayText: Hashable, Sendable {
  /// The recording's title: the room's name, until a command changes it.
  case title
  /// The time of day where the bot runs.
  case clock(ClockFormat)
  /// How long the recording is: `12:07`, `1:02:07`.
  case elapsed
  /// These words.
  case literal(String)
}

/// Something that is drawn on the whole picture, not on a tile.
public struct Overlay: Hashable, Sendable {
  /// What is drawn.
  public enum Content: Hashable, Sendable {
    /// Words.
    case text(OverlayText)
    /// A picture file: a logo, a watermark. Nothing until it is loaded.
    case image(path: String)
  }

  /// What is drawn.
  public var content: Content
  /// Where it is held.
  public var anchor: Anchor
  /// From the anchored edge of the canvas inward; from the middle to the right for anchors in the middle.
  public var x: Length
  /// The same downward, or from the lower edge upward.
  public var y: Length
  /// Height of the letters' line, or of the image, along the canvas' height.
  public var size: Length
  /// 255: covers what is behind; 0: isn't seen.
  public var opacity: UInt8
  /// Text only. True: on a translucent plate.
  public var plate: Bool
  /// Text only. Nil: the theme's colour.
  public var color: RGBColor?
  /// True: the tiles are painted over it.
  public var isBelowTiles: Bool

  /// Makes an overlay; see the properties.
  public init(
    _ content: Content, anchor: Anchor, x: Length = .milliUnits(600), y: Length = .milliUnits(600),
    size: Length = .milliUnits(1_000), opacity: UInt8 = 255, plate: Bool = true, color: RGBColor? = nil,
    isBelowTiles: Bool = false
  ) {
    self.content = content
    self.anchor = anchor
    self.x = x
    self.y = y
    self.size = size
    self.opacity = opacity
    self.plate = plate
    self.color = color
    self.isBelowTiles = isBelowTiles
  }

  /// The height in pixels; at least 2.
  public func height(on canvas: CanvasSize) -> Int { max(2, size.pixels(along: canvas.height, of: canvas)) }

  /// The upper left corner, in even pixels, of something of `width` by `height` pixels. It may lie outside the canvas
  /// when the layout says so or the thing is too large.
  public func place(width: Int, height: Int, on canvas: CanvasSize) -> (x: Int, y: Int) {
    let x = x.pixels(along: canvas.width, of: canvas)
    let y = y.pixels(along: canvas.height, of: canvas)
    // Sizes come from pictures and fonts; nothing here may overflow.
    let width = min(max(width, 0), 1 << 20)
    let height = min(max(height, 0), 1 << 20)
    let left =
      switch anchor.column {
      case .start: x
      case .center: (canvas.width - width) / 2 + x
      case .end: canvas.width - width - x
      }
    let top =
      switch anchor.row {
      case .start: y
      case .center: (canvas.height - height) / 2 + y
      case .end: canvas.height - height - y
      }
    return (even(left), even(top))
  }
}

/// A corner, an edge's middle, or the middle of the canvas.
public enum Anchor: String, CaseIterable, Sendable, Hashable {
  // Row, then column.
  case topLeft = "top-left"
  case top
  case topRight = "top-right"
  case left
  case center
  case right
  case bottomLeft = "bottom-left"
  case bottom
  case bottomRight = "bottom-right"

  /// Which of left, middle, right.
  public var column: Alignment {
    switch self {
    case .topLeft, .left, .bottomLeft: .start
    case .top, .center, .bottom: .center
    case .topRight, .right, .bottomRight: .end
    }
  }

  /// Which of top, middle, bottom.
  public var row: Alignment {
    switch self {
    case .topLeft, .top, .topRight: .start
    case .left, .center, .right: .center
    case .bottomLeft, .bottom, .bottomRight: .end
    }
  }
}

/// Where something smaller lies in something larger.
public enum Alignment: String, CaseIterable, Sendable, Hashable {
  /// Left, or at the top.
  case start
  /// In the middle.
  case center
  /// Right, or at the bottom.
  case end
}
