import Layouts
import MediaCore
import Testing

@testable import Compositor

@Suite struct LookTests {
  private let white = Sample(235, 128, 128)
  private let grey = Sample(126, 128, 128)
  /// Where the label of a tile in `middleRect` begins.
  private let labelRect = PixelRect(x: 330, y: 500, width: 100, height: 28)

  @Test func aNameStandsInTheLowerLeftOnADarkPill() {
    let plain = PictureCompositor(canvas: hd).compose([tile(.video(.plain(white)), middleRect)]).picture
    #expect(plain.lumaRange(labelRect) == 235...235)
    let named = PictureCompositor(canvas: hd).compose([tile(.video(.plain(white)), middleRect, name: "Ada Lovelace")])
      .picture
    let range = named.lumaRange(labelRect)
    #expect(range.lowerBound < 120 && range.upperBound > 200)
  }

  @Test func namesAreLegibleAtTheSmallestUsualSize() {
    let canvas = CanvasSize(width: 640, height: 360)
    let sources = (1...9).map { LayoutSource(key: camera($0)) }
    let layers = arranged(.grid, canvas, sources)
    let tiles = layers.map { TilePaint(layer: $0, content: .video(.plain(grey)), name: "Ada Lovelace") }
    let picture = PictureCompositor(canvas: canvas).compose(tiles).picture
    for layer in layers {
      let rect = layer.rect
      let label = PixelRect(x: rect.x + 6, y: rect.y + rect.height - 26, width: 80, height: 20)
      // Text on its pill, strokes nearly as bright as the text's colour.
      #expect(picture.lumaRange(label).lowerBound < 70)
      #expect(picture.lumaRange(label).upperBound > 200)
    }
  }

  @Test func aLongNameStaysInItsTile() {
    let name = String(repeating: "Wolfeschlegelsteinhausen", count: 20)
    let rect = PixelRect(x: 320, y: 180, width: 128, height: 80)
    let picture = PictureCompositor(canvas: hd).compose([tile(.video(.plain(grey)), rect, name: name)]).picture
    #expect(picture.lumaRange(PixelRect(x: 448, y: 180, width: 300, height: 80)) == background.y...background.y)
  }

  @Test func markupAndControlCharactersAreOnlyText() {
    #expect(NameText.cleaned("<b>Ada</b> &amp; Bob") == "<b>Ada</b> &amp; Bob")
    #expect(NameText.cleaned("\u{0}\u{1b}[31mA\r\n\tda\u{202e}\u{2066} \u{feff} ") == "[31mA da")
    #expect(NameText.cleaned(String(repeating: "x", count: 100_000)).count == NameText.maximumCharacters)
    let zalgo = "a" + String(repeating: "\u{301}", count: 100_000)
    #expect(NameText.cleaned(zalgo).unicodeScalars.count <= NameText.maximumScalars)
    #expect(NameText.cleaned("👩‍👩‍👧 می‌خواهم") == "👩‍👩‍👧 می‌خواهم")
    #expect(NameText.cleaned("") == "")
  }

  @Test(arguments: [
    ("Ada Lovelace", "AL"), ("ada", "A"), ("Juan Carlos de la Vega", "JV"), ("anna.berg", "AB"), ("王小明", "王"),
    ("ليلى حسن", "ل ح"), ("김 민수", "김"), ("प्रिया रघुनाथन", "प्रि र"), ("", ""), ("🎉", ""), ("🎉 Bo", "B"), ("  ", ""),
    ("straße ßa", "SS"), ("guest-42", "G"),
    ("ada@example.org", "AO"),
  ])
  func initialsAreOfTheFirstAndTheLastWord(name: String, initials: String) {
    #expect(NameText.initials(NameText.cleaned(name)) == initials)
  }

  @Test func aMutedMicrophoneIsShownBeforeTheName() {
    func label(isMuted: Bool) -> [UInt8] {
      var paint = tile(.video(.plain(white)), middleRect, name: "Ada")
      paint.isMuted = isMuted
      return PictureCompositor(canvas: hd).compose([paint]).picture.bytes
    }
    #expect(label(isMuted: true) != label(isMuted: false))
    var nameless = tile(.video(.plain(white)), middleRect)
    nameless.isMuted = true
    let picture = PictureCompositor(canvas: hd).compose([nameless]).picture
    // The stroke's red.
    var isRed = false
    for y in labelRect.y..<labelRect.y + labelRect.height {
      for x in labelRect.x..<labelRect.x + 30 where picture.sample(x, y).v > 145 { isRed = true }
    }
    #expect(isRed)
  }

  @Test(arguments: CardReason.allCases) func whereNobodysPictureIsShownNoCardSaysThatOneIsMissing(reason: CardReason) {
    var paint = tile(.card(reason), middleRect, name: "Ada")
    paint.layer.look.video = false
    #expect(paint.cardReason == (reason == .reconnecting ? .reconnecting : .audioOnly))
  }

