import CYUV
import Layouts
import MediaCore

/// A small I420 picture with transparency, made once and blended into many frames: a label, a disc with initials, a
/// logo. Colour is not premultiplied.
final class Stamp {
  /// Columns of luma; even.
  let width: Int
  /// Rows of luma; even.
  let height: Int
  /// For the cache: when it was wanted last.
  var lastUse: UInt64 = 0
  private let y: UnsafeMutablePointer<UInt8>
  private let u: UnsafeMutablePointer<UInt8>
  private let v: UnsafeMutablePointer<UInt8>
  private let alpha: UnsafeMutablePointer<UInt8>
  private let chromaAlpha: UnsafeMutablePointer<UInt8>

  /// Memory that the planes take.
  var byteCount: Int { Stamp.byteCount(width: width, height: height) }

  private static func byteCount(width: Int, height: Int) -> Int { 2 * width * height + 3 * (width * height / 4) }

  /// Converts pixels as Cairo draws them (premultiplied, in memory B, G, R, A). Both sides must be even. `opacity` (of
  /// 255) makes all of it more transparent.
  init(premultiplied pixels: UnsafePointer<UInt8>, stride: Int, width: Int, height: Int, opacity: UInt8 = 255) {
    func faded(_ alpha: Int) -> UInt8 { UInt8(clamping: (alpha * Int(opacity) + 127) / 255) }
    self.width = width
    self.height = height
    y = .allocate(capacity: max(1, Stamp.byteCount(width: width, height: height)))
    alpha = y + width * height
    u = alpha + width * height
    v = u + width * height / 4
    chromaAlpha = v + width * height / 4
    for blockY in 0..<height / 2 {
      for blockX in 0..<width / 2 {
        var sum = Weighted()
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
          let (column, row) = (2 * blockX + dx, 2 * blockY + dy)
          let pixel = Weighted(pixels + row * stride + 4 * column)
          y[row * width + column] = pixel.colour.yuv.y
          alpha[row * width + column] = faded(pixel.alpha)
          sum.add(pixel)
        }
        let chroma = sum.colour.yuv
        let index = blockY * (width / 2) + blockX
        u[index] = chroma.u
        v[index] = chroma.v
        chromaAlpha[index] = faded((sum.alpha + 2) / 4)
      }
    }
  }

  deinit { y.deallocate() }

  /// Premultiplied colour, of one pixel or the sum of several.
  private struct Weighted {
    var red = 0
    var green = 0
    var blue = 0
    var alpha = 0

    init() {}

    init(_ pixel: UnsafePointer<UInt8>) {
      blue = Int(pixel[0])
      green = Int(pixel[1])
      red = Int(pixel[2])
      alpha = Int(pixel[3])
    }

    mutating func add(_ other: Weighted) {
      red += other.red
      green += other.green
      blue += other.blue
      alpha += other.alpha
    }

    var colour: Colour {
      guard alpha > 0 else { return Colour(0x808080) }
      func straight(_ value: Int) -> UInt32 { UInt32(min(255, (value * 255 + alpha / 2) / alpha)) }
      return Colour(straight(red) << 16 | straight(green) << 8 | straight(blue))
    }
  }

  /// Blends the stamp with its upper left corner at (`x`, `y`), both even; what lies outside `clip` (even, inside the
  /// canvas) is left out.
  func blend(into canvas: Picture, x left: Int, y top: Int, clip: PixelRect) {
    let (x0, y0) = (max(left, clip.x), max(top, clip.y))
    let (x1, y1) = (min(left + width, clip.x + clip.width), min(top + height, clip.y + clip.height))
    guard x0 < x1, y0 < y1 else { return }
    let source = (y0 - top) * width + x0 - left
    let target = canvas.y + y0 * canvas.strideY + x0
    BlendPlane(
      y + source, Int32(width), target, Int32(canvas.strideY), alpha + source, Int32(width), target,
      Int32(canvas.strideY), Int32(x1 - x0), Int32(y1 - y0))
    let chromaSource = (y0 - top) / 2 * (width / 2) + (x0 - left) / 2
    let chromaTarget = y0 / 2 * canvas.strideUV + x0 / 2
    for (from, to) in [(u, canvas.u + chromaTarget), (v, canvas.v + chromaTarget)] {
      BlendPlane(
        from + chromaSource, Int32(width / 2), to, Int32(canvas.strideUV), chromaAlpha + chromaSource,
        Int32(width / 2), to, Int32(canvas.strideUV), Int32((x1 - x0) / 2), Int32((y1 - y0) / 2))
    }
  }
}
