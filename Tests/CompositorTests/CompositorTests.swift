import Glibc
import Layouts
import MediaCore
import Testing

@testable import Compositor

@Suite struct CompositorTests {
  private let canvas = CanvasSize(width: 640, height: 360)

  @Test func nothingNewIsNotPaintedAgain() {
    let compositor = PictureCompositor(canvas: canvas)
    let tiles = room(4)
    #expect(compositor.compose(tiles).isChanged)
    #expect(!compositor.compose(tiles).isChanged)
  }

  @Test func onlyATileWithANewPictureIsPaintedAgain() {
    let compositor = PictureCompositor(canvas: canvas)
    var tiles = room(4)
    _ = compositor.compose(tiles)
    let other = tiles[0].layer.rect
    tiles[0].content = .video(.plain(blue))
    tiles[1].content = .video(.plain(blue))
    tiles[1].pictureID += 1
    let frame = compositor.compose(tiles)
    #expect(frame.isChanged)
    #expect(frame.picture.sample(other.x + 50, other.y + 50) == red)
    let rect = tiles[1].layer.rect
    #expect(frame.picture.sample(rect.x + 50, rect.y + 50) == blue)
  }

  @Test func theSamePictureIsGivenEachTime() {
    let compositor = PictureCompositor(canvas: canvas)
    let first = compositor.compose(room(2)).picture
    #expect(compositor.compose(room(3)).picture === first)
    #expect(first.width == 640 && first.height == 360)
  }

  @Test func theNearerOfTwoOverlappingTilesIsSeenHoweverTheyAreListed() {
    let large = VideoLayer(key: camera(1), rect: PixelRect(x: 0, y: 0, width: 640, height: 360), z: 0)
    let small = VideoLayer(key: camera(2), rect: PixelRect(x: 400, y: 200, width: 160, height: 90), z: 1)
    let tiles = [
      TilePaint(layer: small, content: .video(.plain(green))), TilePaint(layer: large, content: .video(.plain(red))),
    ]
    let compositor = PictureCompositor(canvas: canvas)
    #expect(compositor.compose(tiles).picture.sample(480, 240) == green)
    var changed = tiles
    changed[1].pictureID += 1
    #expect(compositor.compose(changed).picture.sample(480, 240) == green)
    #expect(!compositor.compose(changed).isChanged)
  }

  @Test func picturesAndTilesOfAnySizeArePaintedWithoutATrap() {
    let sides = [Int.min, -2, 0, 1, 2, 3, 5, 17, 359, 360, 641, 10_000, Int.max]
    let compositor = PictureCompositor(canvas: canvas)
    for seed in UInt64(1)...400 {
      var random = SeededRandom(seed: seed)
      func side() -> Int { sides.randomElement(using: &random) ?? 0 }
      let rect = PixelRect(x: side(), y: side(), width: side(), height: side())
      let picture = Picture(
        width: Int.random(in: -1...70, using: &random), height: Int.random(in: -1...70, using: &random))
      picture.rotation = [0, 90, 180, 270, 45, -90].randomElement(using: &random) ?? 0
      var paint = tile(
        Bool.random(using: &random) ? .video(picture) : .card(.cameraOff), rect,
        fit: Bool.random(using: &random) ? .cover : .contain, radius: side(), name: "Ada")
      paint.isTalking = Bool.random(using: &random)
      paint.isDimmed = Bool.random(using: &random)
      paint.isMuted = Bool.random(using: &random)
      _ = compositor.compose([paint])
    }
  }

  @Test func theLargestPictureIsBroughtIntoTheSmallestTile() {
    let picture = Picture.plain(red, width: Picture.maximumSide, height: 3)
    let rect = PixelRect(x: 0, y: 0, width: 2, height: 2)
    let canvas = PictureCompositor(canvas: canvas).compose([tile(.video(picture), rect, radius: 0)]).picture
    #expect(canvas.sample(0, 0) == red)
  }

  @Test func whatIsDrawnIsKeptWithinABound() {
    var cache = StampCache(limit: 4096)
    let renderer = StampRenderer(theme: .dark)
    for number in 0..<200 {
      let key = StampKey.text("number \(number)", tone: .reason, fontSize: 12, maximumWidth: 200)
      #expect(cache.stamp(key) { renderer.draw(key) } != nil)
    }
    #expect(cache.byteCount <= 4096)
    #expect(cache.count >= 1)
  }

  @Test func whatWasUsedLastIsKept() {
    var cache = StampCache(limit: 20_000)
    let renderer = StampRenderer(theme: .dark)
    let favourite = StampKey.initials("A", colour: Colour(0x336699), diameter: 32)
    let stamp = cache.stamp(favourite) { renderer.draw(favourite) }
    for number in 0..<50 {
      let key = StampKey.initials("\(number)", colour: Colour(0x336699), diameter: 32)
      _ = cache.stamp(key) { renderer.draw(key) }
      #expect(cache.stamp(favourite) { nil } === stamp)
    }
  }

  @Test func aStampWithoutAlphaChangesNothingAndAnOpaqueOneCovers() throws {
    let drawing = try #require(Drawing(width: 16, height: 16))
    let picture = Picture.plain(Sample(77, 90, 200), width: 64, height: 64)
    let before = picture.bytes
    let whole = PixelRect(x: 0, y: 0, width: 64, height: 64)
    try #require(drawing.stamp()).blend(into: picture, x: 10, y: 10, clip: whole)
    #expect(picture.bytes == before)
    drawing.fill(Theme.dark.background)
    try #require(drawing.stamp()).blend(into: picture, x: -2, y: 0, clip: whole)
    #expect(picture.sample(0, 0) == background && picture.sample(13, 15) == background)
    #expect(picture.sample(14, 0) == Sample(77, 90, 200))
    let faint = try #require(drawing.stamp(opacity: 0))
    let covered = picture.bytes
    faint.blend(into: picture, x: 30, y: 30, clip: whole)
    #expect(picture.bytes == covered)
  }

  @Test func aPictureIsWrittenAsPNG() throws {
    let path = "/tmp/recbot-compositor-test-\(UInt64.random(in: 0 ... .max)).png"
    try writePNG(.plain(red, width: 33, height: 17), path: path)
    let file = try #require(fopen(path, "r"))
    defer {
      fclose(file)
      unlink(path)
    }
    var head = [UInt8](repeating: 0, count: 24)
    #expect(fread(&head, 1, 24, file) == 24)
    #expect(head.prefix(4) == [0x89, 0x50, 0x4e, 0x47])
    #expect(head[19] == 33 && head[23] == 17)
  }

  @Test func anUnwritablePathIsAnError() {
    #expect(throws: CompositorError.self) { try writePNG(.plain(red), path: "/nonexistent/folder/x.png") }
  }

  /// `count` cameras in red, with names.
  private func room(_ count: Int) -> [TilePaint] {
    let sources = (1...count).map { LayoutSource(key: camera($0)) }
    return arranged(.grid, canvas, sources).map {
      TilePaint(layer: $0, content: .video(.plain(red)), name: "Ada Lovelace")
    }
  }
}
