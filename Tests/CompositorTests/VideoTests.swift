import Layouts
import MediaCore
import Testing

@testable import Compositor

@Suite struct VideoTests {
  @Test func everyTileShowsItsPictureAndTheGapsTheBackground() {
    let compositor = PictureCompositor(canvas: hd)
    let colours = [red, green, blue]
    let sources = (0..<3).map { LayoutSource(key: camera($0)) }
    let layers = arranged(.grid, hd, sources)
    let tiles = zip(layers, colours).map { TilePaint(layer: $0, content: .video(.plain($1))) }
    let picture = compositor.compose(tiles).picture
    for (layer, colour) in zip(layers, colours) {
      let rect = layer.rect
      #expect(picture.sample(rect.x + rect.width / 2, rect.y + rect.height / 2) == colour)
      #expect(picture.sample(rect.x + rect.width / 2, rect.y) == colour)
      #expect(picture.sample(rect.x + rect.width - 1, rect.y + rect.height / 2) == colour)
      #expect(picture.sample(rect.x, rect.y).isNear(background))
      #expect(picture.sample(rect.x + rect.width - 1, rect.y + rect.height - 1).isNear(background))
      #expect(picture.sample(rect.x - 1, rect.y + rect.height / 2) == background)
      #expect(picture.sample(rect.x + rect.width / 2, rect.y - 1) == background)
    }
  }

  @Test func cornersAreSmooth() {
    let compositor = PictureCompositor(canvas: hd)
    let white = Sample(235, 128, 128)
    let picture = compositor.compose([tile(.video(.plain(white)), middleRect)]).picture
    var levels = Set<Int>()
    for row in 0..<12 { for column in 0..<12 { levels.insert(picture.sample(320 + column, 180 + row).y) } }
    #expect(levels.count > 8)
    #expect(levels.allSatisfy { (background.y - 1...235).contains($0) })
  }

  @Test func squareCornersAreFilled() {
    let picture = PictureCompositor(canvas: hd).compose([tile(.video(.plain(red)), middleRect, radius: 0)]).picture
    #expect(picture.sample(320, 180) == red)
  }

  @Test func coverCutsBothSidesEvenly() {
    // Thirds: red, green, blue. In a square only the middle and a little of its neighbours are left.
    let picture = thirds(width: 900, height: 300)
    let rect = PixelRect(x: 100, y: 100, width: 300, height: 300)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, radius: 0)]).picture
    #expect(canvas.sample(104, 250) == green)
    #expect(canvas.sample(395, 250) == green)
  }

  @Test func containShowsEverythingBetweenBars() {
    let picture = thirds(width: 900, height: 300)
    let rect = PixelRect(x: 100, y: 100, width: 300, height: 300)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, fit: .contain, radius: 0)]).picture
    #expect(canvas.sample(102, 250) == red)
    #expect(canvas.sample(250, 250) == green)
    #expect(canvas.sample(397, 250) == blue)
    let bar = Sample(Theme.dark.tile)
    #expect(canvas.sample(250, 102) == bar)
    #expect(canvas.sample(250, 397) == bar)
    #expect(canvas.sample(250, 202) == green)
    #expect(canvas.sample(250, 198) == bar)
  }

  @Test(arguments: [(0, [red, green, blue]), (180, [blue, green, red])])
  func picturesAreTurnedUpright(rotation: Int, columns: [Sample]) {
    let picture = thirds(width: 900, height: 300)
    picture.rotation = rotation
    let rect = PixelRect(x: 0, y: 0, width: 900, height: 300)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, radius: 0)]).picture
    #expect([100, 450, 800].map { canvas.sample($0, 150) } == columns)
  }

  @Test(arguments: [(90, [red, green, blue]), (270, [blue, green, red])])
  func picturesOfAPhoneAreTurnedUpright(rotation: Int, rows: [Sample]) {
    let picture = thirds(width: 900, height: 300)
    picture.rotation = rotation
    let rect = PixelRect(x: 0, y: 0, width: 200, height: 600)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, radius: 0)]).picture
    #expect([50, 300, 550].map { canvas.sample(100, $0) } == rows)
  }

  @Test(arguments: [(640, 360), (1280, 720), (1920, 1080), (641, 361), (2500, 1406), (320, 180), (5000, 2812)])
  func nothingIsStretchedWhateverTheScale(width: Int, height: Int) {
    // A disc stays a disc.
    let picture = Picture(width: width, height: height)
    picture.fill(y: 16, u: 128, v: 128)
    let radius = height / 3
    for row in 0..<height {
      for column in 0..<width {
        let (dx, dy) = (column - width / 2, row - height / 2)
        if dx * dx + dy * dy < radius * radius { picture.y[row * picture.strideY + column] = 235 }
      }
    }
    let rect = PixelRect(x: 12, y: 12, width: 410, height: 272)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, radius: 0)]).picture
    let across = (12..<422).filter { canvas.sample($0, 148).y > 125 }.count
    let down = (12..<284).filter { canvas.sample(217, $0).y > 125 }.count
    #expect(abs(across - down) <= 3)
    #expect(abs(down - 272 * 2 / 3) <= 3)
  }

  @Test func fineDetailBecomesGreyAndDoesNotAlias() {
    let picture = Picture(width: 1920, height: 1080)
    picture.fill(y: 16, u: 128, v: 128)
    for row in 0..<1080 {
      for column in 0..<1920 where (row + column) % 2 == 0 { picture.y[row * picture.strideY + column] = 235 }
    }
    let rect = PixelRect(x: 0, y: 0, width: 426, height: 240)
    let canvas = PictureCompositor(canvas: hd).compose([tile(.video(picture), rect, radius: 0)]).picture
    let range = canvas.lumaRange(rect)
    #expect(range.lowerBound > 115 && range.upperBound < 136)
  }

  @Test func placementsAreInsideThePictureAndTheTile() {
    for seed in UInt64(1)...3000 {
      var random = SeededRandom(seed: seed)
      func side(_ limit: Int) -> Int {
        Bool.random(using: &random) ? Int.random(in: 1...8, using: &random) : Int.random(in: 1...limit, using: &random)
      }
      let (width, height) = (side(Picture.maximumSide), side(Picture.maximumSide))
      let rect = PixelRect(x: 2 * side(100), y: 2 * side(100), width: 2 * side(2048), height: 2 * side(2048))
      let rotation = [0, 90, 180, 270].randomElement(using: &random) ?? 0
      for fit in [Fit.contain, .cover] {
        let place = Placement(width: width, height: height, rotation: rotation, rect: rect, fit: fit)
        let (crop, target) = (place.crop, place.target)
        #expect(crop.x >= 0 && crop.y >= 0 && crop.width >= 1 && crop.height >= 1, "seed \(seed)")
        #expect(crop.x + crop.width <= width && crop.y + crop.height <= height, "seed \(seed)")
        #expect(crop.x % 2 == 0 && crop.y % 2 == 0, "seed \(seed)")
        #expect(target.x >= rect.x && target.y >= rect.y && target.width >= 2 && target.height >= 2, "seed \(seed)")
        #expect(target.x + target.width <= rect.x + rect.width, "seed \(seed)")
        #expect(target.y + target.height <= rect.y + rect.height, "seed \(seed)")
        #expect([target.x, target.y, target.width, target.height].allSatisfy { $0 % 2 == 0 }, "seed \(seed)")
      }
    }
  }
}
