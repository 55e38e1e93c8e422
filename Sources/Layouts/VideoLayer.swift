/// How a picture is brought into a tile of another shape. It is never stretched.
public enum Fit: String, CaseIterable, Sendable, Hashable {
  /// The whole picture is seen; bars in the tile's colour fill the rest.
  case contain
  /// The whole tile is filled; what doesn't fit is cut off evenly on both sides.
  case cover
}

/// One tile of an arrangement.
public struct VideoLayer: Hashable, Sendable {
  /// What it shows.
  public var key: TileKey
  /// Where: even numbers, inside the canvas.
  public var rect: PixelRect
  /// How the picture is brought into `rect`.
  public var fit: Fit
  /// Radius of the rounded corners in pixels; even, 0 for square ones.
  public var cornerRadius: Int
  /// Order of painting: higher is nearer.
  public var z: Int
  /// True for a tile in a large place that has only one.
  public var isLarge: Bool
  /// Along the inside of the edge; nil: none.
  public var border: Border?
  /// What is drawn on it.
  public var look: TileLook
  /// Name of the region.
  public var region: String

  /// Makes a layer; see the properties.
  public init(
    key: TileKey, rect: PixelRect, fit: Fit = .cover, cornerRadius: Int = 0, z: Int = 0, isLarge: Bool = false,
    border: Border? = nil, look: TileLook = TileLook(), region: String = ""
  ) {
    self.key = key
    self.rect = rect
    self.fit = fit
    self.cornerRadius = cornerRadius
    self.z = z
    self.isLarge = isLarge
    self.border = border
    self.look = look
    self.region = region
  }
}
