import MediaCore

/// Applies a layout to the room, and keeps who sits where from one arrangement to the next, so that a tile never
/// changes its place without cause. Pure: the same views in the same order give the same arrangements, and a view that
/// is the same as the one before changes nothing.
public struct Arranger: Sendable {
  /// The layout in force.
  public private(set) var layout: Layout
  /// The size of the recorded picture.
  public let canvas: CanvasSize
  private var memory: [Place: Memory] = [:]
  private var rule: (any ArrangementRule)?

  private struct Place: Hashable {
    var scene: Int
    var region: Int
  }

  private struct Memory {
    var seats = Seats()
    /// Of the small cards of people without video.
    var small = Seats()
    var table = TableSeats()
  }

  /// Starts with an empty room. A rule, when there is one, says where everything is instead of the layout's
  /// own.
  public init(layout: Layout, canvas: CanvasSize, rule: (any ArrangementRule)? = nil) {
    self.layout = layout
    self.canvas = canvas
    self.rule = rule
  }

  /// Changes the layout. Seats are kept when the scenes are the same (another theme, another title).
  public mutating func setLayout(_ layout: Layout) {
    if layout.scenes != self.layout.scenes {
      memory = [:]
      rule = nil
    }
    self.layout = layout
  }

  /// Where everything is now.
  public mutating func arrange(_ view: RoomView) -> Arrangement {
    if let rule { return rule.arrangement(of: view, layout) }
    let roster = Roster(view)
    var result = Arrangement(background: layout.background, overlays: layout.overlays)
    guard let number = layout.scenes.firstIndex(where: { roster.holds($0.when, canvas: canvas) }) else {
      return result
    }
    let scene = layout.scenes[number]
    result.scene = scene.name
    var placed = Set<TileKey>()
    var layers: [(region: Int, layer: VideoLayer)] = []
    for (index, region) in scene.regions.enumerated() {
      guard let rect = region.rect(on: canvas) else { continue }
      var memory = memory[Place(scene: number, region: index)] ?? Memory()
      var work = RegionWork(region: region, rect: rect, canvas: canvas, roster: roster)
      let candidates = work.candidates(placed: placed)
      switch region.cells {
      case .table:
        memory.table.seat(candidates.map(\.key), region: region)
        work.fill(memory.table)
      case .flow, .steady:
        work.fill(candidates, seats: &memory.seats, small: &memory.small)
      }
      self.memory[Place(scene: number, region: index)] = memory
      if let background = region.background {
        let look = TileLook(name: .none, ground: background)
        layers.append((index, VideoLayer(key: .empty(index), rect: rect, z: region.z, look: look, region: region.name)))
      }
      for layer in work.layers {
        layers.append((index, layer))
        placed.insert(layer.key)
      }
      if let turn = work.nextPage { result.validUntil = min(result.validUntil ?? turn, turn) }
    }
    // Stable: regions of one height in their order, tiles of a region in theirs.
    let sorted = layers.enumerated().sorted { a, b in
      (a.element.layer.z, a.offset) < (b.element.layer.z, b.offset)
    }.map(\.element.layer)
    for layer in sorted {
      // A ground is painted only where something else would show.
      if case .empty = layer.key, layer.look.ground.map({ layout.background == .color($0) }) ?? false,
        !result.layers.contains(where: { $0.rect.overlaps(layer.rect) })
      {
        continue
      }
      result.layers.append(layer)
    }
    return result
  }
}

/// The tiles of one region.
private struct RegionWork {
  let region: Region
  let rect: PixelRect
  let canvas: CanvasSize
  let roster: Roster
  private(set) var layers: [VideoLayer] = []
  private(set) var nextPage: SessionTime?

  init(region: Region, rect: PixelRect, canvas: CanvasSize, roster: Roster) {
    self.region = region
    self.rect = rect
    self.canvas = canvas
    self.roster = roster
  }

  private var shortSide: Int { min(canvas.width, canvas.height) }

  func candidates(placed: Set<TileKey>) -> [Roster.Candidate] {
    let all = roster.candidates(for: region, placed: placed)
    switch region.withoutVideo {
    case .card, .small: return all
    case .none: return all.filter(\.source.hasPicture)
    case .empty: return all.filter(\.source.isPublished)
    }
  }

