import Layouts
import MediaCore
import Testing

@testable import Compositor

/// Pictures of people whom nobody is to know.
@Suite struct ProcessorTests {
  private let rect = PixelRect(x: 0, y: 0, width: 640, height: 360)

  /// Black and white columns, four pixels wide, on colour: what a face has of edges.
  private func striped(width: Int, height: Int, rotation: Int = 0) -> Picture {
    let picture = Picture.plain(red, width: width, height: height)
    for row in 0..<height {
      for column in 0..<width { picture.y[row * picture.strideY + column] = column / 4 % 2 == 0 ? 16 : 235 }
    }
    picture.rotation = rotation
    return picture
  }

  private func painted(_ picture: Picture, _ processor: VideoProcessor?, in rect: PixelRect) -> Picture {
    var paint = tile(.video(picture), rect, radius: 0)
    paint.processor = processor
    return PictureCompositor(canvas: hd).compose([paint]).picture
  }

  @Test(arguments: [VideoProcessor.pixelate, .blur], [(640, 360), (1280, 720), (321, 181), (2, 2), (17, 900)])
  func edgesAreGoneFromPicturesOfEverySize(_ processor: VideoProcessor, size: (Int, Int)) {
    for rotation in [0, 90, 180, 270] {
      let canvas = painted(striped(width: size.0, height: size.1, rotation: rotation), processor, in: rect)
      guard min(size.0, size.1) > 100 else { continue }
      let luma = canvas.lumaRange(PixelRect(x: 20, y: 20, width: 600, height: 320))
      #expect(luma.upperBound - luma.lowerBound < 40, "\(processor) \(size) \(rotation): \(luma)")
      #expect(canvas.sample(320, 180).isNear(Sample(125, red.u, red.v), by: 12))
    }
  }

  @Test func blocksHaveOneColourEachAndLieWhereTheirPartOfThePictureIs() {
    let canvas = painted(thirds(width: 960, height: 540), .pixelate, in: rect)
    // Twelve blocks: four of each third, of which the middle ones have nothing of their neighbours.
    for (column, colour) in [(80, red), (290, green), (560, blue)] {
      #expect(canvas.sample(column, 180).isNear(colour, by: 10))
    }
    #expect(canvas.lumaRange(PixelRect(x: 10, y: 10, width: 30, height: 30)).count == 1)
  }

  @Test func neighbouringBlocksKeepTheirOwnColours() {
    // Columns as wide as a block, by turns red and blue: twelve, and none is a mixture.
    let picture = Picture.plain(red, width: 960, height: 540)
    for row in 0..<picture.chromaHeight {
      for column in 0..<picture.chromaWidth where column / 40 % 2 == 1 {
        picture.u[row * picture.strideUV + column] = UInt8(blue.u)
        picture.v[row * picture.strideUV + column] = UInt8(blue.v)
      }
    }
    let canvas = painted(picture, .pixelate, in: rect)
    for block in 0..<12 {
      let (sample, own) = (canvas.sample(block * 640 / 12 + 26, 180), block % 2 == 0 ? red : blue)
      #expect(sample.isNear(Sample(red.y, own.u, own.v), by: 12), "block \(block): \(sample)")
    }
  }

  @Test func pixelatedPicturesKeepTheirShape() {
    // Of a picture of the tile's shape nothing is cut off, whatever the number of blocks.
    let picture = Picture.plain(green, width: 640, height: 360)
    for row in 0..<60 { for column in 0..<640 { picture.y[row * picture.strideY + column] = 16 } }
    let canvas = painted(picture, .pixelate, in: rect)
    #expect(canvas.sample(320, 20).y < 30)
    #expect(canvas.sample(320, 340).y > 130)
  }

  @Test func grayHasNoColourAndAllElse() {
    let picture = thirds(width: 640, height: 360)
    let canvas = painted(picture, .grayscale, in: rect)
    for (column, colour) in [(80, red), (320, green), (560, blue)] {
      #expect(canvas.sample(column, 180) == Sample(colour.y, 128, 128))
    }
    // The picture itself is its decoder's.
    #expect(picture.sample(80, 180) == red)
  }

  @Test func aMaskIsACard() {
    let canvas = painted(.plain(red), .mask, in: rect)
    var paint = tile(.card(.hidden), rect, radius: 0)
    paint.pictureID = 0
    #expect(canvas.bytes == PictureCompositor(canvas: hd).compose([paint]).picture.bytes)
  }

  @Test func aPictureThatIsStillIsPaintedAnewWhenItsProcessorChanges() {
    let compositor = PictureCompositor(canvas: hd)
    var paint = tile(.video(.plain(red)), rect, radius: 0, id: 7)
    #expect(compositor.compose([paint]).picture.sample(320, 180) == red)
    paint.processor = .grayscale
    #expect(compositor.compose([paint]).picture.sample(320, 180) == Sample(red.y, 128, 128))
    #expect(!compositor.compose([paint]).isChanged)
    paint.processor = .mask
    #expect(compositor.compose([paint]).picture.sample(10, 10) != Sample(red.y, 128, 128))
    paint.processor = nil
    #expect(compositor.compose([paint]).picture.sample(320, 180) == red)
  }
}
