internal import MediaCore

/// What the samples of a decoded picture mean, as its bitstream says.
struct PictureColour: Hashable, Sendable {
  /// How luma and chroma are made of red, green and blue.
  enum Matrix: Hashable, Sendable {
    /// ITU-R BT.601, and what differs from it by less than anybody sees.
    case bt601
    /// ITU-R BT.709.
    case bt709
    /// ITU-R BT.2020, its luminance not constant.
    case bt2020
  }

  var matrix = Matrix.bt601
  /// True for 0...255, false for 16...235 (16...240 of chroma).
  var isFullRange = false

  /// What all pictures in recbot are, and what is taken for what says nothing, as browsers do.
  static let usual = PictureColour()

  /// Makes one of its parts.
  init(matrix: Matrix = .bt601, isFullRange: Bool = false) {
    self.matrix = matrix
    self.isFullRange = isFullRange
  }

  /// By `MatrixCoefficients` of ITU-T H.273 (table 4), as AV1, H.264 and H.265 have it.
  init(matrixCoefficients: UInt32, isFullRange: Bool) {
    switch matrixCoefficients {
    case 1, 7: matrix = .bt709
    case 9, 10: matrix = .bt2020
    default: matrix = .bt601
    }
    self.isFullRange = isFullRange
  }

  /// By `color_space` of VP9 (section 7.2.2 of its specification).
  init(vp9ColorSpace: UInt32, isFullRange: Bool) {
    switch vp9ColorSpace {
    case 2, 4: matrix = .bt709
    case 5: matrix = .bt2020
    default: matrix = .bt601
    }
    self.isFullRange = isFullRange
  }
}

extension PicturePool {
  /// A copy of a library's picture: three planes with their strides. The pool's pictures have the size that is asked for,
  /// up to `Picture.maximumSide`, which no cap goes beyond.
  mutating func copy(
    width: Int, height: Int, y: (UnsafeMutablePointer<UInt8>, Int), u: (UnsafeMutablePointer<UInt8>, Int),
    v: (UnsafeMutablePointer<UInt8>, Int), colour: PictureColour
  ) -> Picture {
    let picture = take(width: width, height: height)
    guard colour == .usual else {
      convert(colour, y, u, v, to: picture)
      return picture
    }
    copyPlane(from: y, to: picture.y, stride: picture.strideY, width: width, height: height)
    copyPlane(
      from: u, to: picture.u, stride: picture.strideUV, width: picture.chromaWidth, height: picture.chromaHeight)
    copyPlane(
      from: v, to: picture.v, stride: picture.strideUV, width: picture.chromaWidth, height: picture.chromaHeight)
    return picture
  }
}

/// The arithmetic from one meaning of samples to the usual one, by the definitions of BT.601 and BT.709 (weights of red and
/// blue in luma). Chroma does not depend on luma, so each plane is made in one pass. Factors are of 2^14.
private struct Conversion {
  /// Luma from luma; what chroma adds to it.
  let (lumaFromY, lumaFromU, lumaFromV): (Int32, Int32, Int32)
  let (uFromU, uFromV, vFromU, vFromV): (Int32, Int32, Int32, Int32)
  /// What is taken from luma before all else.
  let black: Int32

  init(_ colour: PictureColour) {
    let (red, blue): (Double, Double) =
      switch colour.matrix {
      case .bt601: (0.299, 0.114)
      case .bt709: (0.2126, 0.0722)
      case .bt2020: (0.2627, 0.0593)
      }
    let green = 1 - red - blue
    let (newRed, newBlue, newGreen) = (0.299, 0.114, 0.587)
    // New luma less old luma, by the two differences.
    let byBlue = 2 * (1 - blue) * (newBlue - newGreen * blue / green)
    let byRed = 2 * (1 - red) * (newRed - newGreen * red / green)
    let (lumaScale, chromaScale) = colour.isFullRange ? (219.0 / 255, 224.0 / 255) : (1, 1)
    let lumaByChroma = 219 / (colour.isFullRange ? 255.0 : 224)
    func fixed(_ value: Double) -> Int32 { Int32((value * 16384).rounded()) }
    (lumaFromY, lumaFromU, lumaFromV) = (fixed(lumaScale), fixed(byBlue * lumaByChroma), fixed(byRed * lumaByChroma))
    let (toBlue, toRed) = (chromaScale / (2 * (1 - newBlue)), chromaScale / (2 * (1 - newRed)))
    (uFromU, uFromV) = (fixed((2 * (1 - blue) - byBlue) * toBlue), fixed(-byRed * toBlue))
    (vFromU, vFromV) = (fixed(-byBlue * toRed), fixed((2 * (1 - red) - byRed) * toRed))
    black = colour.isFullRange ? 0 : 16
  }

  @inline(__always)
  func luma(_ y: UInt8, _ u: UInt8, _ v: UInt8) -> UInt8 {
    let chroma = lumaFromU &* (Int32(u) &- 128) &+ lumaFromV &* (Int32(v) &- 128)
    return Self.sample(lumaFromY &* (Int32(y) &- black) &+ chroma, 16)
  }

  @inline(__always)
  func chroma(_ u: UInt8, _ v: UInt8) -> (u: UInt8, v: UInt8) {
    let (blue, red) = (Int32(u) &- 128, Int32(v) &- 128)
    return (Self.sample(uFromU &* blue &+ uFromV &* red, 128), Self.sample(vFromU &* blue &+ vFromV &* red, 128))
  }

  @inline(__always)
  private static func sample(_ value: Int32, _ offset: Int32) -> UInt8 {
    UInt8(truncatingIfNeeded: min(max((value &+ 8192) >> 14 &+ offset, 0), 255))
  }
}

/// Makes limited-range BT.601 of planes that mean something else.
private func convert(
  _ colour: PictureColour, _ y: (bytes: UnsafeMutablePointer<UInt8>, stride: Int),
  _ u: (bytes: UnsafeMutablePointer<UInt8>, stride: Int), _ v: (bytes: UnsafeMutablePointer<UInt8>, stride: Int),
  to picture: Picture
) {
  let conversion = Conversion(colour)
  for row in 0..<picture.height {
    let (lumas, blues, reds) = (y.bytes + row * y.stride, u.bytes + row / 2 * u.stride, v.bytes + row / 2 * v.stride)
    let target = picture.y + row * picture.strideY
    for column in 0..<picture.width {
      target[column] = conversion.luma(lumas[column], blues[column / 2], reds[column / 2])
    }
  }
  for row in 0..<picture.chromaHeight {
    let (blues, reds) = (u.bytes + row * u.stride, v.bytes + row * v.stride)
    let (newBlues, newReds) = (picture.u + row * picture.strideUV, picture.v + row * picture.strideUV)
    for column in 0..<picture.chromaWidth {
      (newBlues[column], newReds[column]) = conversion.chroma(blues[column], reds[column])
    }
  }
}

/// Copies `height` rows of `width` bytes.
@inline(__always)
private func copyPlane(
  from source: (bytes: UnsafeMutablePointer<UInt8>, stride: Int), to target: UnsafeMutablePointer<UInt8>, stride: Int,
  width: Int, height: Int
) {
  var from = source.bytes
  var to = target
  for row in 0..<height {
    to.update(from: from, count: width)
    // No pointer beyond the plane is made, not even behind its last row.
    if row < height - 1 {
      from += source.stride
      to += stride
    }
  }
}
