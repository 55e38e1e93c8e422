import MediaCore

/// A rectangle of the canvas and what is shown in it.
///
/// Large: a property for each word that layout files have for a region.
public struct Region: Hashable, Sendable {
  /// The region's name, for messages; unique in its scene.
  public var name: String
  /// From the canvas' left edge to the region's, along the canvas' width.
  public var x: Length
  /// From the canvas' upper edge to the region's, along the canvas' height.
  public var y: Length
  /// Along the canvas' width.
  public var width: Length
  /// Along the canvas' height.
  public var height: Length
  /// Order of painting: higher is nearer. Regions of one `z` are painted in the order in which they are listed.
  public var z: Int
  /// What is shown.
  public var selector: SourceSelector
  /// True: also what a region before this one shows is shown.
  public var repeats: Bool
  /// In which order.
  public var order: Order
  /// How the tiles share the rectangle.
  public var cells: Cells
  /// At most so many rows of tiles; nil: as many as needed.
  public var maximumRows: Int?
  /// At most so many columns of tiles; nil: as many as needed.
  public var maximumColumns: Int?
  /// At most so many tiles.
  public var maximumTiles: Int
  /// Tiles are never smaller, rather fewer; for `Cells.table` it is of no importance.
  public var smallestTile: TileSize
  /// The shapes that a tile may have; nil: from 3:2 to 19:10, and from 4:3 on canvases higher than wide. For
  /// `Cells.table` it is of no importance: there a tile has the shape of its cell.
  public var shape: ShapeRange?
  /// Cells of a table that stay empty, counted from 0 by rows.
  public var cellsExcluded: [Int]
  /// Where tiles lie that don't fill the rectangle, to the left and right.
  public var horizontalAlignment: Alignment
  /// Where tiles lie that don't fill the rectangle, up and down.
  public var verticalAlignment: Alignment
  /// Between tiles, along the canvas' shorter side.
  public var gap: Length
  /// How pictures of cameras fill their tile.
  public var cameraFit: FitRule
  /// How pictures of shared screens fill their tile.
  public var screenFit: FitRule
  /// Of the tiles' corners, along the canvas' shorter side; small tiles have smaller ones.
  public var cornerRadius: Length
  /// Along the tiles' edges; nil: none.
  public var border: BorderRule?
  /// What becomes of sources for which there is no cell.
  public var overflow: Overflow
  /// How long a page is shown, for `Overflow.page`.
  public var pageTime: Duration
  /// What becomes of people without video.
  public var withoutVideo: WithoutVideo
  /// What is drawn on the tiles.
  public var look: TileLook
  /// Painted behind the cells, also the empty ones; nil: what lies behind the region shows through.
  public var background: RGBColor?

  /// Makes a region; by default everyone on the whole canvas, in tiles as large as possible.
  public init(
    name: String, x: Length = .zero, y: Length = .zero, width: Length? = nil, height: Length? = nil, z: Int = 0,
    selector: SourceSelector, order: Order = .listed, cells: Cells = .flow
  ) {
    self.name = name
    self.x = x
    self.y = y
    self.width = width ?? .full - x
    self.height = height ?? .full - y
    self.z = z
    self.selector = selector
    self.order = order
    repeats = false
    self.cells = cells
    maximumTiles = Region.defaultMaximumTiles
    smallestTile = .standard
    cellsExcluded = []
    horizontalAlignment = .center
    verticalAlignment = .center
    gap = .milliUnits(600)
    cameraFit = .auto
    screenFit = .shrink
    cornerRadius = .milliUnits(600)
    overflow = .count
    pageTime = .seconds(10)
    withoutVideo = .card
    look = TileLook()
  }

  /// More people than this are never shown at once: smaller faces say nothing.
  public static let defaultMaximumTiles = 25

