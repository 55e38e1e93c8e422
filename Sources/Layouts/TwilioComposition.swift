import MediaCore

/// A composition whose sources' times are all known beforehand: the cells as Twilio's compositions assign them. While
/// a recording runs, when somebody will leave is not known; then `Arranger` applies the rule that comes nearest.
///
/// Pieces of one source that was published several times count as one, from the earliest start to the latest stop.
public struct TwilioComposition: ArrangementRule {
  /// Something that was published for a time.
  public struct Source: Hashable, Sendable {
    /// What it is, with the names that selectors look at.
    public var source: LayoutSource
    /// When it was first published.
    public var start: SessionTime
    /// When it was last unpublished; not before `start`.
    public var stop: SessionTime

    /// Makes a source; a `stop` before `start` becomes `start`.
    public init(_ source: LayoutSource, start: SessionTime, stop: SessionTime) {
      self.source = source
      self.start = start
      self.stop = max(start, stop)
    }
  }

  /// The table of one region.
  public struct Table: Hashable, Sendable {
    /// The region's name.
    public var region: String
    /// Fixed for the whole composition.
    public var rows: Int
    /// Fixed for the whole composition.
    public var columns: Int
    /// Who has which cell, in the order of starting; cells are counted from 0 by rows. A source that found none is
    /// not among them.
    public var assignments: [Assignment]
  }

  /// A source's cell.
  public struct Assignment: Hashable, Sendable {
    /// The source that it shows.
    public var key: TileKey
    /// Its cell, for its whole life.
    public var cell: Int
    /// As given.
    public var start: SessionTime
    /// As given.
    public var stop: SessionTime
  }

  /// One for each region, in the layout's order.
  public let tables: [Table]
  private let regions: [Region]
  private let sources: [TileKey: LayoutSource]
  private let canvas: CanvasSize

  /// Works out the tables of a layout's last scene (the only one of a `video_layout`).
  public init(layout: Layout, canvas: CanvasSize, sources: [Source]) {
    var merged: [Source] = []
    for source in sources {
      if let index = merged.firstIndex(where: { $0.source.key == source.source.key }) {
        merged[index].start = min(merged[index].start, source.start)
        merged[index].stop = max(merged[index].stop, source.stop)
      } else {
        merged.append(source)
      }
    }
    let roster = Roster(RoomView(sources: merged.map(\.source)))
    regions = layout.scenes.last?.regions ?? []
    tables = regions.map { region in
      let chosen = Set(roster.candidates(for: region, placed: []).map(\.key))
      return TwilioComposition.table(region, merged.filter { chosen.contains($0.source.key) })
    }
    self.sources = Dictionary(merged.map { ($0.source.key, $0.source) }) { first, _ in first }
    self.canvas = canvas
  }

  /// The tiles at an instant, in the order of painting. A source is on show from its start until, not at, its stop.
  public func layers(at time: SessionTime) -> [VideoLayer] {
    var layers: [VideoLayer] = []
    for (number, (region, table)) in zip(regions, tables).enumerated() {
      guard let rect = region.rect(on: canvas) else { continue }
      if let background = region.background {
        layers.append(
          VideoLayer(
            key: .empty(number), rect: rect, z: region.z, look: TileLook(name: .none, ground: background),
            region: region.name))
      }
      let grid = CellGrid(region: region, rect: rect, canvas: canvas)
      let cells = grid.table(rows: table.rows, columns: table.columns)
      for (cell, rect) in cells.enumerated() where grid.contains(rect) {
        let present = table.assignments.filter { $0.cell == cell && $0.start <= time && time < $0.stop }
        guard let shown = region.overflow == .reuseNewest ? present.last : present.first else { continue }
        layers.append(
          VideoLayer(
            key: shown.key, rect: rect,
            fit: sources[shown.key].map {
              region.cameraFit.fit(width: $0.pictureWidth, height: $0.pictureHeight, in: rect)
            } ?? .contain, z: region.z, look: region.look, region: region.name))
      }
    }
    return layers.enumerated().sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
  }

  /// The tiles at the instant of a view. A cell whose source has no picture then is black.
  public func arrangement(of view: RoomView, _ layout: Layout) -> Arrangement {
    let pictures = Set(view.sources.lazy.filter(\.hasPicture).map(\.key))
    let changes = tables.lazy.flatMap(\.assignments).flatMap { [$0.start, $0.stop] }
    return Arrangement(
      scene: layout.scenes.last?.name ?? "",
      layers: layers(at: view.time).filter { $0.key.participant == nil || pictures.contains($0.key) },
      background: layout.background, overlays: layout.overlays, validUntil: changes.filter { $0 > view.time }.min())
  }

  private static func table(_ region: Region, _ sources: [Source]) -> Table {
    let count =
      region.overflow.isReuse
      ? sources.map { one in sources.count { $0.start <= one.start && one.start < $0.stop || $0 == one } }.max() ?? 0
      : sources.count
    let needed = TableSize.needed(for: count, excluding: region.cellsExcluded)
    let size = TableSize(rows: region.maximumRows, columns: region.maximumColumns, cells: needed, isLive: false)
    /// When each usable cell is free again; nil: never used.
    var free: [Int: SessionTime?] = [:]
    let excluded = Set(region.cellsExcluded)
    for cell in 0..<(size.rows * size.columns) where !excluded.contains(cell) { free.updateValue(nil, forKey: cell) }
    var table = Table(region: region.name, rows: size.rows, columns: size.columns, assignments: [])
    let order = sources.indices.sorted {
      (sources[$0].start, sources[$0].stop, $0) < (sources[$1].start, sources[$1].stop, $1)
    }
    for source in order.map({ sources[$0] }) {
      let usable = free.keys.sorted()
      let cell =
        usable.first { index in
          guard let until = free[index] ?? nil else { return true }
          return region.overflow.isReuse && until <= source.start
        } ?? (region.overflow.isReuse ? usable.min { a, b in stop(of: a, free) < stop(of: b, free) } : nil)
      guard let cell else { continue }
      free.updateValue(max(stop(of: cell, free), source.stop), forKey: cell)
      table.assignments.append(
        Assignment(key: source.source.key, cell: cell, start: source.start, stop: source.stop))
    }
    return table
  }

  private static func stop(of cell: Int, _ free: [Int: SessionTime?]) -> SessionTime {
    (free[cell] ?? nil) ?? SessionTime.distantPast
  }
}
