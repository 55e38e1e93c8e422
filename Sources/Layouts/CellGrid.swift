/// The places of a region's tiles: rows and columns in a rectangle.
struct CellGrid {
  let rect: PixelRect
  let gap: Int
  let region: Region
  let shapes: ShapeRange

  init(region: Region, rect: PixelRect, canvas: CanvasSize) {
    self.region = region
    self.rect = rect
    gap = region.gap.evenPixels(along: min(canvas.width, canvas.height), of: canvas)
    shapes = region.shape ?? (canvas.isPortrait ? .portrait : .landscape)
  }

  struct Shape: Equatable {
    var columns: Int
    var rows: Int
    var width: Int
    var height: Int
    var area: Int { width * height }
  }

  /// How many tiles the region allows, whatever their size.
  var limit: Int {
    let tiles = min(max(region.maximumTiles, 1), 100)
    guard region.maximumRows != nil || region.maximumColumns != nil else { return tiles }
    return min(tiles, min(max(region.maximumRows ?? 100, 1), 100) * min(max(region.maximumColumns ?? 100, 1), 100))
  }

  /// How many of `count` tiles have room without being too small; two at least, where the region allows two.
  func capacity(for count: Int) -> Int {
    var capacity = min(max(count, 1), limit)
    while capacity > 2 {
      let shape = shape(for: capacity)
      if shape.width >= region.smallestTile.width, shape.height >= region.smallestTile.height { break }
      capacity -= 1
    }
    // Two tiles of two pixels need four.
    if capacity == 2 {
      let shape = shape(for: 2)
      if shape.columns * shape.width > rect.width || shape.rows * shape.height > rect.height { return 1 }
    }
    return capacity
  }

  /// The number of columns that gives the largest tiles.
  func shape(for count: Int) -> Shape {
    let count = max(1, count)
    var best: Shape?
    for columns in 1...min(count, max(region.maximumColumns ?? count, 1)) {
      let rows = (count + columns - 1) / columns
      if let limit = region.maximumRows, rows > max(limit, 1) { continue }
      let candidate = shape(columns: columns, rows: rows)
      if candidate.area > best?.area ?? 0 { best = candidate }
    }
    return best ?? shape(columns: 1, rows: 1)
  }

  /// Tiles fill their cell as far as their shape stays in the region's range.
  private func shape(columns: Int, rows: Int) -> Shape {
    let cellWidth = max(2, even((rect.width - (columns - 1) * gap) / columns))
    let cellHeight = max(2, even((rect.height - (rows - 1) * gap) / rows))
    let width = min(cellWidth, cellHeight * shapes.widest.width / shapes.widest.height)
    let height = min(cellHeight, cellWidth * shapes.narrowest.height / shapes.narrowest.width)
    return Shape(columns: columns, rows: rows, width: max(2, even(width)), height: max(2, even(height)))
  }

  /// The places of `count` tiles of a shape made for at least as many.
  func rects(_ shape: Shape, count: Int) -> [PixelRect] {
    let usedRows = (count + shape.columns - 1) / shape.columns
    let column = Spread(
      room: rect.width, cell: shape.width, gap: gap, count: shape.columns, alignment: region.horizontalAlignment)
    let row = Spread(
      room: rect.height, cell: shape.height, gap: gap, count: shape.rows, alignment: region.verticalAlignment)
    return (0..<count).map { index in
      let rowIndex = index / shape.columns
      let inRow = min(shape.columns, count - rowIndex * shape.columns)
      return PixelRect(
        x: rect.x + column.position(index % shape.columns, of: inRow), y: rect.y + row.position(rowIndex, of: usedRows),
        width: shape.width, height: shape.height)
    }
  }

  /// True for a cell of a table for which there is room. A region has never less room than its layout's author saw,
  /// but may on a smaller canvas.
  func contains(_ cell: PixelRect) -> Bool {
    cell.x >= rect.x && cell.y >= rect.y && cell.x + cell.width <= rect.x + rect.width
      && cell.y + cell.height <= rect.y + rect.height
  }

  /// The cells of a table: equal, next to each other, what is left by rounding outside.
  func table(rows: Int, columns: Int) -> [PixelRect] {
    let width = max(2, even((rect.width - (columns - 1) * gap) / columns))
    let height = max(2, even((rect.height - (rows - 1) * gap) / rows))
    let left = rect.x + max(0, even((rect.width - (columns * (width + gap) - gap)) / 2))
    let top = rect.y + max(0, even((rect.height - (rows * (height + gap) - gap)) / 2))
    return (0..<(rows * columns)).map { index in
      PixelRect(
        x: left + index % columns * (width + gap), y: top + index / columns * (height + gap), width: width,
        height: height)
    }
  }
}

/// The places of equal cells along one side of a rectangle.
private struct Spread {
  let room: Int
  let cell: Int
  let gap: Int
  let count: Int
  let alignment: Alignment

  /// True when the cells fill the side but for what rounding leaves: then that goes into the gaps, so that the outer
  /// cells touch both ends.
  private var isFull: Bool { count > 1 && room - (count * (cell + gap) - gap) < 2 * count }

  /// The beginning of a cell when `used` of `count` are in use.
  func position(_ index: Int, of used: Int) -> Int {
    if isFull, used == count { return even(index * (room - cell) / (count - 1)) }
    let step = isFull ? even((room - cell) / (count - 1)) : cell + gap
    let rest = room - ((used - 1) * step + cell)
    let start =
      switch alignment {
      case .start: 0
      case .center: rest / 2
      case .end: rest
      }
    return even(max(0, start)) + index * step
  }
}
