/// Arranges `sources` (in the order of joining) on the canvas. Pure: the same arguments give the same layers.
///
/// - Parameters:
///   - layout: which arrangement.
///   - canvas: the size of the recorded picture.
///   - sources: who wants a tile. A key that occurs twice counts once.
///   - talker: the active talker, as the caller's policy decided; always visible when among the sources.
/// - Returns: the tiles, the large one first; nothing overlaps, everything is even and inside the canvas. Empty when
///   there are no sources.
public func arrange(
  layout: LayoutName, canvas: CanvasSize, sources: [LayoutSource], talker: TileKey? = nil
) -> [VideoLayer] {
  var seen = Set<TileKey>()
  let sources = sources.filter { seen.insert($0.key).inserted }
  let metrics = Metrics(canvas: canvas)
  let share = sources.firstIndex { $0.key.isScreenShare }
  switch layout {
  case .grid where share == nil:
    return Grid(metrics: metrics).layers(of: sources, talker: talker)
  case .grid, .speaker:
    return Stage(metrics: metrics).layers(of: sources, share: share, talker: talker)
  }
}

/// Lengths that follow from the canvas alone.
struct Metrics {
  let canvas: CanvasSize
  /// Between tiles, and between tiles and the canvas' edges: 12 at 720 lines.
  let gap: Int

  init(canvas: CanvasSize) {
    self.canvas = canvas
    gap = max(2, even(min(canvas.width, canvas.height) / 60))
  }

  /// The canvas without its margin.
  var inner: PixelRect {
    PixelRect(x: gap, y: gap, width: canvas.width - 2 * gap, height: canvas.height - 2 * gap)
  }

  /// Corner radius that suits a tile: as wide as the gap, less in small tiles.
  func cornerRadius(_ rect: PixelRect) -> Int { min(gap, even(min(rect.width, rect.height) / 8)) }

  func layer(_ key: TileKey, in rect: PixelRect, source: LayoutSource?, isLarge: Bool = false) -> VideoLayer {
    VideoLayer(
      key: key, rect: rect, fit: source.map { suitableFit($0, in: rect) } ?? .cover,
      cornerRadius: cornerRadius(rect), isLarge: isLarge)
  }
}

/// Rounds down to an even number.
func even(_ length: Int) -> Int { length & ~1 }

/// Shared screens are shown whole, cameras fill their tile, unless more than a third of the picture would be cut off
/// (a phone held upright in a wide tile).
func suitableFit(_ source: LayoutSource, in rect: PixelRect) -> Fit {
  if source.key.isScreenShare { return .contain }
  guard (1...65_535).contains(source.pictureWidth), (1...65_535).contains(source.pictureHeight) else { return .cover }
  let a = source.pictureWidth * rect.height
  let b = source.pictureHeight * rect.width
  return 2 * max(a, b) <= 3 * min(a, b) ? .cover : .contain
}

/// Which of `sources` get one of `capacity` places when there are too many: those with a picture first, then in the
/// order of joining. They are returned in the order of joining. A `wanted` source that would be left out takes the
/// place of the last one chosen, so that nobody else moves.
func visible(_ sources: [LayoutSource], capacity: Int, wanted: TileKey?) -> [LayoutSource] {
  guard sources.count > capacity else { return sources }
  guard capacity > 0 else { return [] }
  let ranked = sources.indices.filter { sources[$0].hasPicture } + sources.indices.filter { !sources[$0].hasPicture }
  let chosen = ranked.prefix(capacity)
  guard let wanted = sources.firstIndex(where: { $0.key == wanted }), !chosen.contains(wanted), let last = chosen.last
  else { return chosen.sorted().map { sources[$0] } }
  return chosen.sorted().map { sources[$0 == last ? wanted : $0] }
}
