import Layouts
import MediaCore
import Testing

/// `count` cameras p1, p2, … in the order of joining.
func cameras(_ count: Int) -> [LayoutSource] { (1...max(1, count)).prefix(count).map { LayoutSource(key: camera($0)) } }

func camera(_ number: Int) -> TileKey { .camera(ParticipantIdentity("p\(number)")) }

func screen(_ number: Int) -> TileKey { .screenShare(ParticipantIdentity("p\(number)")) }

let hd = CanvasSize(width: 1280, height: 720)

@Suite struct ArrangeTests {
  @Test func theEmptyRoomHasNoTiles() {
    for layout in LayoutName.allCases { #expect(arrange(layout: layout, canvas: hd, sources: []).isEmpty) }
  }

  @Test func somebodyAloneIsFullInTheSpeakerLayout() {
    let layers = arrange(layout: .speaker, canvas: hd, sources: cameras(1))
    #expect(layers.map(\.rect) == [PixelRect(x: 0, y: 0, width: 1280, height: 720)])
    #expect(layers.first?.cornerRadius == 0)
  }

  @Test func gapsOfAFullGridAreEven() throws {
    let layers = arrange(layout: .grid, canvas: hd, sources: cameras(4))
    #expect(
      layers.map(\.rect) == [
        PixelRect(x: 12, y: 12, width: 622, height: 342), PixelRect(x: 646, y: 12, width: 622, height: 342),
        PixelRect(x: 12, y: 366, width: 622, height: 342), PixelRect(x: 646, y: 366, width: 622, height: 342),
      ])
  }

  @Test func theLastRowOfAGridIsCentred() throws {
    let layers = arrange(layout: .grid, canvas: hd, sources: cameras(5))
    let last = layers.suffix(2).map(\.rect)
    let left = try #require(last.first)
    let right = try #require(last.last)
    #expect(abs(left.x - (1280 - right.x - right.width)) <= 2)
  }

  @Test func tooManyForTheGridAreCounted() {
    let layers = arrange(layout: .grid, canvas: hd, sources: cameras(30))
    #expect(layers.count == 25)
    #expect(layers.last?.key == .overflow(6))
  }

  @Test func anOverflowingGridKeepsPicturesAndTheTalker() {
    var sources = cameras(30)
    for index in 0..<10 { sources[index].hasPicture = false }
    let quiet = arrange(layout: .grid, canvas: hd, sources: sources)
    for number in 11...30 { #expect(quiet.contains { $0.key == camera(number) }) }
    let talking = arrange(layout: .grid, canvas: hd, sources: sources, talker: camera(10))
    #expect(talking.contains { $0.key == camera(10) })
    #expect(zip(quiet, talking).filter { $0 != $1 }.count == 1)
  }

  @Test func theTalkerIsLarge() {
    let layers = arrange(layout: .speaker, canvas: hd, sources: cameras(4), talker: camera(3))
    #expect(layers.first?.key == camera(3))
    #expect(layers.first?.isLarge == true)
    #expect(layers.filter(\.isLarge).count == 1)
  }

  @Test func beforeAnybodyTalksTheFirstPictureIsLarge() {
    var sources = cameras(3)
    sources[0].hasPicture = false
    #expect(arrange(layout: .speaker, canvas: hd, sources: sources).first?.key == camera(2))
    sources[1].hasPicture = false
    sources[2].hasPicture = false
    #expect(arrange(layout: .speaker, canvas: hd, sources: sources).first?.key == camera(1))
  }

  @Test func whenTheTalkerChangesNobodyElseMoves() {
    let sources = cameras(6)
    for old in 1...6 {
      for new in 1...6 {
        var arranger = Arranger(layout: .speaker, canvas: hd)
        let before = arranger.arrange(RoomView(sources: sources, talkers: [camera(old)])).layers
        let after = arranger.arrange(RoomView(sources: sources, talkers: [camera(new), camera(old)])).layers
        #expect(before.map(\.rect) == after.map(\.rect))
        let moved = Set(zip(before, after).filter { $0.key != $1.key }.flatMap { [$0.key, $1.key] })
        #expect(moved == (old == new ? [] : [camera(old), camera(new)]))
      }
    }
  }

  @Test func aSharedScreenTakesTheLargePlaceInBothLayouts() {
    let sources = cameras(3) + [LayoutSource(key: screen(2))]
    for layout in LayoutName.allCases {
      let layers = arrange(layout: layout, canvas: hd, sources: sources, talker: camera(3))
      #expect(layers.map(\.key) == [screen(2), camera(1), camera(2), camera(3)])
      #expect(layers.first?.fit == .contain)
    }
  }

  @Test func aSecondShareDoesNotTakeThePlaceOfTheFirst() {
    let sources = cameras(2) + [LayoutSource(key: screen(2)), LayoutSource(key: screen(1))]
    #expect(arrange(layout: .speaker, canvas: hd, sources: sources, talker: camera(1)).first?.key == screen(2))
  }

  @Test func theTalkerIsSeenBesideASharedScreenHoweverManyThereAre() {
    let sources = cameras(20) + [LayoutSource(key: screen(1))]
    for number in 1...20 {
      let layers = arrange(layout: .speaker, canvas: hd, sources: sources, talker: camera(number))
      #expect(layers.contains { $0.key == camera(number) })
      #expect(layers.last?.key == .overflow(16))
    }
  }

  @Test func theStripIsAtTheBottomOfAPortraitCanvas() {
    let layers = arrange(layout: .speaker, canvas: CanvasSize(width: 720, height: 1280), sources: cameras(4))
    #expect(Set(layers.dropFirst().map(\.rect.y)).count == 1)
    #expect(layers.dropFirst().allSatisfy { $0.rect.y > 1280 / 2 })
  }

  @Test(arguments: [
    (1280, 720, Fit.cover), (640, 480, .cover), (0, 0, .cover), (-4, 3, .cover), (1, 65_535, .contain),
    (720, 1280, .contain), (3000, 500, .contain), (Int.max, Int.max, .cover),
  ])
  func aCameraFillsItsTileUnlessTooMuchIsCutOff(width: Int, height: Int, fit: Fit) {
    let source = LayoutSource(key: camera(1), pictureWidth: width, pictureHeight: height)
    #expect(arrange(layout: .speaker, canvas: hd, sources: [source]).map(\.fit) == [fit])
  }

  @Test func aKeyThatOccursTwiceCountsOnce() {
    #expect(arrange(layout: .grid, canvas: hd, sources: cameras(2) + cameras(2)).count == 2)
  }
}

@Suite struct NameTests {
  @Test func canvasSizesAreReadAsTheyAreWritten() {
    #expect(CanvasSize(text: "1280x720") == hd)
    #expect(hd.description == "1280x720")
    for bad in [
      "", "x", "1280", "1280x", "1281x720", "62x64", "4098x720", "1280x720x2", "+640x360", "99999999999999999999x2",
    ] {
      #expect(CanvasSize(text: bad) == nil, "\(bad)")
    }
  }

  @Test func canvasSizesAreBroughtIntoTheirLimits() {
    #expect(CanvasSize(width: -3, height: Int.max) == CanvasSize(width: 64, height: 4096))
    #expect(CanvasSize(width: 641, height: 361).description == "640x360")
  }

  @Test func layoutsAreFoundByName() {
    #expect(LayoutName(text: "Grid") == .grid)
    #expect(LayoutName(text: "speaker") == .speaker)
    #expect(LayoutName(text: "mosaic") == nil)
    #expect(LayoutName.names == "grid, speaker")
  }
}
