import Layouts
import MediaCore

/// Sizes and places of everything in one tile, from its size and the canvas alone. Places are relative to the tile.
struct TileDesign {
  let width: Int
  let height: Int
  /// True when the tile is all there is to see.
  let fillsCanvas: Bool
  /// The canvas' shorter side.
  let shortSide: Int

  /// As many widths has the ring round a card's disc, besides none.
  static let levelSteps = 10

  /// Columns and rows between what stands in a tile and its edges.
  var margin: Int { max(2, (shortSide / 70 + 1) & ~1) }

  /// Font size of names in pixels: never below 12 where there is room for it.
  var nameSize: Int {
    let smallest = max(12, shortSide / 52)
    let largest = max(smallest, shortSide / 40)
    return min(max(height / 16, smallest), largest)
  }

  var reasonSize: Int { max(11, nameSize - 1) }

  /// Font size of the label in the lower left corner, in pixels: in a small tile it must not cover the face.
  var labelSize: Int { min(nameSize, max(9, height / 7)) }

  /// Columns and rows between the label and the tile's edges.
  var labelInset: Int { max(2, min(margin, (height - 60) / 6) & ~1) }

  /// The widest that a label may be; nil when there is no room for one.
  var labelWidth: Int? {
    let room = width - 2 * labelInset
    return room >= 24 && height >= 5 * labelSize ? room : nil
  }

  /// A card has room for a reason below its disc.
  private var hasRoomForReason: Bool { width >= 4 * reasonSize && height >= 7 * nameSize }

  /// Font size of a name on a band, nil when the tile is too small for one.
  var lowerThirdSize: Int? {
    let size = min(max(height / 15, nameSize + 2), max(nameSize + 2, shortSide / 24))
    return height >= 7 * size && width >= 12 * size ? size : nil
  }

  /// Where a band of that height begins.
  func lowerThirdPlace(height band: Int) -> (x: Int, y: Int) {
    (x: (width / 28) & ~1, y: (height - height / 11 - band) & ~1)
  }

  /// Size of a mark's symbol; nil when there is no room.
  var markSize: Int? { labelWidth != nil && height >= 5 * nameSize ? nameSize * 5 / 4 : nil }

  /// Width of the talker's outline. Somebody alone on the whole canvas needs none.
  var ring: Int { fillsCanvas || min(width, height) < 16 ? 0 : max(2, (shortSide / 180) & ~1) }

  /// Font size of "+N".
  var countSize: Int { min(max(height / 4, 12), shortSide / 10) }

  /// Diameter of the disc on a small card, where the name stands beside it.
  var smallDisc: Int { max(8, min(height * 3 / 4, nameSize * 9 / 4)) & ~1 }

  /// What stands on a card, from the top: the disc, a name, a reason.
  struct Card: Equatable {
    /// 0: no disc.
    var diameter = 0
    var discMiddle = 0
    var nameMiddle: Int?
    var reasonMiddle: Int?
  }

  /// Places what stands on a card.
  ///
  /// - Parameters:
  ///   - labelHeight: of the label in the lower left corner, 0 when there is none.
  ///   - hasName: the name stands below the disc.
  ///   - hasRing: there may be a ring round the disc.
  func card(labelHeight: Int, hasName: Bool, hasReason: Bool, hasRing: Bool) -> Card {
    let hasReason = hasReason && hasRoomForReason
    let name = hasName ? nameSize * 8 / 5 : 0
    let reason = hasReason ? reasonSize * 3 / 2 : 0
    let labelTop = labelHeight > 0 ? labelHeight + labelInset : 0
    // The ring at its widest is that much wider than the disc, of 16.
    let ring = hasRing ? 5 : 0
    let room = height - labelTop - 4
    var diameter = min(height * 2 / 5, width * 2 / 5, shortSide / 4)
    let gap = name + reason > 0 ? max(2, diameter / 10) : 0
    diameter = min(diameter, (room - name - reason - gap - 2) * 16 / (16 + ring))
    if diameter < 14, name + reason > 0, room >= name + reason { diameter = 0 }
    diameter = TileDesign.stepped(diameter)
    let outer = diameter > 0 ? diameter + diameter * ring / 16 : 0
    let total = (outer > 0 ? outer + (name + reason > 0 ? gap : 0) : 0) + name + reason
    guard total > 0, total <= height else { return Card() }
    // The middle of the tile when there is room beneath for the label, else the middle of what the label leaves.
    let top = max(2, min((height - total) / 2, room - total + 2))
    var card = Card(diameter: diameter, discMiddle: top + outer / 2)
    if name > 0 { card.nameMiddle = top + total - reason - name / 2 }
    if reason > 0 { card.reasonMiddle = top + total - reason / 2 }
    return card
  }

  /// Discs come in few sizes, so that a tile that grows doesn't need a new one in every frame.
  private static func stepped(_ diameter: Int) -> Int {
    switch diameter {
    case ..<8: 0
    case ..<32: diameter & ~1
    case ..<96: diameter - diameter % 4
    default: diameter - diameter % 8
    }
  }
}
