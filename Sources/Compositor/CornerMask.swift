import CYUV
import Layouts
import MediaCore

/// How much of each pixel lies outside a rounded corner, for the four corners of a tile; made once for each radius.
final class CornerMask {
  /// Columns and rows of one corner: the radius, even.
  let side: Int
  private let bytes: UnsafeMutablePointer<UInt8>
  private var chromaSide: Int { side / 2 }
  private var corner: Int { side * side + chromaSide * chromaSide }

  /// Memory that the masks take.
  var byteCount: Int { 4 * corner }

  /// A mask for a radius in pixels of at least 2; odd ones are rounded down.
  init(radius: Int) {
    side = max(2, radius & ~1)
    let chroma = side / 2
    bytes = .allocate(capacity: 4 * (side * side + chroma * chroma))
    for row in 0..<side {
      for column in 0..<side {
        let alpha = CornerMask.outside(column: column, row: row, radius: side)
        for (index, corner) in Corner.allCases.enumerated() {
          let x = corner.isLeft ? column : side - 1 - column
          let y = corner.isUpper ? row : side - 1 - row
          bytes[index * self.corner + y * side + x] = alpha
        }
      }
    }
    for index in 0..<4 {
      let luma = bytes + index * corner
      for row in 0..<chroma {
        for column in 0..<chroma {
          let first = luma + (2 * row * side + 2 * column)
          let sum = Int(first[0]) + Int(first[1]) + Int(first[side]) + Int(first[side + 1])
          luma[side * side + row * chroma + column] = UInt8(clamping: (sum + 2) / 4)
        }
      }
    }
  }

  deinit { bytes.deallocate() }

  /// The share, of 255, of one pixel that lies outside the circle around (`radius`, `radius`).
  private static func outside(column: Int, row: Int, radius: Int) -> UInt8 {
    func square(_ x: Int, _ y: Int) -> Int { x * x + y * y }
    let (far, near) = (square(radius - column, radius - row), square(radius - column - 1, radius - row - 1))
    if far <= radius * radius { return 0 }
    if near >= radius * radius { return 255 }
    // 16 x 16 points; lengths in 1/32 of a pixel, so that their middles are whole.
    let limit = square(32 * radius, 0)
    var count = 0
    for y in 0..<16 {
      for x in 0..<16
      where square(32 * (radius - column) - 2 * x - 1, 32 * (radius - row) - 2 * y - 1) > limit {
        count += 1
      }
    }
    return UInt8(clamping: (count * 255 + 128) / 256)
  }

  /// Mixes `planes` into the four corners of `rect` on the canvas, as far as they lie outside the rounding. `rect` is
  /// even, inside the canvas, and no side is shorter than twice the radius.
  func blend(_ planes: Planes, into canvas: Picture, around rect: PixelRect) {
    let chroma = chromaSide
    for (index, corner) in Corner.allCases.enumerated() {
      let x = corner.isLeft ? rect.x : rect.x + rect.width - side
      let y = corner.isUpper ? rect.y : rect.y + rect.height - side
      let mask = bytes + index * self.corner
      let target = canvas.y + (y * canvas.strideY + x)
      BlendPlane(
        planes.y + (y * planes.strideY + x), Int32(planes.strideY), target, Int32(canvas.strideY), mask, Int32(side),
        target, Int32(canvas.strideY), Int32(side), Int32(side))
      let source = y / 2 * planes.strideUV + x / 2
      let place = y / 2 * canvas.strideUV + x / 2
      let chromaMask = mask + side * side
      blendChroma(planes.u + source, planes.strideUV, canvas.u + place, canvas.strideUV, chromaMask, chroma)
      blendChroma(planes.v + source, planes.strideUV, canvas.v + place, canvas.strideUV, chromaMask, chroma)
    }
  }

  private func blendChroma(
    _ source: UnsafePointer<UInt8>, _ sourceStride: Int, _ target: UnsafeMutablePointer<UInt8>, _ stride: Int,
    _ mask: UnsafePointer<UInt8>, _ side: Int
  ) {
    BlendPlane(
      source, Int32(sourceStride), target, Int32(stride), mask, Int32(side), target, Int32(stride), Int32(side),
      Int32(side))
  }
}

/// Which corner of a tile.
enum Corner: CaseIterable {
  case upperLeft, upperRight, lowerLeft, lowerRight

  var isLeft: Bool { self == .upperLeft || self == .lowerLeft }
  var isUpper: Bool { self == .upperLeft || self == .upperRight }
}
