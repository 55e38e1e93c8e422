/// Tiles of one size in rows; the last row is centred.
struct Grid {
  let metrics: Metrics

  /// More people than this are never shown at once: smaller faces say nothing.
  static let maximumTiles = 25
  /// The smallest tile in which a name can be read.
  static let minimumTile = (width: 96, height: 54)

  struct Shape: Equatable {
    var columns: Int
    var rows: Int
    var width: Int
    var height: Int
    var area: Int { width * height }
  }

  func layers(of sources: [LayoutSource], talker: TileKey?) -> [VideoLayer] {
    guard !sources.isEmpty else { return [] }
    let capacity = capacity(for: sources.count)
    let shown = visible(sources, capacity: sources.count > capacity ? capacity - 1 : capacity, wanted: talker)
    var cells = shown.map { (key: $0.key, source: LayoutSource?.some($0)) }
    if shown.count < sources.count { cells.append((.overflow(sources.count - shown.count), nil)) }
    let shape = shape(for: cells.count)
    return zip(cells, rects(shape, count: cells.count)).map { metrics.layer($0.key, in: $1, source: $0.source) }
  }

  /// How many tiles may be shown for `count` sources; at least 4.
  func capacity(for count: Int) -> Int {
    var capacity = min(count, Grid.maximumTiles)
    while capacity > 4 {
      let shape = shape(for: capacity)
      if shape.width >= Grid.minimumTile.width, shape.height >= Grid.minimumTile.height { break }
      capacity -= 1
    }
    return max(capacity, min(count, 4))
  }

  /// The number of columns that gives the largest tiles.
  func shape(for count: Int) -> Shape {
    var best = shape(for: count, columns: 1)
    for columns in 1...max(1, count) {
      let candidate = shape(for: count, columns: columns)
      if candidate.area > best.area { best = candidate }
    }
    return best
  }

  /// Tiles fill their cell as long as that keeps them near 16:9: no wider than 19:10, no narrower than 3:2 (4:3 on
  /// portrait canvases, where height is plenty). A 16:9 picture then loses at most a sixth (a quarter) of its width.
  private func shape(for count: Int, columns: Int) -> Shape {
    let inner = metrics.inner
    let rows = (count + columns - 1) / columns
    let cellWidth = max(2, even((inner.width - (columns - 1) * metrics.gap) / columns))
    let cellHeight = max(2, even((inner.height - (rows - 1) * metrics.gap) / rows))
    let width = min(cellWidth, cellHeight * 19 / 10)
    let height = min(cellHeight, metrics.canvas.isPortrait ? cellWidth * 3 / 4 : cellWidth * 2 / 3)
    return Shape(columns: columns, rows: rows, width: max(2, even(width)), height: max(2, even(height)))
  }

  private func rects(_ shape: Shape, count: Int) -> [PixelRect] {
    let gap = metrics.gap
    let blockHeight = shape.rows * (shape.height + gap) - gap
    let top = even((metrics.canvas.height - blockHeight) / 2)
    return (0..<count).map { index in
      let row = index / shape.columns
      let inRow = min(shape.columns, count - row * shape.columns)
      let left = even((metrics.canvas.width - (inRow * (shape.width + gap) - gap)) / 2)
      return PixelRect(
        x: left + index % shape.columns * (shape.width + gap), y: top + row * (shape.height + gap),
        width: shape.width, height: shape.height)
    }
  }
}