  @Test func theTalkerIsOutlinedInsideTheTile() {
    var paint = tile(.video(.plain(grey)), middleRect)
    paint.isTalking = true
    let picture = PictureCompositor(canvas: hd).compose([paint]).picture
    let ring = Sample(Theme.dark.talker)
    for (x, y) in [(640, 180), (640, 183), (640, 539), (320, 360), (959, 360)] {
      #expect(picture.sample(x, y) == ring, "\(x),\(y)")
    }
    #expect(picture.sample(640, 184) == grey)
    #expect(picture.sample(640, 179) == background)
    #expect(picture.sample(320, 180).isNear(background))
    // No gap on the diagonal of the rounded corner.
    #expect((0..<12).contains { picture.sample(320 + $0, 180 + $0).isNear(ring, by: 24) })
  }

  @Test func theOutlineGoesWithTheTalker() {
    let compositor = PictureCompositor(canvas: hd)
    var paint = tile(.video(.plain(grey)), middleRect)
    let silent = compositor.compose([paint]).picture.bytes
    paint.isTalking = true
    #expect(compositor.compose([paint]).picture.bytes != silent)
    paint.isTalking = false
    #expect(compositor.compose([paint]).picture.bytes == silent)
  }

  @Test(arguments: CardReason.allCases)
  func aCardHasADiscOfThePersonsColourAndSaysWhy(reason: CardReason) {
    let picture = PictureCompositor(canvas: hd).compose([tile(.card(reason), middleRect, name: "Ada Lovelace")]).picture
    let disc = (0..<640).map { picture.sample(320 + $0, 360 - (reason == .audioOnly ? 50 : 60)) }
    #expect(Theme.dark.avatars.contains { colour in disc.contains { $0.isNear(Sample(colour)) } })
    let words = picture.lumaRange(PixelRect(x: 560, y: 430, width: 160, height: 40))
    #expect((words.upperBound > 120) == !reason.text.isEmpty)
  }

  @Test func everyReasonLooksDifferent() {
    let pictures = CardReason.allCases.map {
      PictureCompositor(canvas: hd).compose([tile(.card($0), middleRect, name: "Ada")]).picture.bytes
    }
    #expect(Set(pictures).count == CardReason.allCases.count)
  }

  /// In the grid of nine, the smallest usual one; the column beside a large speaker has faces and names only.
  @Test func theReasonIsSaidWhereThereIsRoomForIt() {
    let canvas = CanvasSize(width: 640, height: 360)
    let sources = (1...9).map { LayoutSource(key: camera($0)) }
    func pictures(_ layers: [VideoLayer]) -> Int {
      Set(
        [CardReason.cameraOff, .noSignal].map { reason in
          let tiles = layers.map { TilePaint(layer: $0, content: .card(reason), name: "Ada") }
          return PictureCompositor(canvas: canvas).compose(tiles).picture.bytes
        }
      ).count
    }
    #expect(pictures(arranged(.grid, canvas, sources)) == 2)
    #expect(pictures(Array(arranged(.speaker, canvas, sources).dropFirst().dropLast())) == 1)
  }

  @Test(arguments: [(130, 73), (100, 64), (240, 135), (96, 54), (56, 100), (200, 112)])
  func aNameLeavesTheFaceFree(width: Int, height: Int) {
    for shortSide in [360, 720, 1080] {
      let design = TileDesign(width: width, height: height, fillsCanvas: false, shortSide: shortSide)
      #expect(design.labelSize >= 9)
      // What a label takes of the height: 1.7 times its letters.
      #expect(Double(design.labelSize) * 1.7 + Double(design.labelInset) <= 0.34 * Double(height))
    }
  }

  @Test func aLostConnectionDimsTheLastPicture() {
    var paint = tile(.video(.plain(white)), middleRect)
    paint.isDimmed = true
    let picture = PictureCompositor(canvas: hd).compose([paint]).picture
    #expect((60...150).contains(picture.sample(400, 250).y))
    #expect(picture.lumaRange(PixelRect(x: 580, y: 345, width: 120, height: 30)).upperBound > 200)
  }

  @Test func peopleWithoutATileAreCounted() {
    let layer = VideoLayer(key: .overflow(7), rect: middleRect, cornerRadius: 12)
    let picture = PictureCompositor(canvas: hd).compose([TilePaint(layer: layer, content: .card(.audioOnly))]).picture
    #expect(picture.sample(400, 250) == Sample(Theme.dark.tile))
    #expect(picture.lumaRange(PixelRect(x: 600, y: 330, width: 80, height: 60)).upperBound > 200)
  }

  @Test func theEmptyRoomSaysSo() {
    let compositor = PictureCompositor(canvas: hd)
    let first = compositor.compose([])
    #expect(first.isChanged)
    #expect(first.picture.sample(10, 10) == background)
    #expect(first.picture.lumaRange(PixelRect(x: 480, y: 330, width: 320, height: 60)).upperBound > 120)
    #expect(!compositor.compose([]).isChanged)
    #expect(compositor.compose([], notice: .reconnecting).isChanged)
  }
}