  // MARK: Tables

  mutating func fill(_ table: TableSeats) {
    let grid = CellGrid(region: region, rect: rect, canvas: canvas)
    let rects = grid.table(rows: table.rows, columns: table.columns)
    for (rect, keys) in zip(rects, table.cells) where grid.contains(rect) {
      let present = keys.filter { roster.index[$0] != nil }
      guard let key = region.overflow == .reuseNewest ? present.last : present.first,
        let source = roster.index[key].map({ roster.sources[$0] }),
        source.hasPicture || region.withoutVideo != .empty
      else { continue }
      add(key, source, in: rect)
    }
  }

  // MARK: Flowing tiles

  mutating func fill(_ candidates: [Roster.Candidate], seats: inout Seats, small: inout Seats) {
    var candidates = candidates
    var rect = rect
    if region.withoutVideo == .small, let strip = smallStrip(for: candidates) {
      rect.height -= strip.height + gap
      fillSmall(candidates.filter { !$0.source.hasPicture }, in: strip, seats: &small)
      candidates.removeAll { !$0.source.hasPicture }
    } else {
      small.seat([])
    }
    let grid = CellGrid(region: region, rect: rect, canvas: canvas)
    let capacity = grid.capacity(for: region.cells == .steady ? grid.limit : candidates.count)
    if region.overflow == .page, candidates.count > capacity {
      turnPages(candidates, capacity: capacity, grid: grid)
      seats.seat([])
      return
    }
    let (shown, hidden) = choose(candidates, capacity: capacity)
    seat(shown, &seats)
    var keys = seats.keys
    if hidden > 0, region.overflow == .count, capacity > 1 { keys.append(.overflow(hidden)) }
    let shape = grid.shape(for: region.cells == .steady ? capacity : keys.count)
    for (key, rect) in zip(keys, grid.rects(shape, count: keys.count)) {
      add(key, roster.index[key].map { roster.sources[$0] }, in: rect)
    }
  }

  private var gap: Int { region.gap.evenPixels(along: shortSide, of: canvas) }

  private func choose(
    _ candidates: [Roster.Candidate], capacity: Int
  ) -> (shown: [Roster.Candidate], hidden: Int) {
    guard candidates.count > capacity else { return (candidates, 0) }
    // One place is for the number of those left out, unless there is only one.
    let places = region.overflow == .count && capacity > 1 ? capacity - 1 : capacity
    let order: Order = region.order
    if region.overflow == .reuseNewest {
      // The last to come are shown; the pinned before them, the talker in any case.
      var newest = Array(
        candidates.sorted { ($0.isHeld ? 0 : 1, -$0.joined) < ($1.isHeld ? 0 : 1, -$1.joined) }.prefix(places))
      if capacity > 1, let talker = candidates.first(where: { $0.key == roster.talker }),
        !newest.contains(where: { $0.key == talker.key }), let oldest = newest.lastIndex(where: { !$0.isHeld })
      {
        newest[oldest] = talker
      }
      let shown = Set(newest.map(\.joined))
      return (candidates.filter { shown.contains($0.joined) }, candidates.count - places)
    }
    let chosen = roster.chosen(candidates, capacity: places, order: order, keepsTalker: capacity > 1)
    return (chosen, candidates.count - places)
  }

  private func seat(_ shown: [Roster.Candidate], _ seats: inout Seats) {
    switch region.order {
    case .name: seats.seat(exactly: shown.map(\.key))
    case .joined, .talking: seats.seat(shown.map(\.key))
    case .listed:
      seats.seat(shown.map(\.key))
      let terms = Dictionary(shown.map { ($0.key, $0.term) }) { first, _ in first }
      seats.seat(
        exactly: seats.keys.enumerated().sorted { a, b in
          (terms[a.element] ?? 0, a.offset) < (terms[b.element] ?? 0, b.offset)
        }.map(\.element))
    }
  }

