/// Who sits where in a region, from one arrangement to the next: nobody changes place because of others who come or go,
/// except to close gaps.
struct Seats: Hashable, Sendable {
  private(set) var keys: [TileKey] = []

  /// Seats those who are chosen: who was there keeps the place; who comes takes the place of one who left, else the
  /// next; places that stay empty are closed.
  mutating func seat(_ chosen: [TileKey]) {
    let wanted = Set(chosen)
    let seated = Set(keys)
    var entrants = chosen.filter { !seated.contains($0) }[...]
    var result: [TileKey] = []
    result.reserveCapacity(chosen.count)
    for key in keys {
      if wanted.contains(key) {
        result.append(key)
      } else if let entrant = entrants.popFirst() {
        result.append(entrant)
      }
    }
    keys = result + entrants
  }

  /// Seats them exactly so.
  mutating func seat(exactly chosen: [TileKey]) { keys = chosen }
}

/// Who has which cell of a table: a source keeps its cell as long as it is there.
struct TableSeats: Hashable, Sendable {
  /// Those who share a cell, in the order in which they came.
  private(set) var cells: [[TileKey]] = []
  private(set) var rows = 1
  private(set) var columns = 1
  private var most = 0
  /// Number of arrivals so far, and when each one came, in that count.
  private var arrivals = 0
  private var arrived: [TileKey: Int] = [:]
  private var turnedAway: Set<TileKey> = []

  /// Takes the present sources, in the region's order.
  mutating func seat(_ present: [TileKey], region: Region) {
    let wanted = Set(present)
    if region.overflow.isReuse {
      for index in cells.indices { cells[index].removeAll { !wanted.contains($0) } }
      for key in arrived.keys where !wanted.contains(key) { arrived[key] = nil }
    }
    // Without reuse a cell is never given to somebody else, and who found none has none for good.
    let known = region.overflow.isReuse ? 0 : arrived.keys.count { !wanted.contains($0) }
    most = max(most, TableSize.needed(for: present.count + known, excluding: region.cellsExcluded))
    let size = TableSize(rows: region.maximumRows, columns: region.maximumColumns, cells: most, isLive: true)
    (rows, columns) = (size.rows, size.columns)
    let excluded = Set(region.cellsExcluded)
    while cells.count < rows * columns { cells.append([]) }
    for key in present where arrived[key] == nil {
      guard let index = place(for: key, excluded: excluded, region: region) else { continue }
      cells[index].append(key)
      arrived[key] = arrivals
      arrivals += 1
    }
  }

  private mutating func place(for key: TileKey, excluded: Set<Int>, region: Region) -> Int? {
    let usable = (0..<(rows * columns)).filter { !excluded.contains($0) }
    guard !turnedAway.contains(key) else { return nil }
    if let free = usable.first(where: { cells[$0].isEmpty }) { return free }
    guard region.overflow.isReuse else {
      turnedAway.insert(key)
      return nil
    }
    // When those who are there will go cannot be known: the cell whose last arrival was longest ago is shared.
    return usable.min { lastArrival(in: $0) < lastArrival(in: $1) }
  }

  private func lastArrival(in cell: Int) -> Int { cells[cell].compactMap { arrived[$0] }.max() ?? -1 }
}

extension Overflow {
  /// True when sources share cells.
  var isReuse: Bool { self == .reuseOldest || self == .reuseNewest }
}

/// Rows and columns of a table, as Twilio's compositions have them.
struct TableSize: Hashable {
  let rows: Int
  let columns: Int

  /// - Parameters:
  ///   - rows: the limit; nil or 0: none.
  ///   - columns: the limit; nil or 0: none.
  ///   - cells: how many cells are needed, the excluded ones included.
  ///   - isLive: with both limits given, the table has its full size from the beginning, since who will come is not
  ///     known.
  init(rows maximumRows: Int?, columns maximumColumns: Int?, cells: Int, isLive: Bool) {
    let cells = min(max(cells, 1), 1000)
    func limit(_ value: Int?) -> Int? { value.flatMap { $0 > 0 ? min($0, 1000) : nil } }
    func quotient(_ divisor: Int) -> Int { (cells + divisor - 1) / divisor }
    switch (limit(maximumRows), limit(maximumColumns)) {
    case (nil, nil):
      // As near to a square as possible, and rather wide than high.
      var columns = 1
      while columns * columns < cells { columns += 1 }
      let rows = max(1, columns - 1)
      self.columns = columns
      self.rows = rows * columns < cells ? rows + 1 : rows
    case (let rows?, let columns?) where isLive:
      // A table of more than 1000 cells would have cells of a few pixels.
      self.columns = min(columns, 1000)
      self.rows = min(rows, max(1, 1000 / self.columns))
    case (let rows, let columns?) where columns <= rows ?? .max:
      self.columns = min(cells, columns)
      self.rows = min(quotient(columns), rows ?? .max)
    case (let rows, let columns):
      let rows = rows ?? 1
      self.rows = min(cells, rows)
      self.columns = min(quotient(rows), columns ?? .max)
    }
  }

  /// How many cells `count` sources need, those included that stay empty.
  static func needed(for count: Int, excluding excluded: [Int]) -> Int {
    var needed = count
    for index in Set(excluded).sorted() {
      guard index < needed else { break }
      needed += 1
    }
    return needed
  }
}
