import Layouts
import MediaCore
import Testing

@testable import Compositor

/// Tiles over tiles, and what shows through.
@Suite struct OverlapTests {
  private let large = PixelRect(x: 0, y: 0, width: 1280, height: 720)
  private let small = PixelRect(x: 800, y: 400, width: 320, height: 180)

  private func pip(radius: Int = 40, opacity: UInt8 = 255, border: Border? = nil) -> [TilePaint] {
    [
      TilePaint(layer: VideoLayer(key: camera(1), rect: large), content: .video(.plain(red))),
      TilePaint(
        layer: VideoLayer(
          key: camera(2), rect: small, cornerRadius: radius, z: 1, border: border, look: TileLook(opacity: opacity)),
        content: .video(.plain(green))),
    ]
  }

  @Test func roundedCornersShowTheTileBelow() {
    let picture = PictureCompositor(canvas: hd).compose(pip()).picture
    #expect(picture.sample(960, 490) == green)
    for (x, y) in [(800, 400), (1119, 400), (800, 579), (1119, 579)] {
      #expect(picture.sample(x, y) == red, "\(x),\(y)")
    }
    #expect(picture.sample(840, 400) == green)
    // Between them no third colour: every pixel is a mix of the two.
    for step in 0..<40 {
      let sample = picture.sample(800 + step, 400 + step)
      #expect((red.y...green.y).contains(sample.y) && (green.u - 1...red.u + 1).contains(sample.u))
    }
  }

  @Test(arguments: [0, 1]) func cornersAreRightWhicheverOfTheTwoIsNew(changed: Int) {
    let compositor = PictureCompositor(canvas: hd)
    var tiles = pip()
    _ = compositor.compose(tiles)
    tiles[changed].content = .video(.plain(blue))
    tiles[changed].pictureID = 1
    let picture = compositor.compose(tiles).picture
    #expect(picture.sample(800, 400) == (changed == 0 ? blue : red))
    #expect(picture.sample(960, 490) == (changed == 0 ? green : blue))
    let isSame = picture.bytes == PictureCompositor(canvas: hd).compose(tiles).picture.bytes
    #expect(isSame)
  }

  @Test(arguments: [(UInt8(0), 0), (64, 25), (128, 50), (191, 75), (255, 100)])
  func opacityMixesTheTileWithWhatIsBelow(opacity: UInt8, percent: Int) {
    let compositor = PictureCompositor(canvas: hd)
    var tiles = pip(opacity: opacity)
    let wanted = Sample(
      red.y + (green.y - red.y) * percent / 100, red.u + (green.u - red.u) * percent / 100,
      red.v + (green.v - red.v) * percent / 100)
    #expect(compositor.compose(tiles).picture.sample(960, 490).isNear(wanted))
    // Painted again, it doesn't add up.
    tiles[1].pictureID = 1
    #expect(compositor.compose(tiles).picture.sample(960, 490).isNear(wanted))
    #expect(compositor.compose(tiles).picture.sample(800, 400) == red)
  }

  @Test func aBorderRunsAlongTheInsideAndTheTalkersOutlineTakesItsPlace() {
    let compositor = PictureCompositor(canvas: hd)
    var tiles = pip(border: Border(width: 6, color: .white))
    var picture = compositor.compose(tiles).picture
    let white = Sample(Colour(0xffffff))
    #expect(picture.sample(960, 400) == white && picture.sample(960, 405) == white)
    #expect(picture.sample(960, 406) == green && picture.sample(960, 399) == red)
    #expect(picture.sample(805, 490) == white && picture.sample(1114, 490) == white)
    tiles[1].isTalking = true
    picture = compositor.compose(tiles).picture
    #expect(picture.sample(960, 402) == Sample(Theme.dark.talker))
    tiles[1].layer.look.talkerOutline = false
    #expect(compositor.compose(tiles).picture.sample(960, 402) == white)
  }

  @Test func aBorderWithoutColourHasTheThemes() {
    let tiles = pip(border: Border(width: 6))
    let dark = PictureCompositor(canvas: hd).compose(ScenePaint(tiles: tiles)).picture
    let light = PictureCompositor(canvas: hd).compose(ScenePaint(theme: .light, tiles: tiles)).picture
    #expect(dark.sample(960, 402) == Sample(Theme.dark.border))
    #expect(light.sample(960, 402) == Sample(Theme.light.border))
  }

  @Test func theSlowlyMovingTileLeavesNoTraces() {
    let compositor = PictureCompositor(canvas: hd)
    var tiles = pip()
    for step in 0..<40 {
      tiles[1].layer.rect.x = 100 + 12 * step
      tiles[1].layer.rect.width = 320 + 4 * step
      let isSame = compositor.compose(tiles).picture.bytes == PictureCompositor(canvas: hd).compose(tiles).picture.bytes
      #expect(isSame, "step \(step)")
    }
  }

  @Test func aTileThatLeavesTheCanvasIsDressedForWhatIsLeft() {
    let compositor = PictureCompositor(canvas: hd)
    var tile = tile(.card(.cameraOff), PixelRect(x: 960, y: 0, width: 320, height: 180), name: "Ada Lovelace")
    for step in 0..<30 {
      tile.layer.rect.x = 960 + 12 * step
      let isSame =
        compositor.compose([tile]).picture.bytes == PictureCompositor(canvas: hd).compose([tile]).picture.bytes
      #expect(isSame, "step \(step)")
    }
  }

