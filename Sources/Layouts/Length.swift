/// A length of a layout: a sum of pixels, a share of a side of the canvas, and grid units. A grid unit (`gu`) is 1/36 of
/// the canvas' shorter side (20 pixels at 1280x720), so that what is given in it looks the same at every size.
public struct Length: Hashable, Sendable {
  /// Pixels of the canvas.
  public var pixels: Int
  /// Millionths of the side that the length lies along.
  public var millionths: Int
  /// Thousandths of a grid unit.
  public var milliUnits: Int

  /// The largest number of pixels, of hundredths of the side and of grid units that a length may have.
  public static let limit = 10_000

  /// Makes a sum; each part is brought into ±`limit` pixels, percent or grid units.
  public init(pixels: Int = 0, millionths: Int = 0, milliUnits: Int = 0) {
    func limited(_ value: Int, _ bound: Int) -> Int { min(max(value, -bound), bound) }
    self.pixels = limited(pixels, Length.limit)
    self.millionths = limited(millionths, Length.limit * 10_000)
    self.milliUnits = limited(milliUnits, Length.limit * 1_000)
  }

  /// Nothing.
  public static let zero = Length()
  /// The whole side.
  public static let full = Length(millionths: 1_000_000)
  /// So many pixels.
  public static func pixels(_ value: Int) -> Length { Length(pixels: value) }
  /// So many hundredths of the side.
  public static func percent(_ value: Int) -> Length {
    Length(millionths: min(max(value, -limit), limit) * 10_000)
  }
  /// So many thousandths of a grid unit.
  public static func milliUnits(_ value: Int) -> Length { Length(milliUnits: value) }

  /// Sum, part by part.
  public static func + (a: Length, b: Length) -> Length {
    Length(
      pixels: a.pixels + b.pixels, millionths: a.millionths + b.millionths, milliUnits: a.milliUnits + b.milliUnits)
  }
  /// Difference, part by part.
  public static func - (a: Length, b: Length) -> Length {
    Length(
      pixels: a.pixels - b.pixels, millionths: a.millionths - b.millionths, milliUnits: a.milliUnits - b.milliUnits)
  }

  /// 36 000 000 times the length in pixels, along a side of the canvas. Without rounding: both 1 000 000 and 36 divide.
  private func scaled(side: Int, canvas: CanvasSize) -> Int {
    pixels * 36_000_000 + millionths * side * 36 + milliUnits * min(canvas.width, canvas.height) * 1_000
  }

  /// The length in pixels along a side of the canvas, rounded to the nearest.
  func pixels(along side: Int, of canvas: CanvasSize) -> Int {
    let scaled = scaled(side: side, canvas: canvas)
    return (scaled + (scaled < 0 ? -18_000_000 : 18_000_000)) / 36_000_000
  }

  /// A distance between things: even, rounded down, never negative.
  func evenPixels(along side: Int, of canvas: CanvasSize) -> Int {
    even(max(0, scaled(side: side, canvas: canvas)) / 36_000_000)
  }

  /// The place of an edge that lies so far from the beginning of a side: the nearest even number, and of two equally
  /// near ones the one farther from the middle, so that both margins of a picture are alike.
  func edge(along side: Int, of canvas: CanvasSize) -> Int {
    let scaled = scaled(side: side, canvas: canvas)
    func nearest(_ value: Int) -> Int {
      // Halves go down: 2 * ceil(value / 2 - 1/2), in units of 36 000 000.
      2 * max(0, (value + 36_000_000 - 1) / 72_000_000)
    }
    if 2 * scaled <= side * 36_000_000 { return min(nearest(scaled), side) }
    return max(0, side - nearest(side * 36_000_000 - scaled))
  }
}

/// Rounds down to an even number.
func even(_ length: Int) -> Int { length & ~1 }
