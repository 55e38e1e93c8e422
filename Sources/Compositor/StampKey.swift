import Layouts

/// Everything that the look of a stamp depends on, besides the theme.
enum StampKey: Hashable {
  /// A name on a translucent plate. `fallback` stands there when no font has the name's letters.
  case label(String, fallback: String, icon: LabelIcon?, fontSize: Int, maximumWidth: Int)
  /// A name in large letters on a band with a stripe of the person's colour.
  case lowerThird(String, fallback: String, icon: LabelIcon?, accent: Colour, fontSize: Int, maximumWidth: Int)
  /// A name without a plate, for cards.
  case name(String, fallback: String, icon: LabelIcon?, fontSize: Int, maximumWidth: Int)
  /// Symbols on a translucent plate.
  case marks(isPinned: Bool, isLowBandwidth: Bool, size: Int)
  /// A disc with initials; a figure when they are empty.
  case initials(String, colour: Colour, diameter: Int)
  /// A disc with a person's image.
  case portrait(ImageSource, diameter: Int)
  /// The ring of a card, `step` of `TileDesign.levelSteps` wide.
  case levelRing(Colour, diameter: Int, step: Int)
  /// A line of text.
  case text(String, tone: TextTone, fontSize: Int, maximumWidth: Int)
  /// Words of an overlay, whole.
  case overlay(String, style: OverlayStyle, maximumWidth: Int)
  /// A digit of an overlay, or what stands between digits.
  case run(String, style: OverlayStyle)
  /// The plate behind an overlay's runs.
  case plate(width: Int, height: Int, fontSize: Int, opacity: UInt8)
  /// An overlay's image.
  case image(ImageSource, ImageForm, opacity: UInt8)
  /// A large symbol.
  case symbol(Notice.Symbol, size: Int)
}

/// What stands before a name.
enum LabelIcon: Hashable {
  /// Nobody hears the person.
  case muted
  /// It is the person's screen.
  case screen
}

/// What a line of text says.
enum TextTone: Hashable {
  /// The reason on a card.
  case reason
  /// "+N".
  case count
  /// On a dimmed picture: on a plate of its own.
  case overlay
  /// In the empty room.
  case notice
  /// Below the notice.
  case detail
}

/// How an overlay's words are drawn.
struct OverlayStyle: Hashable {
  var fontSize: Int
  var colour: Colour
  var opacity: UInt8
  /// True: they stand on a plate; else their edges are darkened or lightened a little.
  var hasPlate: Bool
}
