import Layouts

/// A colour without transparency (sRGB).
public struct Colour: Hashable, Sendable {
  /// Red, 0...255.
  public var red: UInt8
  /// Green, 0...255.
  public var green: UInt8
  /// Blue, 0...255.
  public var blue: UInt8

  /// Makes a colour from its hexadecimal form, such as `0x1b1d22`; higher bits are ignored.
  public init(_ hex: UInt32) {
    red = UInt8(truncatingIfNeeded: hex >> 16)
    green = UInt8(truncatingIfNeeded: hex >> 8)
    blue = UInt8(truncatingIfNeeded: hex)
  }

  /// The colour of a layout.
  init(_ colour: RGBColor) {
    (red, green, blue) = (colour.red, colour.green, colour.blue)
  }

  /// The colour as limited-range BT.601, as all pictures in recbot are.
  public var yuv: (y: UInt8, u: UInt8, v: UInt8) {
    let (r, g, b) = (Int(red), Int(green), Int(blue))
    return (
      UInt8(truncatingIfNeeded: 16 + (66 * r + 129 * g + 25 * b + 128) >> 8),
      UInt8(truncatingIfNeeded: 128 + (-38 * r - 74 * g + 112 * b + 128) >> 8),
      UInt8(truncatingIfNeeded: 128 + (112 * r - 94 * g - 18 * b + 128) >> 8)
    )
  }

  /// `share` / 256 of the other colour, the rest of this one.
  func mixed(with other: Colour, share: Int) -> Colour {
    func mix(_ a: UInt8, _ b: UInt8) -> UInt32 {
      UInt32(clamping: (Int(a) * (256 - share) + Int(b) * share) / 256) & 0xff
    }
    return Colour(mix(red, other.red) << 16 | mix(green, other.green) << 8 | mix(blue, other.blue))
  }
}
