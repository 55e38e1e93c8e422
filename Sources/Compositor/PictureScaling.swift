import CYUV
import Layouts
import MediaCore

/// Scales whole pictures.
public enum PictureScaling {
  /// Fills a picture with another, each pixel the mean of what it covers. Pictures of any sizes; the shape is not kept.
  public static func scale(_ from: Picture, to: Picture) {
    I420Scale(
      from.y, Int32(from.strideY), from.u, Int32(from.strideUV), from.v, Int32(from.strideUV), Int32(from.width),
      Int32(from.height), to.y, Int32(to.strideY), to.u, Int32(to.strideUV), to.v, Int32(to.strideUV),
      Int32(to.width), Int32(to.height), kFilterBox)
  }

  /// Paints a picture, turned as its rotation says, as large as it fits into the middle of another, with black around it.
  public static func fit(_ from: Picture, into: Picture) {
    let black = (y: UInt8(16), u: UInt8(128), v: UInt8(128))
    into.fill(y: black.y, u: black.u, v: black.v)
    let rect = PixelRect(x: 0, y: 0, width: into.width & ~1, height: into.height & ~1)
    guard rect.width > 0, rect.height > 0 else { return }
    var painter = VideoPainter()
    painter.paint(from, into: into, rect: rect, fit: .contain, bar: black)
  }
}
