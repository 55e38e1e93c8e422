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

/// The colours and the font of a recording.
public struct Theme: Hashable, Sendable {
  /// Behind and between the tiles.
  public var background: Colour
  /// Of cards, and of the bars beside a picture that doesn't fill its tile.
  public var tile: Colour
  /// Names on labels, and initials.
  public var text: Colour
  /// Reasons on cards.
  public var secondaryText: Colour
  /// Behind names; painted translucent.
  public var label: Colour
  /// The outline of the active talker.
  public var talker: Colour
  /// The crossed-out microphone.
  public var muted: Colour
  /// Discs behind initials; chosen by the participant's identity.
  public var avatars: [Colour]
  /// Font families in order of preference, as Pango reads them.
  public var fontFamilies: String

  /// Light text on a calm dark background.
  public static let dark = Theme(
    background: Colour(0x17191e), tile: Colour(0x262a31), text: Colour(0xf7f8fa), secondaryText: Colour(0xa9b0bc),
    label: Colour(0x0c0d10), talker: Colour(0x4f9dff), muted: Colour(0xff7a75),
    avatars: [
      Colour(0x4a78d6), Colour(0x2f8f83), Colour(0xb4654a), Colour(0x8561c5), Colour(0x4e8f4a), Colour(0xc0577e),
      Colour(0x3b87ad), Colour(0xa87a2c), Colour(0x6a6fd1), Colour(0xb0544f), Colour(0x5d8a2f), Colour(0x9a55a8),
    ],
    fontFamilies: "Inter, DejaVu Sans, sans-serif")
}
