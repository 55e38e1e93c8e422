/// One tile large, the others in a strip: at the right, or at the bottom of a portrait canvas.
///
/// Everybody has a place in the strip by the order of joining, except the first, whose place is the large one. Whoever
/// takes the large place swaps with the first: so when the talker changes, nobody who isn't concerned moves.
struct Stage {
  let metrics: Metrics

  /// More than this are never in the strip at once.
  static let maximumCells = 5
  /// The smallest cell: height at the right, width at the bottom.
  static let minimumCell = (height: 72, width: 96)

  func layers(of sources: [LayoutSource], share: Int?, talker: TileKey?) -> [VideoLayer] {
    guard let first = sources.first else { return [] }
    guard sources.count > 1 else { return [alone(first)] }
    let large =
      share ?? sources.firstIndex { $0.key == talker } ?? sources.firstIndex { $0.hasPicture } ?? sources.startIndex
    var others = sources
    if share != nil {
      others.remove(at: large)
    } else {
      others.swapAt(0, large)
      others.removeFirst()
    }
    let strip = strip
    let shown = visible(
      others, capacity: others.count > strip.capacity ? strip.capacity - 1 : strip.capacity, wanted: talker)
    var cells = shown.map { (key: $0.key, source: LayoutSource?.some($0)) }
    if shown.count < others.count { cells.append((.overflow(others.count - shown.count), nil)) }
    return [metrics.layer(sources[large].key, in: strip.large, source: sources[large], isLarge: true)]
      + zip(cells, strip.rects(count: cells.count)).map { metrics.layer($0.key, in: $1, source: $0.source) }
  }

  /// Somebody alone fills the canvas to its edges.
  private func alone(_ source: LayoutSource) -> VideoLayer {
    let rect = PixelRect(x: 0, y: 0, width: metrics.canvas.width, height: metrics.canvas.height)
    return VideoLayer(key: source.key, rect: rect, fit: suitableFit(source, in: rect), isLarge: true)
  }

  private struct Strip {
    var large: PixelRect
    var capacity: Int
    var cell: PixelRect
    /// From one cell to the next: a full strip is as long as the large tile, so what is left by rounding is in the gaps.
    var step: (x: Int, y: Int)
    var room: Int

    /// Cells keep their size however many there are; few are centred.
    func rects(count: Int) -> [PixelRect] {
      let step = max(step.x, step.y)
      let length = count * step - (step - (self.step.x > 0 ? cell.width : cell.height))
      let start = even((room - length) / 2)
      return (0..<count).map { index in
        var rect = cell
        if self.step.x > 0 { rect.x += start + index * step } else { rect.y += start + index * step }
        return rect
      }
    }
  }

  private var strip: Strip {
    let (inner, gap) = (metrics.inner, metrics.gap)
    if metrics.canvas.isPortrait {
      let count = Stage.cells(in: inner.width, gap: gap, minimum: Stage.minimumCell.width)
      let width = max(2, even((inner.width - (count - 1) * gap) / count))
      let height = max(2, even(min(width, inner.height / 4)))
      let top = metrics.canvas.height - gap - height
      return Strip(
        large: PixelRect(x: gap, y: gap, width: inner.width, height: top - 2 * gap), capacity: count,
        cell: PixelRect(x: gap, y: top, width: width, height: height),
        step: (even((inner.width - width) / (count - 1)), 0), room: inner.width)
    }
    let count = Stage.cells(in: inner.height, gap: gap, minimum: Stage.minimumCell.height)
    let height = max(2, even((inner.height - (count - 1) * gap) / count))
    let width = max(2, even(min(height * 8 / 5, inner.width / 4)))
    let left = metrics.canvas.width - gap - width
    return Strip(
      large: PixelRect(x: gap, y: gap, width: left - 2 * gap, height: inner.height), capacity: count,
      cell: PixelRect(x: left, y: gap, width: width, height: height),
      step: (0, even((inner.height - height) / (count - 1))), room: inner.height)
  }

  private static func cells(in length: Int, gap: Int, minimum: Int) -> Int {
    min(max((length + gap) / (minimum + gap), 2), maximumCells)
  }
}
