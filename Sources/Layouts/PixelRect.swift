/// A rectangle of canvas pixels; the origin is the upper left corner.
public struct PixelRect: Hashable, Sendable, CustomStringConvertible {
  /// Column of the left edge.
  public var x: Int
  /// Row of the upper edge.
  public var y: Int
  /// Columns.
  public var width: Int
  /// Rows.
  public var height: Int

  /// Makes a rectangle; see the properties.
  public init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  /// True when both rectangles have a pixel in common.
  public func overlaps(_ other: PixelRect) -> Bool {
    x < other.x &+ other.width && other.x < x &+ width && y < other.y &+ other.height && other.y < y &+ height
  }

  /// `x,y widthxheight`.
  public var description: String { "\(x),\(y) \(width)x\(height)" }
}
