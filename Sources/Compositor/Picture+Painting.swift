import CYUV
import Layouts
import MediaCore

/// Painting on the canvas. Rectangles are even and inside the picture.
extension Picture {
  /// The even part of `rect` that lies inside the picture; nil when nothing is left.
  func clipped(_ rect: PixelRect) -> PixelRect? {
    func edge(_ position: Int, _ limit: Int) -> Int { min(max(position, 0), limit) & ~1 }
    let (right, isWide) = rect.x.addingReportingOverflow(rect.width)
    let (bottom, isHigh) = rect.y.addingReportingOverflow(rect.height)
    let (x0, y0) = (edge(rect.x, width), edge(rect.y, height))
    let (x1, y1) = (edge(isWide ? width : right, width), edge(isHigh ? height : bottom, height))
    guard x0 < x1, y0 < y1, rect.width > 0, rect.height > 0 else { return nil }
    return PixelRect(x: x0, y: y0, width: x1 - x0, height: y1 - y0)
  }

  /// Fills a rectangle with one colour.
  func fill(_ rect: PixelRect, _ colour: (y: UInt8, u: UInt8, v: UInt8)) {
    guard rect.width > 0, rect.height > 0 else { return }
    I420Rect(
      y, Int32(strideY), u, Int32(strideUV), v, Int32(strideUV), Int32(rect.x), Int32(rect.y), Int32(rect.width),
      Int32(rect.height), Int32(colour.y), Int32(colour.u), Int32(colour.v))
  }

  /// Mixes `share` / 256 of a colour into a rectangle.
  func tint(_ rect: PixelRect, _ colour: (y: UInt8, u: UInt8, v: UInt8), share: Int) {
    func tint(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ rect: PixelRect, _ value: UInt8) {
      let added = UInt16(value) &* UInt16(share)
      let kept = UInt16(256 - share)
      for row in rect.y..<rect.y + rect.height {
        let line = plane + row * stride
        for column in rect.x..<rect.x + rect.width {
          line[column] = UInt8(truncatingIfNeeded: (UInt16(line[column]) &* kept &+ added) >> 8)
        }
      }
    }
    let half = PixelRect(x: rect.x / 2, y: rect.y / 2, width: rect.width / 2, height: rect.height / 2)
    tint(y, strideY, rect, colour.y)
    tint(u, strideUV, half, colour.u)
    tint(v, strideUV, half, colour.v)
  }
}
