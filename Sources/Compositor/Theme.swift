/// The colours and the font of a recording.
public struct Theme: Hashable, Sendable {
  /// Behind and between the tiles.
  public var background: Colour
  /// Of cards, and of the bars beside a picture that doesn't fill its tile.
  public var tile: Colour
  /// How much of a person's colour is mixed into their card, of 256.
  var cardTint: Int
  /// Names on labels, counts, overlays.
  public var text: Colour
  /// Reasons on cards.
  public var secondaryText: Colour
  /// Initials, on a person's colour.
  public var initials: Colour
  /// Behind names; painted translucent.
  public var label: Colour
  /// How opaque labels are, of 1.
  var labelAlpha: Double
  /// The outline of the active talker.
  public var talker: Colour
  /// Borders of tiles whose layout says no colour.
  public var border: Colour
  /// The crossed-out microphone.
  public var muted: Colour
  /// The mark of a narrow connection.
  public var warning: Colour
  /// Discs behind initials; chosen by the participant's identity.
  public var avatars: [Colour]
  /// Font families in order of preference, as Pango reads them. Whatever a family lacks comes from the next, and from
  /// any other installed font in the end.
  public var fontFamilies: String

  /// Light text on a calm dark background.
  public static let dark = Theme(
    background: Colour(0x17191e), tile: Colour(0x262a31), cardTint: 28, text: Colour(0xf7f8fa),
    secondaryText: Colour(0xa9b0bc), initials: Colour(0xf7f8fa), label: Colour(0x0c0d10), labelAlpha: 0.62,
    talker: Colour(0x4f9dff), border: Colour(0x4a505b), muted: Colour(0xff7a75), warning: Colour(0xf6b73c),
    avatars: people,
    fontFamilies: families)

  /// Dark text on paper.
  public static let light = Theme(
    background: Colour(0xf3f4f6), tile: Colour(0xdfe3e9), cardTint: 36, text: Colour(0x191c22),
    secondaryText: Colour(0x4d5562), initials: Colour(0xffffff), label: Colour(0xffffff), labelAlpha: 0.84,
    talker: Colour(0x1f6fe5), border: Colour(0xb9c0ca), muted: Colour(0xd3302f), warning: Colour(0xb36b00),
    avatars: people,
    fontFamilies: families)

  private static let people = [
    Colour(0x4a78d6), Colour(0x2f8f83), Colour(0xb4654a), Colour(0x8561c5), Colour(0x4e8f4a), Colour(0xc0577e),
    Colour(0x3b87ad), Colour(0xa87a2c), Colour(0x6a6fd1), Colour(0xb0544f), Colour(0x5d8a2f), Colour(0x9a55a8),
  ]

  private static let families =
    "Inter, Noto Sans, Noto Sans Arabic, Noto Sans Hebrew, Noto Sans Devanagari, DejaVu Sans, sans-serif"

  /// The same person has the same colour in every recording. `identity` may be any text.
  func personColour(_ identity: String) -> Colour {
    guard !avatars.isEmpty else { return tile }
    // FNV-1a, 64 bits; the upper half is mixed in because its low bits alone are poorly spread for short texts.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in identity.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= hash >> 32
    return avatars[Int(hash % UInt64(avatars.count))]
  }
}