  private mutating func turnPages(_ candidates: [Roster.Candidate], capacity: Int, grid: CellGrid) {
    let pages = (candidates.count + capacity - 1) / capacity
    // Pages as even as possible rather than a full one and a nearly empty one.
    let length = (candidates.count + pages - 1) / pages
    let turn = max(region.pageTime.nanoseconds, 1_000_000)
    let count = max(roster.view.time.nanoseconds, 0) / turn
    nextPage = SessionTime(nanoseconds: (count &+ 1) &* turn)
    let page = Int(count % Int64(pages))
    var shown = Array(candidates[(page * length)..<min((page + 1) * length, candidates.count)])
    if let talker = candidates.first(where: { $0.key == roster.talker }), !shown.isEmpty,
      !shown.contains(where: { $0.key == talker.key })
    {
      shown[shown.count - 1] = talker
    }
    let shape = grid.shape(for: region.cells == .steady ? capacity : length)
    for (candidate, rect) in zip(shown, grid.rects(shape, count: shown.count)) {
      add(candidate.key, candidate.source, in: rect)
    }
  }

  // MARK: Small cards

  /// The strip along the lower edge, when some have video and some don't, and there is room for it.
  private func smallStrip(for candidates: [Roster.Candidate]) -> PixelRect? {
    let pictures = candidates.count { $0.source.hasPicture }
    guard pictures > 0, pictures < candidates.count else { return nil }
    let height = max(16, Length.milliUnits(2_200).evenPixels(along: shortSide, of: canvas))
    guard rect.height >= 4 * (height + gap), rect.width >= 10 * height + gap else { return nil }
    return PixelRect(x: rect.x, y: rect.y + rect.height - height, width: rect.width, height: height)
  }

  private mutating func fillSmall(_ people: [Roster.Candidate], in strip: PixelRect, seats: inout Seats) {
    var rules = region
    rules.cells = .steady
    rules.maximumRows = 1
    rules.maximumColumns = nil
    rules.maximumTiles = max(1, (strip.width + gap) / (5 * strip.height + gap))
    rules.smallestTile = TileSize(width: 2, height: 2)
    rules.shape = ShapeRange(.init(1, 1), .init(5, 1))
    let grid = CellGrid(region: rules, rect: strip, canvas: canvas)
    let capacity = grid.limit
    let places = people.count > capacity && capacity > 1 ? capacity - 1 : capacity
    let shown =
      people.count > capacity ? roster.chosen(people, capacity: places, order: region.order, keepsTalker: true) : people
    seats.seat(shown.map(\.key))
    var keys = seats.keys
    if shown.count < people.count, capacity > 1 { keys.append(.overflow(people.count - shown.count)) }
    for (key, rect) in zip(keys, grid.rects(grid.shape(for: capacity), count: keys.count)) {
      add(key, roster.index[key].map { roster.sources[$0] }, in: rect, isSmall: true)
    }
  }

  // MARK: Layers

  private mutating func add(_ key: TileKey, _ source: LayoutSource?, in cell: PixelRect, isSmall: Bool = false) {
    let rule = key.isScreenShare ? region.screenFit : region.cameraFit
    var rect = cell
    if let source, source.hasPicture, !isSmall {
      rect = rule.tile(width: source.pictureWidth, height: source.pictureHeight, in: cell)
    }
    let radius = region.cornerRadius.evenPixels(along: shortSide, of: canvas)
    let side = min(rect.width, rect.height)
    var look = region.look
    if isSmall { look.smallCard = true }
    let border = region.border.map { border in
      Border(
        width: min(border.width.evenPixels(along: shortSide, of: canvas), max(2, even(side / 4))), color: border.color)
    }
    layers.append(
      VideoLayer(
        key: key, rect: rect,
        fit: source.map { rule.fit(width: $0.pictureWidth, height: $0.pictureHeight, in: rect) } ?? .cover,
        cornerRadius: min(radius, even(side / (isSmall ? 2 : 8))), z: region.z,
        isLarge: isLarge(cell), border: border, look: look, region: region.name))
  }

  /// A place for one alone that takes a quarter of the canvas or more.
  private func isLarge(_ rect: PixelRect) -> Bool {
    CellGrid(region: region, rect: self.rect, canvas: canvas).limit == 1
      && 4 * rect.width * rect.height >= canvas.width * canvas.height
  }
}
