import MediaCore

/// A set of colours.
public enum ThemeName: String, CaseIterable, Sendable, Hashable {
  /// Light text on a dark background.
  case dark
  /// Dark text on a light background.
  case light
}

/// A colour without transparency (sRGB).
public struct RGBColor: Hashable, Sendable, CustomStringConvertible {
  /// Red, 0 to 255.
  public var red: UInt8
  /// Green, 0 to 255.
  public var green: UInt8
  /// Blue, 0 to 255.
  public var blue: UInt8

  /// Makes a colour from its parts; see the properties.
  public init(red: UInt8, green: UInt8, blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// Reads `#rrggbb` (hexadecimal digits in either case), `black` or `white`; nil for anything else.
  public init?(text: some StringProtocol) {
    if text == "black" || text == "white" {
      let value: UInt8 = text == "white" ? 255 : 0
      self.init(red: value, green: value, blue: value)
      return
    }
    let digits = text.dropFirst()
    guard text.hasPrefix("#"), digits.utf8.count == 6, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
      let value = UInt32(digits, radix: 16)
    else { return nil }
    self.init(
      red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
      blue: UInt8(truncatingIfNeeded: value))
  }

  /// Black.
  public static let black = RGBColor(red: 0, green: 0, blue: 0)
  /// White.
  public static let white = RGBColor(red: 255, green: 255, blue: 255)

  /// `#rrggbb`.
  public var description: String {
    "#"
      + [red, green, blue].map { part in
        let text = String(part, radix: 16)
        return text.utf8.count < 2 ? "0" + text : text
      }.joined()
  }
}

/// What lies behind and between the tiles.
public enum Background: Hashable, Sendable {
  /// The theme's colour.
  case theme
  /// One colour.
  case color(RGBColor)
  /// A picture file; until it is loaded, and where it doesn't reach, the theme's colour.
  case image(path: String, fit: Fit)
}

/// How tiles get from one place to the next.
public enum Transition: Hashable, Sendable {
  /// At once.
  case cut
  /// They glide for so long: more than zero, at most `Transition.longest`.
  case glide(Duration)

  /// The longest glide.
  public static let longest = Duration.seconds(5)
}

/// A frame along the inside of a tile's edge.
public struct Border: Hashable, Sendable {
  /// Pixels; even, at least 2.
  public var width: Int
  /// Its colour; nil: the theme's.
  public var color: RGBColor?

  /// Makes a border; the width is rounded down to an even number, at least 2.
  public init(width: Int, color: RGBColor? = nil) {
    self.width = max(2, even(width))
    self.color = color
  }
}

/// How a person's name is written on a tile.
public enum NameStyle: String, CaseIterable, Sendable, Hashable {
  /// On a small plate in the lower left corner.
  case label
  /// In larger letters on a band across the lower third.
  case lowerThird = "lower-third"
  /// Not at all.
  case none
}

/// What is drawn on and around the picture of a tile.
public struct TileLook: Hashable, Sendable {
  /// How the name is written.
  public var name: NameStyle
  /// True: a crossed-out microphone on the tiles of people who cannot be heard.
  public var muteIcon: Bool
  /// True: the tiles of people who talk are outlined.
  public var talkerOutline: Bool
  /// True: a mark on the tiles of pinned people, and on those that are held back by a narrow connection.
  public var marks: Bool
  /// True: a ring round the initials of a card grows with the loudness.
  public var levelRing: Bool
  /// False: cards stand for everybody, whether or not there is a picture.
  public var video: Bool
  /// True for the small cards of people without video beside people with video: initials and name in one line.
  public var smallCard: Bool
  /// 255: the tile covers what is behind it; 0: it isn't seen.
  public var opacity: UInt8
  /// Behind cards, and beside a picture that doesn't fill its tile; nil: the theme's colour.
  public var ground: RGBColor?

  /// Makes a look; the defaults are those of the grid.
  public init(
    name: NameStyle = .label, muteIcon: Bool = true, talkerOutline: Bool = true, marks: Bool = true,
    levelRing: Bool = false, video: Bool = true, smallCard: Bool = false, opacity: UInt8 = 255,
    ground: RGBColor? = nil
  ) {
    self.name = name
    self.muteIcon = muteIcon
    self.talkerOutline = talkerOutline
    self.marks = marks
    self.levelRing = levelRing
    self.video = video
    self.smallCard = smallCard
    self.opacity = opacity
    self.ground = ground
  }
}
