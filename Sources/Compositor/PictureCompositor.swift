import CYUV
import Layouts
import MediaCore

/// Paints scenes into one I420 picture: backgrounds, scaled pictures, cards, names, outlines, overlays. Confined to one
/// thread.
///
/// Only what is different from the call before is painted, and what overlaps it. Everything that is drawn (names, discs,
/// symbols) is drawn once and kept; a frame in which pictures, places, outlines or levels change allocates nothing.
///
/// Large: tiles, backgrounds and overlays are drawn over one canvas and what is known to be on it already.
public final class PictureCompositor {
  let canvas: Picture
  let size: CanvasSize
  let whole: PixelRect
  var theme: Theme
  var renderer: StampRenderer
  var cache = StampCache(limit: 16 << 20)
  let images: ImageStore?

  private var themeName: ThemeName
  private var video = VideoPainter()
  private var processing = PictureProcessing()
  private var imagesSeen: UInt64 = 0

  var tiles: [Tile] = []
  var overlays: [OverlayState] = []
  private var notice: NoticeState?

  private var elements: [Element] = []
  private var isDirty: [Bool] = []

  private var background = Background.theme
  private var backgroundRow: ColourRow
  private var backgroundImage: LoadedImage?
  private var isFresh = true
  /// What lies below a tile while it is painted, where that isn't the background.
  private var under: Picture?

  var talkerRow: ColourRow
  var colourRows: [Colour: ColourRow] = [:]
  var masks: [Int: CornerMask] = [:]
  var names: [String: NameWords] = [:]

  /// Makes a compositor for pictures of one size.
  ///
  /// - Parameter images: loads portraits, logos and backgrounds; without one there are none.
  public init(canvas size: CanvasSize, images: ImageStore? = nil) {
    self.size = size
    self.images = images
    themeName = .dark
    theme = .dark
    canvas = Picture(width: size.width, height: size.height)
    whole = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
    renderer = StampRenderer(theme: theme, images: images, portraitSide: PictureCompositor.portraitSide(size))
    backgroundRow = ColourRow(theme.background, width: size.width)
    talkerRow = ColourRow(theme.talker, width: size.width)
  }

  /// What `compose` gives.
  public struct Frame {
    /// The composed picture. It is the compositor's own, and the next `compose` paints over it: encode it before that,
    /// on the same thread, or copy it.
    public let picture: Picture
    /// What is different from the picture of the call before.
    public let change: PictureChange
    /// False when nothing is.
    public var isChanged: Bool { change != .nothing }
  }

  /// Paints tiles on the dark theme's background; see `compose(_:)` for scenes.
  ///
  /// - Parameters:
  ///   - tiles: all tiles of this frame. None: the empty room.
  ///   - notice: what stands in the middle of the empty room.
  public func compose(_ tiles: [TilePaint], notice: Notice = .waiting) -> Frame {
    compose(ScenePaint(tiles: tiles, notice: notice))
  }

  /// Paints what is different from the call before, and gives the whole picture.
  public func compose(_ scene: ScenePaint) -> Frame {
    var isPlaced = isFresh
    isFresh = false
    if scene.theme != themeName {
      setTheme(scene.theme)
      isPlaced = true
    }
    if let images, images.generation != imagesSeen {
      imagesSeen = images.generation
      if noteImages() { isPlaced = true }
    }
    if scene.background != background {
      background = scene.background
      isPlaced = true
    }
    if isPlaced { prepareBackground() }
    if updateNotice(scene.tiles.isEmpty ? scene.notice : nil) { isPlaced = true }
    var change = isPlaced ? PictureChange.anything : .nothing
    if updateTiles(scene.tiles, &change) { isPlaced = true }
    if updateOverlays(scene.overlays, &change) { isPlaced = true }
    guard change != .nothing else { return Frame(picture: canvas, change: .nothing) }
    if isPlaced {
      arrangeElements()
      backdrop.copy(whole, to: canvas)
      for element in elements { paint(element, in: scene) }
    } else {
      paintChanges(scene)
    }
    for index in tiles.indices { tiles[index].hasChanged = false }
    for index in overlays.indices { overlays[index].hasChanged = false }
    return Frame(picture: canvas, change: change)
  }

  /// Bytes of drawn names, discs and symbols that are kept for use again.
  public var cachedBytes: Int { cache.byteCount }

  static func portraitSide(_ size: CanvasSize) -> Int { max(64, min(size.width, size.height) / 4) }

  func stamp(_ key: StampKey) -> Stamp? { cache.stamp(key) { renderer.draw(key) } }

  private var backdrop: Planes {
    if let picture = backgroundImage?.picture { return Planes(picture) }
    return Planes(backgroundRow)
  }

  // MARK: What is to be seen

