import Layouts
import MediaCore

/// One tile as it stands on the canvas: what was painted last, and the stamps that belong to it.
struct Tile {
  /// Even, inside the canvas; nil when nothing of the tile is.
  let rect: PixelRect?
  /// The layer's geometry as it was given, to notice a change.
  let given: PixelRect
  let radius: Int
  let z: Int

  private(set) var isPainted = false
  private var key: TileKey?
  private var fit = Fit.cover
  private var reason: CardReason?
  private var name = ""
  private var isMuted = false
  private var isTalking = false
  private var isDimmed = false
  private var pictureID: UInt64 = 0

  /// Blended in order over the picture or the card's ground.
  var stamps: [(stamp: Stamp, x: Int, y: Int)] = []
  /// Width of the talker's outline, 0 for none.
  var ring = 0
  /// Of a card.
  var ground: (y: UInt8, u: UInt8, v: UInt8) = (16, 128, 128)

  init(layer: VideoLayer, canvas: Picture) {
    given = layer.rect
    radius = layer.cornerRadius
    z = layer.z
    rect = canvas.clipped(layer.rect)
  }

  func hasGeometry(of layer: VideoLayer) -> Bool {
    given == layer.rect && radius == layer.cornerRadius && z == layer.z
  }

  /// True when everything but the picture is as it was painted.
  func looks(like paint: TilePaint) -> Bool {
    isPainted && key == paint.layer.key && fit == paint.layer.fit && reason == paint.content.cardReason
      && isMuted == paint.isMuted && isTalking == paint.isTalking && isDimmed == paint.isDimmed && name == paint.name
  }

  /// True when the same picture was painted.
  func shows(_ paint: TilePaint) -> Bool { reason != nil || pictureID == paint.pictureID }

  mutating func remember(_ paint: TilePaint) {
    isPainted = true
    key = paint.layer.key
    fit = paint.layer.fit
    reason = paint.content.cardReason
    name = paint.name
    isMuted = paint.isMuted
    isTalking = paint.isTalking
    isDimmed = paint.isDimmed
    pictureID = paint.pictureID
  }
}