  @Test func onlyTheGroupOfAChangedTileIsPainted() {
    let compositor = PictureCompositor(canvas: hd)
    let apart = VideoLayer(key: camera(3), rect: PixelRect(x: 0, y: 0, width: 100, height: 100))
    var tiles = pip()
    tiles[0].layer.rect = PixelRect(x: 640, y: 0, width: 640, height: 720)
    tiles.append(TilePaint(layer: apart, content: .video(.plain(blue))))
    _ = compositor.compose(tiles)
    // Another picture under the old number: it would be seen if the tile were painted.
    tiles[2].content = .video(.plain(green))
    tiles[0].pictureID = 1
    #expect(compositor.compose(tiles).picture.sample(50, 50) == blue)
  }

  @Test func theCanvasDependsOnlyOnTheSceneNotOnWhatWasBefore() {
    let canvas = CanvasSize(width: 640, height: 360)
    for seed in UInt64(1)...24 {
      var random = SeededRandom(seed: seed)
      let compositor = PictureCompositor(canvas: canvas)
      var scene = RandomScene.make(canvas, &random)
      for step in 0..<8 {
        if Int.random(in: 0..<3, using: &random) == 0 {
          scene = RandomScene.make(canvas, &random)
        } else {
          RandomScene.change(&scene, &random)
        }
        let picture = compositor.compose(scene).picture
        let isSame = picture.bytes == PictureCompositor(canvas: canvas).compose(scene).picture.bytes
        #expect(isSame, "seed \(seed), step \(step)")
        #expect(!compositor.compose(scene).isChanged, "seed \(seed), step \(step)")
      }
    }
  }
}

/// Scenes with everything in them.
enum RandomScene {
  static func make(_ canvas: CanvasSize, _ random: inout SeededRandom) -> ScenePaint {
    var scene = ScenePaint(
      theme: Bool.random(using: &random) ? .dark : .light,
      background: Int.random(in: 0..<3, using: &random) == 0 ? .color(.black) : .theme)
    for index in 0..<Int.random(in: 0...6, using: &random) {
      let key: TileKey =
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .screenShare(ParticipantIdentity("p\(index)"))
        case 1: .overflow(index)
        case 2: .empty(index)
        default: camera(index)
        }
      var layer = VideoLayer(
        key: key, rect: rect(canvas, &random), fit: Bool.random(using: &random) ? .cover : .contain,
        cornerRadius: [0, 8, 12, 90].randomElement(using: &random) ?? 0, z: Int.random(in: -1...2, using: &random))
      layer.border = [nil, Border(width: 4), Border(width: 2, color: .white)].randomElement(using: &random) ?? nil
      layer.look = TileLook(
        name: NameStyle.allCases.randomElement(using: &random) ?? .label, levelRing: Bool.random(using: &random),
        video: Int.random(in: 0..<4, using: &random) > 0, smallCard: Int.random(in: 0..<4, using: &random) == 0,
        opacity: [255, 255, 255, 128, 0].randomElement(using: &random) ?? 255,
        ground: Bool.random(using: &random) ? nil : .black)
      scene.tiles.append(
        TilePaint(
          layer: layer, content: content(&random), name: "Ada \(index)",
          pictureID: UInt64.random(in: 0 ... .max, using: &random)))
    }
    for anchor in [Anchor.topLeft, .bottom, .center] where Bool.random(using: &random) {
      let text: OverlayText = Bool.random(using: &random) ? .elapsed : .title
      scene.overlays.append(
        OverlayPaint(
          Overlay(
            .text(text), anchor: anchor, opacity: Bool.random(using: &random) ? 255 : 120,
            plate: Bool.random(using: &random), isBelowTiles: Bool.random(using: &random)), text: "12:07"))
    }
    return scene
  }

  static func change(_ scene: inout ScenePaint, _ random: inout SeededRandom) {
    for index in scene.tiles.indices where Bool.random(using: &random) {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: scene.tiles[index].isMuted.toggle()
      case 1: scene.tiles[index].isTalking.toggle()
      case 2: scene.tiles[index].isPinned.toggle()
      case 3: scene.tiles[index].level = Int.random(in: 0...1000, using: &random)
      case 4: scene.tiles[index].layer.rect.x += 2
      case 5: scene.tiles[index].isDimmed.toggle()
      default:
        scene.tiles[index].content = content(&random)
        scene.tiles[index].pictureID = UInt64.random(in: 0 ... .max, using: &random)
      }
    }
    for index in scene.overlays.indices where Bool.random(using: &random) {
      scene.overlays[index].text = "12:0\(Int.random(in: 0...9, using: &random))"
    }
  }

  private static func content(_ random: inout SeededRandom) -> TileContent {
    if Int.random(in: 0..<3, using: &random) == 0 {
      return .card(CardReason.allCases.randomElement(using: &random) ?? .joining)
    }
    return .video(.plain([red, green, blue].randomElement(using: &random) ?? red, width: 320, height: 180))
  }

  private static func rect(_ canvas: CanvasSize, _ random: inout SeededRandom) -> PixelRect {
    let (x, y) = (Int.random(in: 0..<300, using: &random) * 2, Int.random(in: 0..<160, using: &random) * 2)
    return PixelRect(
      x: x, y: y, width: min(canvas.width - x, 2 * Int.random(in: 1...200, using: &random)),
      height: min(canvas.height - y, 2 * Int.random(in: 1...120, using: &random)))
  }
}
