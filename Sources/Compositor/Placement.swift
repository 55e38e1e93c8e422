import Layouts

/// Which part of a picture goes where.
struct Placement: Equatable {
  /// Columns and rows of the picture as it is stored (before rotation); the corner is even.
  var crop: PixelRect
  /// Where on the canvas; even.
  var target: PixelRect

  /// Fits a picture of `width` x `height` as stored, to be turned by `rotation` degrees, into `rect` (even).
  init(width: Int, height: Int, rotation: Int, rect: PixelRect, fit: Fit) {
    let isTurned = rotation == 90 || rotation == 270
    let (w, h) = isTurned ? (height, width) : (width, height)
    target = rect
    // What would be left of the tile beside the whole picture, and of the picture in the whole tile.
    let whole = (width: Placement.even(rect.height * w, by: h), height: Placement.even(rect.width * h, by: w))
    let bars = (x: rect.width - whole.width, y: rect.height - whole.height)
    var cut = (width: w, height: h)
    // Bars of a pixel or two are no help to anybody: then the tile is filled.
    if fit == .contain, max(bars.x, bars.y) > 4 {
      if bars.x > 0 {
        target.width = max(2, min(whole.width, rect.width))
      } else {
        target.height = max(2, min(whole.height, rect.height))
      }
      target.x += ((rect.width - target.width) / 2) & ~1
      target.y += ((rect.height - target.height) / 2) & ~1
    } else if w * rect.height > h * rect.width {
      cut.width = min(w, max(2, Placement.even(h * rect.width, by: rect.height)))
    } else {
      cut.height = min(h, max(2, Placement.even(w * rect.height, by: rect.width)))
    }
    if isTurned { swap(&cut.width, &cut.height) }
    crop = PixelRect(
      x: ((width - cut.width) / 2) & ~1, y: ((height - cut.height) / 2) & ~1, width: cut.width, height: cut.height)
  }

  /// The even number nearest to a quotient.
  private static func even(_ dividend: Int, by divisor: Int) -> Int { ((dividend + divisor) / divisor) & ~1 }
}