  private func setTheme(_ name: ThemeName) {
    themeName = name
    theme = name == .dark ? .dark : .light
    cache.removeAll()
    colourRows.removeAll()
    renderer = StampRenderer(theme: theme, images: images, portraitSide: PictureCompositor.portraitSide(size))
    talkerRow = ColourRow(theme.talker, width: size.width)
    for index in tiles.indices { tiles[index].undress() }
    overlays.removeAll()
    notice = nil
  }

  private func prepareBackground() {
    var ground = theme.background
    if case .color(let colour) = background { ground = Colour(colour) }
    if backgroundRow.colour != ground { backgroundRow = ColourRow(ground, width: size.width) }
    backgroundImage = nil
    if case .image(let path, let fit) = background {
      let form = ImageForm.canvas(width: size.width, height: size.height, fit: fit, ground: ground)
      backgroundImage = images?.image(.file(path), form)
    }
  }

  /// An image has come, or is known never to come. True when it may be the background or change an overlay's size.
  private func noteImages() -> Bool {
    for index in tiles.indices where tiles[index].awaitsImage { tiles[index].undress() }
    var isPlaced = false
    if case .image = background, backgroundImage == nil { isPlaced = true }
    for index in overlays.indices where overlays[index].awaitsImage {
      overlays[index].undress()
      isPlaced = true
    }
    return isPlaced
  }

  /// Takes over the tiles. True when places are new.
  private func updateTiles(_ paints: [TilePaint], _ seen: inout PictureChange) -> Bool {
    var isPlaced = false
    if tiles.count != paints.count
      || paints.indices.contains(where: { tiles[$0].paint.layer.key != paints[$0].layer.key })
    {
      isPlaced = true
      let old = tiles
      tiles = paints.map { paint in
        old.first { $0.paint.layer.key == paint.layer.key } ?? Tile(paint, canvas: canvas)
      }
    }
    for index in paints.indices {
      let change = tiles[index].update(paints[index], canvas: canvas)
      if change.isPlace { isPlaced = true }
      if tiles[index].needsDress {
        decorate(index, for: paints[index])
      } else if change.isLevel {
        setLevelRing(index)
      }
      if change.isSeen || change.isLevel {
        tiles[index].hasChanged = true
        seen = max(seen, change.isSeen ? .anything : .detail)
      }
    }
    if isPlaced { seen = .anything }
    return isPlaced
  }

  private func updateOverlays(_ paints: [OverlayPaint], _ seen: inout PictureChange) -> Bool {
    var isPlaced = overlays.count != paints.count
    if isPlaced { seen = .anything }
    if overlays.count > paints.count { overlays.removeLast(overlays.count - paints.count) }
    for index in paints.indices {
      if index == overlays.count { overlays.append(OverlayState(paints[index])) }
      guard overlays[index].needsDress || overlays[index].paint != paints[index] else { continue }
      let (rect, isBelow) = (overlays[index].rect, overlays[index].paint.overlay.isBelowTiles)
      dressOverlay(index, for: paints[index])
      overlays[index].hasChanged = true
      seen = max(seen, isDetail(rect) && isDetail(overlays[index].rect) ? .detail : .anything)
      if overlays[index].rect != rect || paints[index].overlay.isBelowTiles != isBelow { isPlaced = true }
    }
    return isPlaced
  }

  /// Whether this is so small that its changes are a detail: a clock, not a title.
  private func isDetail(_ rect: PixelRect?) -> Bool {
    (rect?.width ?? 0) * (rect?.height ?? 0) * 100 < size.width * size.height
  }

  private func updateNotice(_ new: Notice?) -> Bool {
    guard notice?.notice != new else { return false }
    notice = new.map { dressed($0) }
    return true
  }

  // MARK: What lies on what

  /// Puts everything in the order of painting, and finds what overlaps.
  private func arrangeElements() {
    elements.removeAll(keepingCapacity: true)
    for index in overlays.indices where overlays[index].paint.overlay.isBelowTiles { add(.overlay(index)) }
    let first = elements.count
    for index in tiles.indices { add(.tile(index)) }
    if elements.count > first { sortTiles(from: first) }
    if let notice { elements.append(Element(kind: .notice, rect: notice.rect, isOpaque: false, radius: 0)) }
    for index in overlays.indices where !overlays[index].paint.overlay.isBelowTiles { add(.overlay(index)) }
    for index in elements.indices {
      elements[index].group = index
      for other in 0..<index where elements[other].rect.overlaps(elements[index].rect) {
        elements[index].isAlone = false
        elements[other].isAlone = false
        let (from, to) = (elements[other].group, elements[index].group)
        if from != to { for k in 0...index where elements[k].group == from { elements[k].group = to } }
        if elements[other].covers(elements[index].rect) { elements[index].isCovered = true }
      }
    }
    while isDirty.count < elements.count { isDirty.append(false) }
  }

