import CYUV
import MediaCore

extension Picture {
  /// Paints all of another picture into a part of this one, made larger or smaller. The part's edges must be even, and is
  /// painted only when it lies within.
  public func paint(_ other: Picture, x: Int, y top: Int, width columns: Int, height rows: Int) {
    guard x >= 0, top >= 0, columns > 1, rows > 1, x + columns <= width, top + rows <= height,
      (x | top | columns | rows) & 1 == 0
    else { return }
    let chroma = top / 2 * strideUV + x / 2
    _ = I420Scale(
      other.y, Int32(other.strideY), other.u, Int32(other.strideUV), other.v, Int32(other.strideUV),
      Int32(other.width), Int32(other.height), y + top * strideY + x, Int32(strideY), u + chroma, Int32(strideUV),
      v + chroma, Int32(strideUV), Int32(columns), Int32(rows), kFilterBox)
  }
}
