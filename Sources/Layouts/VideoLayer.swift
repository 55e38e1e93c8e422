/// How a picture is brought into a tile of another shape. It is never stretched.
public enum Fit: String, Sendable, Hashable {
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
  /// Order of painting: higher is nearer. The built-in layouts never overlap tiles and use 0.
  public var z: Int
  /// True for the tile in the large place.
  public var isLarge: Bool

  /// Makes a layer.
  public init(
    key: TileKey, rect: PixelRect, fit: Fit = .cover, cornerRadius: Int = 0, z: Int = 0, isLarge: Bool = false
  ) {
    self.key = key
    self.rect = rect
    self.fit = fit
    self.cornerRadius = cornerRadius
    self.z = z
    self.isLarge = isLarge
  }
}