  private func add(_ kind: Element.Kind) {
    switch kind {
    case .tile(let index):
      guard let rect = tiles[index].rect, tiles[index].opacity > 0 else { return }
      elements.append(
        Element(
          kind: kind, rect: rect, isOpaque: !tiles[index].isTranslucent, radius: tiles[index].mask?.side ?? 0,
          z: tiles[index].paint.layer.z))
    case .overlay(let index):
      guard let rect = overlays[index].rect else { return }
      elements.append(Element(kind: kind, rect: rect, isOpaque: false, radius: 0))
    case .notice: break
    }
  }

  /// Sorts by `z`; tiles of one `z` stay in the order in which they are listed. By insertion, in place: there are few,
  /// and usually they are in order.
  private func sortTiles(from first: Int) {
    for index in (first + 1)..<max(first + 1, elements.count) {
      var place = index
      while place > first, elements[place - 1].z > elements[place].z {
        elements.swapAt(place, place - 1)
        place -= 1
      }
    }
  }

  // MARK: Painting

  private func paintChanges(_ scene: ScenePaint) {
    for index in elements.indices { isDirty[index] = false }
    for element in elements where hasChanged(element) { isDirty[element.group] = true }
    for element in elements where isDirty[element.group] && element.needsBackdrop {
      backdrop.copy(element.rect, to: canvas)
    }
    for element in elements where isDirty[element.group] { paint(element, in: scene) }
  }

  private func hasChanged(_ element: Element) -> Bool {
    switch element.kind {
    case .tile(let index): tiles[index].hasChanged
    case .overlay(let index): overlays[index].hasChanged
    case .notice: false
    }
  }

  private func paint(_ element: Element, in scene: ScenePaint) {
    switch element.kind {
    case .tile(let index): paint(tiles[index], scene.tiles[index], element)
    case .overlay(let index):
      for item in overlays[index].stamps { blend(item, at: overlays[index].place) }
    case .notice:
      if let notice { for item in notice.stamps { blend(item, at: (0, 0)) } }
    }
  }

  private func blend(_ item: PlacedStamp, at place: (x: Int, y: Int)) {
    item.stamp.blend(into: canvas, x: place.x + item.x, y: place.y + item.y, clip: whole)
  }

  private func paint(_ tile: Tile, _ paint: TilePaint, _ element: Element) {
    let rect = element.rect
    var below = backdrop
    if !element.isAlone, tile.mask != nil || tile.isTranslucent {
      let kept = keepWhatIsBelow(rect, corners: tile.isTranslucent ? nil : tile.mask?.side)
      below = Planes(kept)
    }
    if tile.reason == nil, case .video(let picture) = paint.content {
      let shown = paint.processor.map { processing.process(picture, by: $0) } ?? picture
      video.paint(shown, into: canvas, rect: rect, fit: paint.layer.fit, bar: tile.ground)
      if paint.isDimmed { Planes(backgroundRow).mix(150, into: canvas, rect) }
    } else {
      canvas.fill(rect, tile.ground)
    }
    if let edge = tile.edge { paintEdge(edge, rect) }
    if let ring = tile.levelRing { ring.stamp.blend(into: canvas, x: rect.x + ring.x, y: rect.y + ring.y, clip: rect) }
    for item in tile.stamps { item.stamp.blend(into: canvas, x: rect.x + item.x, y: rect.y + item.y, clip: rect) }
    tile.mask?.blend(below, into: canvas, around: rect)
    if tile.isTranslucent { below.mix(256 - Int(tile.opacity), into: canvas, rect) }
  }

  private func paintEdge(_ edge: (row: ColourRow, width: Int, inner: CornerMask?), _ rect: PixelRect) {
    let (width, colour) = (edge.width, edge.row.colour.yuv)
    canvas.fill(PixelRect(x: rect.x, y: rect.y, width: rect.width, height: width), colour)
    canvas.fill(PixelRect(x: rect.x, y: rect.y + rect.height - width, width: rect.width, height: width), colour)
    canvas.fill(PixelRect(x: rect.x, y: rect.y, width: width, height: rect.height), colour)
    canvas.fill(PixelRect(x: rect.x + rect.width - width, y: rect.y, width: width, height: rect.height), colour)
    let inner = PixelRect(
      x: rect.x + width, y: rect.y + width, width: rect.width - 2 * width, height: rect.height - 2 * width)
    edge.inner?.blend(Planes(edge.row), into: canvas, around: inner)
  }

  /// Copies a rectangle of the canvas aside, or only its corners.
  private func keepWhatIsBelow(_ rect: PixelRect, corners side: Int?) -> Picture {
    let kept = under ?? Picture(width: whole.width, height: whole.height)
    under = kept
    let canvas = Planes(canvas)
    guard let side else {
      canvas.copy(rect, to: kept)
      return kept
    }
    for corner in Corner.allCases {
      let x = corner.isLeft ? rect.x : rect.x + rect.width - side
      let y = corner.isUpper ? rect.y : rect.y + rect.height - side
      canvas.copy(PixelRect(x: x, y: y, width: side, height: side), to: kept)
    }
    return kept
  }
}
