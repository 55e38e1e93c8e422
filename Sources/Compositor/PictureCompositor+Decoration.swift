import Layouts
import MediaCore

/// Decides what is put over pictures and grounds: stamps, edges, masks.
extension PictureCompositor {
  /// Of a tile that has been updated to `paint`.
  func decorate(_ index: Int, for paint: TilePaint) {
    var tile = tiles[index]
    tiles[index].stamps = []  // so that `tile` has the array to itself
    defer { tiles[index] = tile }
    tile.isDressed()
    tile.stamps.removeAll(keepingCapacity: true)
    tile.levelRing = nil
    tile.disc = nil
    tile.edge = nil
    tile.mask = nil
    tile.awaitsImage = false
    guard let rect = tile.rect else { return }
    let design = TileDesign(
      width: rect.width, height: rect.height, fillsCanvas: rect == whole, shortSide: min(whole.width, whole.height))
    let look = paint.layer.look
    let personColour = paint.layer.key.participant.map { theme.personColour($0.rawValue) }
    let isCard = paint.cardReason != nil
    let tint = isCard ? personColour : nil
    tile.ground =
      look.ground.map { Colour($0).yuv }
      ?? (tint.map { theme.tile.mixed(with: $0, share: theme.cardTint) } ?? theme.tile).yuv
    dressEdge(&tile, paint, design, rect)
    if let overflow = paint.overflow {
      let count = fitting(rect.width) {
        .text("+\(overflow)", tone: .count, fontSize: design.countSize, maximumWidth: $0)
      }
      addCentred(count, middle: rect.height / 2, design, &tile)
    }
    // Who isn't somebody has no name and no face.
    guard paint.layer.key.participant != nil else { return }
    let person = Person(
      words: words(of: paint), colour: personColour ?? theme.tile, avatar: paint.avatar,
      icon: paint.layer.key.isScreenShare
        // Where names are not wanted, a sign alone says nothing that the picture doesn't.
        ? (look.name == .none ? nil : .screen) : paint.isMuted && look.muteIcon ? .muted : nil)
    if isCard, look.smallCard {
      dressSmallCard(&tile, person, design)
      return
    }
    let label = addName(person, look: look, isCentred: isCard && look.levelRing, design, &tile)
    if isCard {
      dressCard(&tile, paint, person, labelHeight: label, design)
    } else if paint.isDimmed {
      let notice = fitting(rect.width - 4) {
        .text(CardReason.reconnecting.text, tone: .overlay, fontSize: design.nameSize, maximumWidth: $0)
      }
      addCentred(notice, middle: rect.height / 2, design, &tile)
    }
    addMarks(paint, design, &tile)
    tile.setLevelRing(self)
  }

  /// The ring round the disc of a tile whose level has changed.
  func setLevelRing(_ index: Int) { tiles[index].setLevelRing(self) }

  private struct Person {
    var words: NameWords
    var colour: Colour
    var avatar: ImageSource?
    var icon: LabelIcon?
  }

  private func dressEdge(_ tile: inout Tile, _ paint: TilePaint, _ design: TileDesign, _ rect: PixelRect) {
    let shortest = min(rect.width, rect.height)
    let radius = min(max(0, paint.layer.cornerRadius), shortest / 2) & ~1
    if radius >= 2 { tile.mask = mask(radius) }
    var width = min(max(0, paint.layer.border?.width ?? 0), shortest / 4) & ~1
    var row = width > 0 ? colourRow(paint.layer.border?.color.map { Colour($0) } ?? theme.border) : nil
    if paint.isTalking, paint.layer.look.talkerOutline, paint.layer.key.participant != nil, design.ring > 0 {
      width = max(width, design.ring)
      row = talkerRow
    }
    guard let row, width >= 2 else { return }
    let inner = min(radius - width, shortest / 2 - width) & ~1
    tile.edge = (row, width, inner >= 2 ? mask(inner) : nil)
  }

  /// Adds the name in its style; gives the height that it takes in the lower left corner.
  private func addName(
    _ person: Person, look: TileLook, isCentred: Bool, _ design: TileDesign, _ tile: inout Tile
  ) -> Int {
    // Under a disc with a ring the name stands in the middle, with the card's other lines.
    if isCentred, look.name != .none { return 0 }
    let words = look.name == .none ? NameWords(name: "", initials: "", fallback: "") : person.words
    guard let room = design.labelWidth, !words.name.isEmpty || person.icon != nil else { return 0 }
    if look.name == .lowerThird, !words.name.isEmpty, let size = design.lowerThirdSize {
      let place = design.lowerThirdPlace(height: 0)
      let stamp = fitting(design.width - 2 * place.x) {
        .lowerThird(
          words.name, fallback: words.fallback, icon: person.icon, accent: person.colour, fontSize: size,
          maximumWidth: $0)
      }
      if let stamp {
        let y = design.lowerThirdPlace(height: stamp.height).y
        tile.stamps.append(PlacedStamp(stamp: stamp, x: place.x, y: y))
        return design.height - y
      }
      return 0
    }
    let label = fitting(room) {
      .label(words.name, fallback: words.fallback, icon: person.icon, fontSize: design.labelSize, maximumWidth: $0)
    }
    guard let label else { return 0 }
    let inset = design.labelInset
    tile.stamps.append(PlacedStamp(stamp: label, x: inset, y: (design.height - inset - label.height) & ~1))
    return label.height
  }

