import CYUV
import Layouts
import MediaCore

/// Something with the canvas' coordinates to copy from: a picture, or one colour everywhere (rows of stride 0). The
/// memory is somebody else's, who must outlive this.
struct Planes {
  let y: UnsafePointer<UInt8>
  let u: UnsafePointer<UInt8>
  let v: UnsafePointer<UInt8>
  let strideY: Int
  let strideUV: Int

  init(_ picture: Picture) {
    (y, u, v) = (UnsafePointer(picture.y), UnsafePointer(picture.u), UnsafePointer(picture.v))
    (strideY, strideUV) = (picture.strideY, picture.strideUV)
  }

  init(_ row: ColourRow) {
    (y, u, v, strideY, strideUV) = (row.y, row.u, row.v, 0, 0)
  }

  /// Copies `rect` (even, inside both) to the same place of the canvas.
  func copy(_ rect: PixelRect, to canvas: Picture) {
    let (luma, chroma) = (rect.y * strideY + rect.x, rect.y / 2 * strideUV + rect.x / 2)
    let (toLuma, toChroma) = (rect.y * canvas.strideY + rect.x, rect.y / 2 * canvas.strideUV + rect.x / 2)
    CopyPlane(
      y + luma, Int32(strideY), canvas.y + toLuma, Int32(canvas.strideY), Int32(rect.width), Int32(rect.height))
    let (width, height) = (Int32(rect.width / 2), Int32(rect.height / 2))
    CopyPlane(u + chroma, Int32(strideUV), canvas.u + toChroma, Int32(canvas.strideUV), width, height)
    CopyPlane(v + chroma, Int32(strideUV), canvas.v + toChroma, Int32(canvas.strideUV), width, height)
  }

  /// Mixes `share` / 256 (below 256) into `rect` (even, inside both) of the canvas.
  func mix(_ share: Int, into canvas: Picture, _ rect: PixelRect) {
    let share = Int32(min(max(share, 0), 255))
    let (luma, chroma) = (rect.y * strideY + rect.x, rect.y / 2 * strideUV + rect.x / 2)
    let toLuma = canvas.y + (rect.y * canvas.strideY + rect.x)
    let toChroma = rect.y / 2 * canvas.strideUV + rect.x / 2
    InterpolatePlane(
      toLuma, Int32(canvas.strideY), y + luma, Int32(strideY), toLuma, Int32(canvas.strideY), Int32(rect.width),
      Int32(rect.height), share)
    let (width, height) = (Int32(rect.width / 2), Int32(rect.height / 2))
    InterpolatePlane(
      canvas.u + toChroma, Int32(canvas.strideUV), u + chroma, Int32(strideUV), canvas.u + toChroma,
      Int32(canvas.strideUV), width, height, share)
    InterpolatePlane(
      canvas.v + toChroma, Int32(canvas.strideUV), v + chroma, Int32(strideUV), canvas.v + toChroma,
      Int32(canvas.strideUV), width, height, share)
  }
}

/// One row of one colour, as long as the canvas is wide.
final class ColourRow {
  let colour: Colour
  fileprivate let y: UnsafePointer<UInt8>
  fileprivate let u: UnsafePointer<UInt8>
  fileprivate let v: UnsafePointer<UInt8>
  private let storage: UnsafeMutablePointer<UInt8>

  init(_ colour: Colour, width: Int) {
    self.colour = colour
    let (luma, blue, red) = colour.yuv
    storage = .allocate(capacity: 3 * width)
    storage.initialize(repeating: luma, count: width)
    (storage + width).initialize(repeating: blue, count: width)
    (storage + 2 * width).initialize(repeating: red, count: width)
    (y, u, v) = (UnsafePointer(storage), UnsafePointer(storage + width), UnsafePointer(storage + 2 * width))
  }

  deinit { storage.deallocate() }
}
