import Layouts
import MediaCore

/// Paints tiles into one I420 picture: scaled pictures, cards, names, outlines. Confined to one thread.
///
/// Only tiles that are different from those of the call before are painted. Everything that is drawn (labels, cards,
/// corners) is drawn once and kept; a frame in which only pictures change allocates nothing.
public final class Compositor {
  /// The colours and the font.
  public let theme: Theme
  private let canvas: Picture
  private let whole: PixelRect
  private let artist: Artist
  private var cache = StampCache(limit: 16 << 20)
  private var video = VideoPainter()
  private var tiles: [Tile] = []
  /// Indices of `tiles` from the farthest to the nearest.
  private var order: [Int] = []
  private var hasOverlaps = false
  private var notice: String?

  private let background: (y: UInt8, u: UInt8, v: UInt8)
  private let ground: (y: UInt8, u: UInt8, v: UInt8)
  private let talker: (y: UInt8, u: UInt8, v: UInt8)

  /// Makes a compositor for pictures of one size.
  public init(canvas size: CanvasSize, theme: Theme = .dark) {
    self.theme = theme
    canvas = Picture(width: size.width, height: size.height)
    whole = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
    artist = Artist(theme: theme)
    background = theme.background.yuv
    ground = theme.tile.yuv
    talker = theme.talker.yuv
    canvas.fill(whole, background)
  }

  /// What `compose` gives.
  public struct Frame {
    /// The composed picture. It is the compositor's own, and the next `compose` paints over it: encode it before that,
    /// on the same thread, or copy it.
    public let picture: Picture
    /// False when nothing is different from the picture of the call before.
    public let isChanged: Bool
  }

  /// Paints what is different from the call before, and gives the whole picture.
  ///
  /// - Parameters:
  ///   - tiles: all tiles of this frame, as `arrange` places them. None: the empty room.
  ///   - notice: what stands in the middle of the empty room.
  public func compose(_ tiles: [TilePaint], notice: String = "Waiting for others to join") -> Frame {
    if tiles.isEmpty { return Frame(picture: canvas, isChanged: composeEmptyRoom(notice)) }
    var isChanged = false
    if !hasGeometry(of: tiles) {
      place(tiles)
      isChanged = true
    }
    if hasOverlaps, !isSame(tiles) {
      // What lies under a changed tile may show at its corners, and what lies above must be painted again.
      place(tiles)
    }
    for index in order {
      let paint = tiles[index]
      let isSameLook = self.tiles[index].looks(like: paint)
      if isSameLook, self.tiles[index].shows(paint) { continue }
      if !isSameLook { dress(index, for: paint) }
      self.tiles[index].remember(paint)
      self.paint(self.tiles[index], paint)
      isChanged = true
    }
    return Frame(picture: canvas, isChanged: isChanged)
  }

  /// Bytes of drawn labels, cards and corners that are kept for use again.
  public var cachedBytes: Int { cache.byteCount }

  private func composeEmptyRoom(_ text: String) -> Bool {
    guard notice != text || !tiles.isEmpty else { return false }
    notice = text
    tiles = []
    order = []
    canvas.fill(whole, background)
    let key = StampKey.text(
      NameText.cleaned(text), tone: .notice, fontSize: max(14, min(whole.width, whole.height) / 24),
      maximumWidth: whole.width * 7 / 8)
    if let stamp = stamp(key) {
      let x = ((whole.width - stamp.width) / 2) & ~1
      let y = ((whole.height - stamp.height) / 2) & ~1
      stamp.blend(into: canvas, x: x, y: y, clip: whole)
    }
    return true
  }

  private func hasGeometry(of paints: [TilePaint]) -> Bool {
    guard tiles.count == paints.count else { return false }
    for index in paints.indices where !tiles[index].hasGeometry(of: paints[index].layer) { return false }
    return true
  }

  private func isSame(_ paints: [TilePaint]) -> Bool {
    for index in paints.indices where !(tiles[index].looks(like: paints[index]) && tiles[index].shows(paints[index])) {
      return false
    }
    return true
  }

  /// Starts anew with an empty canvas.
  private func place(_ paints: [TilePaint]) {
    notice = nil
    canvas.fill(whole, background)
    tiles = paints.map { Tile(layer: $0.layer, canvas: canvas) }
    order = tiles.indices.sorted { (tiles[$0].z, $0) < (tiles[$1].z, $1) }
    hasOverlaps = tiles.indices.contains { index in
      guard let rect = tiles[index].rect else { return false }
      return tiles[..<index].contains { $0.rect?.overlaps(rect) ?? false }
    }
  }

  private func stamp(_ key: StampKey) -> Stamp? { cache.stamp(key) { artist.draw(key) } }

  /// Decides what is put over the picture, or the card's ground, of a tile.
  private func dress(_ index: Int, for paint: TilePaint) {
    guard let rect = tiles[index].rect else { return }
    let design = TileDesign(rect: rect, canvas: whole, paint: paint, theme: theme)
    var stamps: [(stamp: Stamp, x: Int, y: Int)] = []
    let label = design.label.flatMap { stamp($0) }
    for part in design.centre(labelHeight: label?.height) {
      if let stamp = stamp(part.key) {
        let x = rect.x + (((rect.width - stamp.width) / 2) & ~1)
        stamps.append((stamp, x, (part.middle - stamp.height / 2) & ~1))
      }
    }
    if let label {
      let inset = design.labelInset
      stamps.append((label, rect.x + inset, rect.y + rect.height - inset - label.height))
    }
    let ring = design.ring
    let radius = min(tiles[index].radius, min(rect.width, rect.height) / 2) & ~1
    if radius > 0 || ring > 0 {
      for corner in Corner.allCases {
        guard let stamp = stamp(.corner(corner, radius: max(0, radius), ring: ring)) else { continue }
        stamps.append(
          (
            stamp, corner.isLeft ? rect.x : rect.x + rect.width - stamp.width,
            corner.isUpper ? rect.y : rect.y + rect.height - stamp.height
          ))
      }
    }
    tiles[index].stamps = stamps
    tiles[index].ring = ring
    tiles[index].ground = design.ground
  }

  private func paint(_ tile: Tile, _ paint: TilePaint) {
    guard let rect = tile.rect else { return }
    if case .video(let picture) = paint.content, paint.layer.key.participant != nil {
      video.paint(picture, into: canvas, rect: rect, fit: paint.layer.fit, bar: ground)
      if paint.isDimmed { canvas.tint(rect, background, share: 150) }
    } else {
      canvas.fill(rect, tile.ground)
    }
    if tile.ring > 0 {
      let (ring, width, height) = (tile.ring, rect.width, rect.height)
      canvas.fill(PixelRect(x: rect.x, y: rect.y, width: width, height: ring), talker)
      canvas.fill(PixelRect(x: rect.x, y: rect.y + height - ring, width: width, height: ring), talker)
      canvas.fill(PixelRect(x: rect.x, y: rect.y, width: ring, height: height), talker)
      canvas.fill(PixelRect(x: rect.x + width - ring, y: rect.y, width: ring, height: height), talker)
    }
    for item in tile.stamps { item.stamp.blend(into: canvas, x: item.x, y: item.y, clip: rect) }
  }
}
