import Layouts

/// Something on the canvas, with its place in the order of painting.
struct Element {
  enum Kind {
    case tile(Int)
    case overlay(Int)
    case notice
  }

  var kind: Kind
  /// Even, inside the canvas.
  var rect: PixelRect
  /// True when nothing below shows through, but for the rounded corners.
  var isOpaque: Bool
  /// Of the corners.
  var radius: Int
  var z = 0
  /// Elements that overlap, directly or by way of others, are in one group and painted together.
  var group = 0
  /// True when it overlaps nothing.
  var isAlone = true
  /// True when one that is painted before it, and is opaque, lies below all of it.
  var isCovered = false

  /// True when the background must be there before it is painted. Tiles that are alone mix it in by themselves.
  var needsBackdrop: Bool {
    if isCovered { return false }
    if case .tile = kind { return !isAlone && (!isOpaque || radius > 0) }
    return true
  }

  /// True when this is opaque wherever `other` is.
  func covers(_ other: PixelRect) -> Bool {
    guard isOpaque else { return false }
    func isInside(_ dx: Int, _ dy: Int) -> Bool {
      other.x >= rect.x + dx && other.x + other.width <= rect.x + rect.width - dx && other.y >= rect.y + dy
        && other.y + other.height <= rect.y + rect.height - dy
    }
    return isInside(radius, 0) || isInside(0, radius)
  }
}

/// What stands in the middle of a picture without tiles, as it was drawn.
struct NoticeState {
  var notice: Notice
  var rect: PixelRect
  var stamps: [PlacedStamp]
}

/// An overlay as it stands on the canvas.
struct OverlayState {
  var paint: OverlayPaint
  /// The part that is on the canvas; nil when nothing is.
  var rect: PixelRect?
  /// The upper left corner.
  var place = (x: 0, y: 0)
  var stamps: [PlacedStamp] = []
  var hasChanged = true
  var awaitsImage = false
  private(set) var needsDress = true

  init(_ paint: OverlayPaint) { self.paint = paint }

  mutating func isDressed() { needsDress = false }
  mutating func undress() { needsDress = true }
}

/// A name from the network, made fit to be drawn.
struct NameWords {
  var name: String
  var initials: String
  /// The identity, which stands where no font has the name's letters.
  var fallback: String
}
