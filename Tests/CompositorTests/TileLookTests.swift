import Layouts
import MediaCore
import Testing

@testable import Compositor

/// What a layout's `TileLook` asks for.
@Suite struct TileLookTests {
  private let grey = Sample(126, 128, 128)

  private func paint(
    _ look: TileLook, card: CardReason? = nil, name: String = "Ada Lovelace", rect: PixelRect = middleRect
  ) -> TilePaint {
    TilePaint(
      layer: VideoLayer(key: camera(1), rect: rect, look: look),
      content: card.map { .card($0) } ?? .video(.plain(grey)),
      name: name)
  }

  private func compose(_ paint: TilePaint) -> Picture { PictureCompositor(canvas: hd).compose([paint]).picture }

  @Test func aLowerThirdIsLargerThanALabelAndHasAStripeOfThePersonsColour() {
    let label = compose(paint(TileLook(name: .label)))
    let band = compose(paint(TileLook(name: .lowerThird)))
    func dark(_ picture: Picture) -> Int {
      (180..<540).filter { picture.sample(420, $0).y < 100 }.count
    }
    #expect(dark(band) > dark(label) + 4)
    let stripe = Sample(Theme.dark.personColour("p1"))
    #expect((320..<400).contains { x in (180..<540).contains { band.sample(x, $0).isNear(stripe) } })
  }

  @Test func namesCanBeLeftOut() {
    #expect(compose(paint(TileLook(name: .none))).lumaRange(middleRect) == grey.y...grey.y)
    var muted = paint(TileLook(name: .none))
    muted.isMuted = true
    #expect(compose(muted).lumaRange(middleRect).lowerBound < 100)
    muted.layer.look.muteIcon = false
    #expect(compose(muted).lumaRange(middleRect) == grey.y...grey.y)
  }

  @Test func theTalkersOutlineAndTheMarksCanBeLeftOut() {
    var talking = paint(TileLook(name: .none, talkerOutline: false, marks: false))
    talking.isTalking = true
    talking.isPinned = true
    talking.isLowBandwidth = true
    #expect(compose(talking).lumaRange(middleRect) == grey.y...grey.y)
  }

  @Test func marksStandInTheUpperRightCornerAndDiffer() {
    var pictures = Set<[UInt8]>()
    for (isPinned, isLowBandwidth) in [(true, false), (false, true), (true, true)] {
      var marked = paint(TileLook(name: .none))
      marked.isPinned = isPinned
      marked.isLowBandwidth = isLowBandwidth
      let picture = compose(marked)
      let corner = PixelRect(x: 860, y: 180, width: 100, height: 60)
      #expect(picture.lumaRange(corner).lowerBound < 90 && picture.lumaRange(corner).upperBound > 150)
      #expect(picture.lumaRange(PixelRect(x: 320, y: 260, width: 640, height: 280)) == grey.y...grey.y)
      pictures.insert(picture.bytes)
    }
    #expect(pictures.count == 3)
  }

  @Test func theLevelRingGrowsWithTheLoudness() {
    var widths: [Int] = []
    let compositor = PictureCompositor(canvas: hd)
    var tile = paint(TileLook(levelRing: true), card: .audioOnly)
    let ground = compose(tile).sample(340, 200)
    for level in stride(from: 0, through: 1000, by: 100) {
      tile.level = level
      let picture = compositor.compose([tile]).picture
      let row = (180..<540).max { a, b in count(picture, a, ground) < count(picture, b, ground) } ?? 0
      widths.append(count(picture, row, ground))
    }
    #expect(zip(widths, widths.dropFirst()).allSatisfy { $0 < $1 }, "\(widths)")
    tile.isMuted = true
    let silent = count(compositor.compose([tile]).picture, 330, ground)
    #expect(silent <= widths[0] + 2)
  }

  private func count(_ picture: Picture, _ row: Int, _ ground: Sample) -> Int {
    (320..<960).filter { !picture.sample($0, row).isNear(ground, by: 2) }.count
  }

  @Test func levelsAreToldApartInSteps() {
    let compositor = PictureCompositor(canvas: hd)
    var tile = paint(TileLook(levelRing: true), card: .audioOnly)
    tile.level = 500
    _ = compositor.compose([tile])
    tile.level = 509
    #expect(compositor.compose([tile]).change == .nothing)
    tile.level = 610
    #expect(compositor.compose([tile]).change == .detail)
    (tile.level, tile.isMuted) = (710, true)
    #expect(compositor.compose([tile]).change == .anything)
    tile.level = Int.max
    _ = compositor.compose([tile])
    tile.level = Int.min
    _ = compositor.compose([tile])
  }

  @Test func aLayoutWithoutVideoShowsCards() {
    let picture = compose(paint(TileLook(video: false)))
    #expect(picture.sample(400, 300) != grey)
    #expect(picture.lumaRange(PixelRect(x: 600, y: 320, width: 80, height: 80)).upperBound > 200)
  }

  @Test func aSmallCardHasDiscAndNameInOneLine() {
    let rect = PixelRect(x: 100, y: 100, width: 240, height: 56)
    let picture = compose(paint(TileLook(smallCard: true), card: .cameraOff, rect: rect))
    let disc = Sample(Theme.dark.personColour("p1"))
    #expect((100..<150).contains { picture.sample($0, 128).isNear(disc) })
    #expect(picture.lumaRange(PixelRect(x: 150, y: 110, width: 120, height: 36)).upperBound > 200)
    let narrow = PixelRect(x: 100, y: 100, width: 40, height: 40)
    let alone = compose(paint(TileLook(smallCard: true), card: .cameraOff, rect: narrow))
    #expect((100..<140).contains { alone.sample($0, 112).isNear(disc) })
  }

  @Test func aSharedScreenIsMarkedAsOne() {
    var screen = paint(TileLook())
    let camera = compose(screen).bytes
    screen.layer.key = .screenShare(ParticipantIdentity("p1"))
    #expect(compose(screen).bytes != camera)
  }

  @Test func theGroundIsTheLayouts() {
    let picture = Picture.plain(green, width: 100, height: 400)
    var tile = paint(TileLook(name: .none, ground: .black))
    tile.layer.fit = .contain
    tile.content = .video(picture)
    #expect(compose(tile).sample(330, 300) == Sample(Colour(0)))
    #expect(compose(tile).sample(640, 300) == green)
  }

  /// What is drawn for a tile that glides from a corner to the whole canvas: names and discs in few sizes.
  @Test func aGrowingTileNeedsFewStamps() {
    let compositor = PictureCompositor(canvas: hd)
    for step in 0...200 {
      let rect = PixelRect(x: 0, y: 0, width: (200 + step * 5) & ~1, height: (112 + step * 3) & ~1)
      _ = compositor.compose([paint(TileLook(), card: .cameraOff, rect: rect)])
    }
    #expect(compositor.cache.count < 60)
  }

  @Test func aTileThatOnlyMovesNeedsNoNewStamp() {
    let compositor = PictureCompositor(canvas: hd)
    var tile = paint(TileLook(), card: .cameraOff, rect: PixelRect(x: 0, y: 0, width: 320, height: 180))
    _ = compositor.compose([tile])
    let count = compositor.cache.count
    let stamps = compositor.tiles[0].stamps.map { ObjectIdentifier($0.stamp) }
    for step in 1..<100 {
      tile.layer.rect.x = 2 * step
      tile.layer.rect.y = 4 * step
      _ = compositor.compose([tile])
    }
    #expect(compositor.cache.count == count)
    #expect(compositor.tiles[0].stamps.map { ObjectIdentifier($0.stamp) } == stamps)
  }
}
