import Layouts
import MediaCore

/// A stamp and where its upper left corner lies, in even pixels from that of the tile or overlay.
struct PlacedStamp {
  var stamp: Stamp
  var x: Int
  var y: Int
}

/// One tile as it stands on the canvas: what was painted last, and the stamps that belong to it.
struct Tile {
  /// Even, inside the canvas; nil when nothing of the tile is.
  private(set) var rect: PixelRect?
  private(set) var paint: TilePaint
  /// True until it is dressed.
  private(set) var needsDress = true

  /// Blended in order over the picture or the card's ground.
  var stamps: [PlacedStamp] = []
  /// Below the stamps: the ring round the disc, and the disc's middle and size, from which the ring is made.
  var levelRing: PlacedStamp?
  var disc: (x: Int, y: Int, diameter: Int, colour: Colour)?
  /// Of a card, and of the bars beside a picture.
  var ground: (y: UInt8, u: UInt8, v: UInt8) = (16, 128, 128)
  /// Along the inside of the edge.
  var edge: (row: ColourRow, width: Int, inner: CornerMask?)?
  var mask: CornerMask?
  /// True when it must be painted.
  var hasChanged = true
  /// True when an image of this tile may still come.
  var awaitsImage = false

  init(_ paint: TilePaint, canvas: Picture) {
    self.paint = paint
    self.paint.content = .card(.audioOnly)
    rect = canvas.clipped(paint.layer.rect)
  }

  /// What lies behind shows through all of it.
  var isTranslucent: Bool { paint.layer.look.opacity < 255 }
  var opacity: UInt8 { paint.layer.look.opacity }

  /// What has changed since the tile was painted last.
  struct Change {
    /// The rectangle, the corners, what is nearer or farther: others must be painted too.
    var isPlace = false
    /// Anything that is seen but for the ring.
    var isSeen = false
    /// The ring of a card.
    var isLevel = false
  }

  private(set) var reason: CardReason?
  private(set) var levelStep = 0

  /// Takes over what is to be painted, and says what is new about it.
  mutating func update(_ new: TilePaint, canvas: Picture) -> Change {
    var change = Change()
    let (old, look) = (paint.layer, new.layer)
    if old.rect != look.rect || old.z != look.z || old.cornerRadius != look.cornerRadius
      || old.look.opacity != look.look.opacity
    {
      change.isPlace = true
      let place = canvas.clipped(look.rect)
      // What is drawn belongs to the size, not to the place.
      if place?.width != rect?.width || place?.height != rect?.height || old.cornerRadius != look.cornerRadius {
        needsDress = true
      }
      rect = place
    }
    let newReason = new.cardReason
    if old.key != look.key || old.look != look.look || old.border != look.border || reason != newReason
      || paint.isMuted != new.isMuted || paint.isTalking != new.isTalking || paint.isDimmed != new.isDimmed
      || paint.isPinned != new.isPinned || paint.isLowBandwidth != new.isLowBandwidth || paint.name != new.name
      || paint.avatar != new.avatar
    {
      needsDress = true
    }
    if needsDress { change.isSeen = true }
    if newReason == nil,
      paint.pictureID != new.pictureID || old.fit != look.fit || paint.processor != new.processor
    {
      change.isSeen = true
    }
    let step = new.levelStep
    if levelStep != step {
      levelStep = step
      change.isLevel = true
    }
    let content = paint.content
    paint = new
    // Pictures belong to their decoder: keeping one here would keep it from being used again.
    paint.content = content
    reason = newReason
    return change
  }

  /// Says that stamps and masks fit what is to be painted.
  mutating func isDressed() { needsDress = false }

  /// Says that an image of this tile has come.
  mutating func undress() { needsDress = true }
}