  private func dressCard(
    _ tile: inout Tile, _ paint: TilePaint, _ person: Person, labelHeight: Int, _ design: TileDesign
  ) {
    let reason = paint.cardReason ?? .audioOnly
    let look = paint.layer.look
    let hasName = look.levelRing && look.name != .none && !(person.words.name.isEmpty && person.icon == nil)
    let card = design.card(
      labelHeight: labelHeight, hasName: hasName, hasReason: !reason.text.isEmpty, hasRing: look.levelRing)
    if card.diameter > 0, let disc = disc(of: person, diameter: card.diameter, &tile) {
      let (x, y) = (((design.width - disc.width) / 2) & ~1, (card.discMiddle - disc.height / 2) & ~1)
      tile.stamps.append(PlacedStamp(stamp: disc, x: x, y: y))
      tile.disc = (x + disc.width / 2, y + disc.height / 2, card.diameter, person.colour)
    }
    if let middle = card.nameMiddle {
      let name = fitting(design.width - 2 * design.margin) {
        .name(
          person.words.name, fallback: person.words.fallback, icon: person.icon, fontSize: design.nameSize,
          maximumWidth: $0)
      }
      addCentred(name, middle: middle, design, &tile)
    }
    if let middle = card.reasonMiddle {
      let words = fitting(design.width - 4) {
        .text(reason.text, tone: .reason, fontSize: design.reasonSize, maximumWidth: $0)
      }
      addCentred(words, middle: middle, design, &tile)
    }
  }

  /// Disc and name in one line.
  private func dressSmallCard(_ tile: inout Tile, _ person: Person, _ design: TileDesign) {
    let diameter = design.smallDisc
    let inset = max(2, min((design.height - diameter) / 2, design.margin)) & ~1
    let space = (diameter / 4 + 1) & ~1
    let room = design.width - 3 * inset - diameter - space
    let name =
      room < 2 * design.nameSize
      ? nil
      : fitting(room) {
        .name(
          person.words.name, fallback: person.words.fallback, icon: person.icon, fontSize: design.nameSize,
          maximumWidth: $0)
      }
    let disc = disc(of: person, diameter: diameter, &tile)
    // Without room for a name, the disc in the middle.
    let x = name == nil ? ((design.width - diameter) / 2) & ~1 : inset
    if let disc {
      let y = ((design.height - disc.height) / 2) & ~1
      tile.stamps.append(PlacedStamp(stamp: disc, x: x, y: y))
    }
    if let name {
      tile.stamps.append(
        PlacedStamp(stamp: name, x: x + diameter + space, y: ((design.height - name.height) / 2) & ~1))
    }
  }

  private func addMarks(_ paint: TilePaint, _ design: TileDesign, _ tile: inout Tile) {
    guard paint.layer.look.marks, paint.isPinned || paint.isLowBandwidth, let size = design.markSize,
      let stamp = stamp(.marks(isPinned: paint.isPinned, isLowBandwidth: paint.isLowBandwidth, size: size))
    else { return }
    let x = (design.width - design.margin - stamp.width) & ~1
    tile.stamps.append(PlacedStamp(stamp: stamp, x: x, y: design.margin))
  }

  private func disc(of person: Person, diameter: Int, _ tile: inout Tile) -> Stamp? {
    if let avatar = person.avatar, images != nil {
      if let stamp = stamp(.portrait(avatar, diameter: diameter)) { return stamp }
      tile.awaitsImage = true
    }
    return stamp(.initials(person.words.initials, colour: person.colour, diameter: diameter))
  }

  private func addCentred(_ stamp: Stamp?, middle: Int, _ design: TileDesign, _ tile: inout Tile) {
    guard let stamp else { return }
    let x = ((design.width - stamp.width) / 2) & ~1
    tile.stamps.append(PlacedStamp(stamp: stamp, x: x, y: (middle - stamp.height / 2) & ~1))
  }

  /// A stamp as wide as its words, or, when that is too much, shortened to a width that changes in steps, so that a
  /// tile that grows doesn't need a new stamp in every frame.
  private func fitting(_ width: Int, _ key: (Int) -> StampKey) -> Stamp? {
    guard let natural = stamp(key(whole.width)), natural.width > width else { return stamp(key(whole.width)) }
    return stamp(key(width > 64 ? width - width % 16 : width))
  }

  private func words(of paint: TilePaint) -> NameWords {
    let identity = paint.layer.key.participant?.rawValue ?? ""
    if let known = names[paint.name], !paint.name.isEmpty, known.fallback == identity { return known }
    let name = NameText.cleaned(paint.name)
    var initials = NameText.initials(name)
    if initials.isEmpty, paint.name.isEmpty { initials = NameText.initials(NameText.cleaned(identity)) }
    let words = NameWords(name: name, initials: initials, fallback: identity)
    if names.count >= 256 { names.removeAll(keepingCapacity: true) }
    names[paint.name] = words
    return words
  }

  private func mask(_ radius: Int) -> CornerMask {
    if let known = masks[radius] { return known }
    if masks.count >= 128 { masks.removeAll(keepingCapacity: true) }
    let mask = CornerMask(radius: radius)
    masks[radius] = mask
    return mask
  }

  private func colourRow(_ colour: Colour) -> ColourRow {
    if let known = colourRows[colour] { return known }
    if colourRows.count >= 64 { colourRows.removeAll(keepingCapacity: true) }
    let row = ColourRow(colour, width: whole.width)
    colourRows[colour] = row
    return row
  }
}

extension Tile {
  /// Makes the ring round the disc as wide as the level.
  fileprivate mutating func setLevelRing(_ compositor: PictureCompositor) {
    levelRing = nil
    guard levelStep > 0, let disc,
      let stamp = compositor.stamp(.levelRing(disc.colour, diameter: disc.diameter, step: levelStep))
    else { return }
    levelRing = PlacedStamp(stamp: stamp, x: (disc.x - stamp.width / 2) & ~1, y: (disc.y - stamp.height / 2) & ~1)
  }
}