  /// The rectangle in pixels; nil when nothing of it is on the canvas.
  public func rect(on canvas: CanvasSize) -> PixelRect? {
    let left = x.edge(along: canvas.width, of: canvas)
    let top = y.edge(along: canvas.height, of: canvas)
    let right = (x + width).edge(along: canvas.width, of: canvas)
    let bottom = (y + height).edge(along: canvas.height, of: canvas)
    guard right - left >= 2, bottom - top >= 2 else { return nil }
    return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// Why the rectangle is of no use on a canvas: it reaches beyond an edge, or has less than 16 pixels a side. Nil when
  /// it is of use.
  public func problem(on canvas: CanvasSize) -> String? {
    let left = x.pixels(along: canvas.width, of: canvas)
    let top = y.pixels(along: canvas.height, of: canvas)
    let right = (x + width).pixels(along: canvas.width, of: canvas)
    let bottom = (y + height).pixels(along: canvas.height, of: canvas)
    if right - left < 16 { return "is \(right - left) pixels wide; 16 at least are needed" }
    if bottom - top < 16 { return "is \(bottom - top) pixels high; 16 at least are needed" }
    if left < 0 { return "begins \(-left) pixels left of the canvas" }
    if top < 0 { return "begins \(-top) pixels above the canvas" }
    if right > canvas.width { return "ends at column \(right), beyond the right edge" }
    if bottom > canvas.height { return "ends at row \(bottom), beyond the lower edge" }
    return nil
  }
}

/// The order of the tiles in a region.
public enum Order: String, CaseIterable, Sendable, Hashable {
  /// As the terms of the selector are listed; what one term names, in the order of joining.
  case listed
  /// The order of joining.
  case joined
  /// By display name.
  case name
  /// Who talks, who talked last, and so on; those who have not talked, in the order of joining.
  case talking
}

/// How the tiles of a region share its rectangle.
public enum Cells: String, CaseIterable, Sendable, Hashable {
  /// As large as possible for the number of tiles; the last row is aligned as the region says.
  case flow
  /// As large as they are when the region is full, however many there are.
  case steady
  /// Rows and columns that fill the rectangle; a source keeps its cell, and a cell without a source stays empty.
  case table
}

/// What becomes of sources for which there is no cell.
public enum Overflow: String, CaseIterable, Sendable, Hashable {
  /// The last cell says how many there are besides.
  case count
  /// They are not shown.
  case none
  /// Pages turn by time.
  case page
  /// They share the cells of others; of those who share a cell the one who came first is shown.
  case reuseOldest = "reuse-oldest"
  /// They share the cells of others; of those who share a cell the one who came last is shown.
  case reuseNewest = "reuse-newest"
}

/// What becomes of people without video.
public enum WithoutVideo: String, CaseIterable, Sendable, Hashable {
  /// They have a card like everybody's tile.
  case card
  /// Beside people with video they have small cards along the region's lower edge.
  case small
  /// They are not shown.
  case none
  /// They keep their cell, which stays empty.
  case empty
}

/// How a picture is brought into its tile.
public enum FitRule: String, CaseIterable, Sendable, Hashable {
  /// The picture fills the tile, unless more than half of it would be cut off: then it is seen whole.
  case auto
  /// The picture fills the tile; what doesn't fit is cut off.
  case cover
  /// The whole picture is seen.
  case contain
  /// The whole picture is seen, and the tile takes its shape: there are no bars.
  case shrink

  /// The fit of a picture of `width` by `height` pixels (0: not known) in a tile.
  func fit(width: Int, height: Int, in rect: PixelRect) -> Fit {
    switch self {
    case .cover: return .cover
    case .contain, .shrink: return .contain
    case .auto:
      guard (1...65_535).contains(width), (1...65_535).contains(height) else { return .cover }
      let a = width * rect.height
      let b = height * rect.width
      return max(a, b) <= 2 * min(a, b) ? .cover : .contain
    }
  }

