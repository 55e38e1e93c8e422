import Layouts
import MediaCore

/// Sizes and places of everything in one tile, from its rectangle and the canvas alone.
struct TileDesign {
  let rect: PixelRect
  let canvas: PixelRect
  let paint: TilePaint
  let theme: Theme

  private var shortSide: Int { min(canvas.width, canvas.height) }

  /// Columns and rows between the label and the tile's edges.
  var labelInset: Int { max(2, (shortSide / 70 + 1) & ~1) }

  /// Font size of names in pixels: never below 12 where there is room for it.
  private var nameSize: Int {
    let smallest = max(12, shortSide / 52)
    let largest = max(smallest, shortSide / 40)
    return min(max(rect.height / 16, smallest), largest)
  }

  private var reasonSize: Int { max(11, nameSize - 1) }

  private var overflow: Int? {
    if case .overflow(let count) = paint.layer.key { return count }
    return nil
  }

  /// The name, and the mute icon; nil when there is nothing to say or no room to say it.
  var label: StampKey? {
    let name = NameText.cleaned(paint.name)
    let width = rect.width - 2 * labelInset
    guard overflow == nil, !name.isEmpty || paint.isMuted, width >= 24, rect.height >= 3 * nameSize else { return nil }
    return .label(text: name, isMuted: paint.isMuted, fontSize: nameSize, maximumWidth: width)
  }

  /// Width of the talker's outline. Somebody alone on the whole canvas needs none.
  var ring: Int {
    guard paint.isTalking, overflow == nil, rect != canvas, min(rect.width, rect.height) >= 16 else { return 0 }
    return max(2, (shortSide / 180) & ~1)
  }

  /// Colour behind a card: the tile's, with a touch of the person's.
  var ground: (y: UInt8, u: UInt8, v: UInt8) {
    guard overflow == nil, let colour = avatarColour else { return theme.tile.yuv }
    return theme.tile.mixed(with: colour, share: 28).yuv
  }

  /// What stands in the middle, with the row of its middle.
  func centre(labelHeight: Int?) -> [(key: StampKey, middle: Int)] {
    let middle = rect.y + rect.height / 2
    if let overflow {
      let size = min(max(rect.height / 4, 12), shortSide / 10)
      return [(.text("+\(overflow)", tone: .count, fontSize: size, maximumWidth: rect.width), middle)]
    }
    if case .empty = paint.layer.key { return [] }
    switch paint.content {
    case .video:
      guard paint.isDimmed else { return [] }
      let text = CardReason.reconnecting.text
      return [(.text(text, tone: .overlay, fontSize: nameSize, maximumWidth: rect.width - 4), middle)]
    case .card(let reason):
      return card(reason, labelHeight: labelHeight)
    }
  }

  private func card(_ reason: CardReason, labelHeight: Int?) -> [(key: StampKey, middle: Int)] {
    let labelTop = labelHeight.map { $0 + labelInset } ?? 0
    let line = reasonSize * 3 / 2
    var diameter = min(rect.height * 2 / 5, rect.width * 2 / 5, shortSide / 4)
    let hasText = !reason.text.isEmpty && rect.width >= 4 * reasonSize
    let gap = max(2, diameter / 10)
    let text = hasText ? line + gap : 0
    // The middle of the tile when there is room beneath for the label, else the middle of what the label leaves.
    let room = rect.height - labelTop - 4
    diameter = min(diameter, room - text - 2)
    let isCramped = diameter < 14
    if isCramped, hasText, room >= line { diameter = 0 }
    let height = (diameter > 0 ? diameter + (hasText ? gap : 0) : 0) + (hasText ? line : 0)
    guard height > 0, height <= rect.height else { return [] }
    let top = rect.y + max(2, min((rect.height - height) / 2, room - height + 2))
    var parts: [(key: StampKey, middle: Int)] = []
    if diameter >= 8, let colour = avatarColour {
      parts.append((.avatar(initials: initials, colour: colour, diameter: diameter & ~1), top + diameter / 2))
    }
    if hasText {
      let key = StampKey.text(reason.text, tone: .reason, fontSize: reasonSize, maximumWidth: rect.width - 4)
      parts.append((key, top + height - line / 2))
    }
    return parts
  }

  private var initials: String {
    let name = NameText.initials(NameText.cleaned(paint.name))
    if !name.isEmpty || !paint.name.isEmpty { return name }
    return NameText.initials(NameText.cleaned(paint.layer.key.participant?.rawValue ?? ""))
  }

  /// The same person has the same colour in every recording.
  private var avatarColour: Colour? {
    guard let identity = paint.layer.key.participant?.rawValue, !theme.avatars.isEmpty else { return nil }
    // FNV-1a, 64 bits; the upper half is mixed in because its low bits alone are poorly spread for short texts.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in identity.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    hash ^= hash >> 32
    return theme.avatars[Int(hash % UInt64(theme.avatars.count))]
  }
}
