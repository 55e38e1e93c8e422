import CYUV
import Layouts
import MediaCore

/// Scales decoded pictures straight into the canvas.
struct VideoPainter {
  /// How often a picture is halved at most: from VP8's largest side to a small tile.
  private static let levels = 8
  private var bilinear = BilinearScaler()
  /// One for each halving, and the last for turning.
  private var scratches = [Picture?](repeating: nil, count: levels + 1)

  /// Paints `picture` into `rect` (even, inside the canvas); bars are filled with `bar`.
  mutating func paint(
    _ picture: Picture, into canvas: Picture, rect: PixelRect, fit: Fit, bar: (y: UInt8, u: UInt8, v: UInt8)
  ) {
    let rotation = [90, 180, 270].contains(picture.rotation) ? picture.rotation : 0
    let placement = Placement(
      width: picture.width, height: picture.height, rotation: rotation, rect: rect, fit: fit)
    let target = placement.target
    if target != rect { paintBars(into: canvas, rect: rect, around: target, bar: bar) }
    guard rotation != 0 else {
      scale(picture, placement.crop, canvas, target)
      return
    }
    // Scaling first, since the turned picture is usually smaller than the decoded one.
    let isTurned = rotation != 180
    let size = PixelRect(
      x: 0, y: 0, width: isTurned ? target.height : target.width, height: isTurned ? target.width : target.height)
    let scratch = scratch(VideoPainter.levels, width: size.width, height: size.height)
    scale(picture, placement.crop, scratch, size)
    let (luma, chroma) = (target.y * canvas.strideY + target.x, target.y / 2 * canvas.strideUV + target.x / 2)
    I420Rotate(
      scratch.y, Int32(scratch.strideY), scratch.u, Int32(scratch.strideUV), scratch.v, Int32(scratch.strideUV),
      canvas.y + luma, Int32(canvas.strideY), canvas.u + chroma, Int32(canvas.strideUV), canvas.v + chroma,
      Int32(canvas.strideUV), Int32(size.width), Int32(size.height),
      rotation == 90 ? kRotate90 : rotation == 180 ? kRotate180 : kRotate270)
  }

  /// Paints all of `picture`, as it is stored, over all of another, whose sides are even.
  mutating func stretch(_ picture: Picture, over target: Picture) {
    scale(
      picture, PixelRect(x: 0, y: 0, width: picture.width, height: picture.height), target,
      PixelRect(x: 0, y: 0, width: target.width, height: target.height))
  }

  private func paintBars(
    into canvas: Picture, rect: PixelRect, around target: PixelRect, bar: (y: UInt8, u: UInt8, v: UInt8)
  ) {
    let (right, bottom) = (target.x + target.width, target.y + target.height)
    canvas.fill(PixelRect(x: rect.x, y: rect.y, width: rect.width, height: target.y - rect.y), bar)
    canvas.fill(PixelRect(x: rect.x, y: bottom, width: rect.width, height: rect.y + rect.height - bottom), bar)
    canvas.fill(PixelRect(x: rect.x, y: target.y, width: target.x - rect.x, height: target.height), bar)
    canvas.fill(PixelRect(x: right, y: target.y, width: rect.x + rect.width - right, height: target.height), bar)
  }

  /// Halves the picture (each pixel the mean of four) until less than a further half is to go, then interpolates. That
  /// uses every pixel of the source, so nothing shimmers, and costs much less than libyuv's own box filter, which is
  /// slow for all but exact halves.
  private mutating func scale(_ from: Picture, _ crop: PixelRect, _ to: Picture, _ target: PixelRect) {
    var (source, part, level) = (from, crop, 0)
    while part.width >= 2 * target.width, part.height >= 2 * target.height, level < VideoPainter.levels,
      part.width > 2 * target.width || part.height > 2 * target.height
    {
      // Even halves, so that chroma is halved exactly too; at most three columns and rows of the edge are left out.
      let half = PixelRect(x: 0, y: 0, width: (part.width / 2) & ~1, height: (part.height / 2) & ~1)
      let smaller = scratch(level, width: half.width, height: half.height)
      copy(source, PixelRect(x: part.x, y: part.y, width: 2 * half.width, height: 2 * half.height), smaller, half)
      (source, part, level) = (smaller, half, level + 1)
    }
    let isExact =
      part.width == target.width && part.height == target.height
      || part.width == 2 * target.width && part.height == 2 * target.height
    if isExact || !bilinear.scale(source, part, to, target) { copy(source, part, to, target) }
  }

  /// Scales with libyuv: quick for equal sizes and exact halves.
  private func copy(_ from: Picture, _ part: PixelRect, _ to: Picture, _ target: PixelRect) {
    let (luma, chroma) = (part.y * from.strideY + part.x, part.y / 2 * from.strideUV + part.x / 2)
    let (toLuma, toChroma) = (target.y * to.strideY + target.x, target.y / 2 * to.strideUV + target.x / 2)
    I420Scale(
      from.y + luma, Int32(from.strideY), from.u + chroma, Int32(from.strideUV), from.v + chroma,
      Int32(from.strideUV), Int32(part.width), Int32(part.height), to.y + toLuma, Int32(to.strideY), to.u + toChroma,
      Int32(to.strideUV), to.v + toChroma, Int32(to.strideUV), Int32(target.width), Int32(target.height), kFilterBox)
  }

  /// A picture at least that large; grown when needed, so that several tiles share it without new allocations.
  private mutating func scratch(_ index: Int, width: Int, height: Int) -> Picture {
    let old = scratches[index]
    if let old, old.width >= width, old.height >= height { return old }
    let new = Picture(width: max(width, old?.width ?? 0), height: max(height, old?.height ?? 0))
    scratches[index] = new
    return new
  }
}