  /// The tile of such a picture in its cell: the largest of its shape for `shrink`, else the whole cell.
  func tile(width: Int, height: Int, in cell: PixelRect) -> PixelRect {
    guard self == .shrink, (1...65_535).contains(width), (1...65_535).contains(height) else { return cell }
    var rect = cell
    let shape = FitRule.usualShape(width, height)
    // To the nearest even number; a difference of some pixels isn't worth another shape.
    rect.width = min(cell.width, max(2, even(cell.height * shape.width / shape.height + 1)))
    rect.height = min(cell.height, max(2, even(cell.width * shape.height / shape.width + 1)))
    if cell.width - rect.width <= 8, cell.height - rect.height <= 8 { return cell }
    // Slivers would be no picture.
    guard rect.width >= cell.width / 8, rect.height >= cell.height / 8 else { return cell }
    rect.x += even((cell.width - rect.width) / 2)
    rect.y += even((cell.height - rect.height) / 2)
    return rect
  }

  /// The shape of a picture. Encoders round the sides of smaller layers, so what is within half a percent of a usual
  /// shape counts as that: a tile must not twitch when another layer is received.
  private static func usualShape(_ width: Int, _ height: Int) -> (width: Int, height: Int) {
    let usual = [(16, 9), (16, 10), (4, 3), (3, 2), (1, 1), (21, 9), (5, 4), (9, 16), (10, 16), (3, 4), (2, 3)]
    return usual.first { 200 * abs(width * $0.1 - height * $0.0) <= height * $0.0 } ?? (width, height)
  }
}

/// A border whose width follows the canvas.
public struct BorderRule: Hashable, Sendable {
  /// Along the canvas' shorter side; at least 2 pixels.
  public var width: Length
  /// Nil: the theme's colour.
  public var color: RGBColor?

  /// Makes a rule; see the properties.
  public init(width: Length = .milliUnits(200), color: RGBColor? = nil) {
    self.width = width
    self.color = color
  }
}

/// A size of tiles in pixels.
public struct TileSize: Hashable, Sendable {
  /// Columns, 2 to 4096.
  public var width: Int
  /// Rows, 2 to 4096.
  public var height: Int

  /// Makes a size; sides are brought into their limits.
  public init(width: Int, height: Int) {
    self.width = min(max(width, 2), 4096)
    self.height = min(max(height, 2), 4096)
  }

  /// The smallest tile in which a name can be read.
  public static let standard = TileSize(width: 96, height: 54)
}

/// The shapes that a tile may have: width to height, from the narrowest to the widest.
public struct ShapeRange: Hashable, Sendable {
  /// A width in relation to a height, each 1 to 1000.
  public struct Ratio: Hashable, Sendable {
    /// Relative width.
    public var width: Int
    /// Relative height.
    public var height: Int

    /// Makes a ratio; both numbers are brought into 1...1000.
    public init(_ width: Int, _ height: Int) {
      self.width = min(max(width, 1), 1000)
      self.height = min(max(height, 1), 1000)
    }
  }

  /// The narrowest shape.
  public var narrowest: Ratio
  /// The widest shape.
  public var widest: Ratio

  /// Makes a range; the two are swapped when they are the wrong way round.
  public init(_ narrowest: Ratio, _ widest: Ratio) {
    let isOrdered = narrowest.width * widest.height <= widest.width * narrowest.height
    self.narrowest = isOrdered ? narrowest : widest
    self.widest = isOrdered ? widest : narrowest
  }

  /// Whatever shape the cell has.
  public static let any = ShapeRange(Ratio(1, 1000), Ratio(1000, 1))
  /// Near 16:9. A 16:9 picture loses at most a sixth of its width.
  static let landscape = ShapeRange(Ratio(3, 2), Ratio(19, 10))
  /// Where height is plenty, a 16:9 picture may lose a quarter of its width.
  static let portrait = ShapeRange(Ratio(4, 3), Ratio(19, 10))
}
