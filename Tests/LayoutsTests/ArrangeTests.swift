import LayoutFiles
import Layouts
import MediaCore
import Testing

@Suite struct ArrangeTests {
  private func once(_ layout: Layout, _ sources: [LayoutSource], talker: TileKey? = nil) -> [VideoLayer] {
    var arranger = Arranger(layout: layout, canvas: hd)
    return arranger.arrange(RoomView(sources: sources, talkers: talker.map { [$0] } ?? [])).layers
  }

  @Test func theEmptyRoomHasNoTiles() {
    for layout in [Layout.grid, .speaker] { #expect(once(layout, []).isEmpty) }
  }

  @Test func somebodyAloneIsFullInTheSpeakerLayout() {
    let layers = once(.speaker, cameras(1))
    #expect(layers.map(\.rect) == [PixelRect(x: 0, y: 0, width: 1280, height: 720)])
    #expect(layers.first?.cornerRadius == 0)
  }

  @Test func gapsOfAFullGridAreEven() throws {
    #expect(
      once(.grid, cameras(4)).map(\.rect) == [
        PixelRect(x: 12, y: 12, width: 622, height: 342), PixelRect(x: 646, y: 12, width: 622, height: 342),
        PixelRect(x: 12, y: 366, width: 622, height: 342), PixelRect(x: 646, y: 366, width: 622, height: 342),
      ])
  }

  @Test func theLastRowOfAGridIsCentred() throws {
    let last = once(.grid, cameras(5)).suffix(2).map(\.rect)
    let left = try #require(last.first)
    let right = try #require(last.last)
    #expect(abs(left.x - (1280 - right.x - right.width)) <= 2)
  }

  @Test func tooManyForTheGridAreCounted() {
    let layers = once(.grid, cameras(30))
    #expect(layers.count == 25)
    #expect(layers.last?.key == .overflow(6))
  }

  @Test func anOverflowingGridKeepsPicturesAndTheTalker() {
    var sources = cameras(30)
    for index in 0..<10 { sources[index].hasPicture = false }
    let quiet = once(.grid, sources)
    for number in 11...30 { #expect(quiet.contains { $0.key == camera(number) }) }
    #expect(once(.grid, sources, talker: camera(10)).contains { $0.key == camera(10) })
  }

  @Test func aRegionOfTheNewestKeepsThePinnedAndTheTalker() throws {
    let newest = try region("show: everyone, max-tiles: 3, overflow: reuse-newest")
    var arranger = Arranger(layout: newest, canvas: hd)
    #expect(arranger.arrange(RoomView(sources: cameras(9))).layers.map(\.key) == [camera(7), camera(8), camera(9)])
    let talking = arranger.arrange(RoomView(sources: cameras(9), talkers: [camera(2)])).layers.map(\.key)
    #expect(Set(talking) == [camera(2), camera(8), camera(9)])
    let held = arranger.arrange(
      RoomView(sources: cameras(9), talkers: [camera(2)], pinned: [camera(1)], spotlight: camera(4)))
    #expect(Set(held.layers.map(\.key)) == [camera(1), camera(4), camera(2)])
  }

  @Test func theTalkerIsLarge() {
    let layers = once(.speaker, cameras(4), talker: camera(3))
    #expect(layers.filter(\.isLarge).map(\.key) == [camera(3)])
  }

  @Test func beforeAnybodyTalksTheFirstPictureIsLarge() {
    var sources = cameras(3)
    sources[0].hasPicture = false
    #expect(once(.speaker, sources).first?.key == camera(2))
    sources[1].hasPicture = false
    sources[2].hasPicture = false
    #expect(once(.speaker, sources).first?.key == camera(1))
  }

  @Test func whenTheTalkerChangesNobodyElseMoves() {
    for old in 1...6 {
      for new in 1...6 {
        var arranger = Arranger(layout: .speaker, canvas: hd)
        let before = arranger.arrange(RoomView(sources: cameras(6), talkers: [camera(old)])).layers
        let after = arranger.arrange(RoomView(sources: cameras(6), talkers: [camera(new), camera(old)])).layers
        #expect(before.map(\.rect) == after.map(\.rect))
        let moved = Set(zip(before, after).filter { $0.key != $1.key }.flatMap { [$0.key, $1.key] })
        #expect(moved == (old == new ? [] : [camera(old), camera(new)]))
      }
    }
  }

  @Test func aTalkerWhoWasLeftOutTakesThePlaceOfOneAndNobodyElseMoves() {
    var arranger = Arranger(layout: .grid, canvas: hd)
    let before = arranger.arrange(RoomView(sources: cameras(30), talkers: [camera(1)])).layers
    let after = arranger.arrange(RoomView(sources: cameras(30), talkers: [camera(29), camera(1)])).layers
    #expect(zip(before, after).filter { $0 != $1 }.map(\.1.key) == [camera(29)])
    #expect(arranger.arrange(RoomView(sources: cameras(30), talkers: [camera(1)])).layers == before)
  }

  @Test func whoeverLeavesTheGapIsClosedAndWhoeverComesIsLast() {
    var arranger = Arranger(layout: .grid, canvas: hd)
    var sources = cameras(5)
    _ = arranger.arrange(RoomView(sources: sources))
    sources.remove(at: 1)
    #expect(arranger.arrange(RoomView(sources: sources)).layers.map(\.key) == [1, 3, 4, 5].map(camera))
    sources.insert(LayoutSource(key: camera(2)), at: 1)
    #expect(arranger.arrange(RoomView(sources: sources)).layers.map(\.key) == [1, 3, 4, 5, 2].map(camera))
  }

  @Test func aSharedScreenTakesTheLargePlaceInBothLayouts() {
    for layout in [Layout.grid, .speaker] {
      let layers = once(layout, cameras(3) + [shared(2)], talker: camera(3))
      #expect(layers.map(\.key) == [screen(2), camera(1), camera(2), camera(3)])
    }
  }

  @Test func aSharedScreensTileHasItsShape() throws {
    let layer = try #require(once(.grid, cameras(3) + [shared(2)]).first)
    #expect(layer.rect == PixelRect(x: 12, y: 66, width: 1040, height: 586))
    #expect(layer.isLarge)
  }

  @Test func aSecondShareDoesNotTakeThePlaceOfTheFirst() {
    #expect(once(.speaker, cameras(2) + [shared(2), shared(1)], talker: camera(1)).first?.key == screen(2))
  }

  @Test(arguments: [
    (1280, 720, Fit.cover), (640, 480, .cover), (0, 0, .cover), (-4, 3, .cover), (1, 65_535, .contain),
    (720, 1280, .contain), (4000, 500, .contain), (Int.max, Int.max, .cover),
  ])
  func aCameraFillsItsTileUnlessTooMuchIsCutOff(width: Int, height: Int, fit: Fit) {
    let source = LayoutSource(key: camera(1), pictureWidth: width, pictureHeight: height)
    #expect(once(.speaker, [source]).map(\.fit) == [fit])
  }

  @Test func aKeyThatOccursTwiceCountsOnce() { #expect(once(.grid, cameras(2) + cameras(2)).count == 2) }

  @Test func thePinnedAndTheSpotlightAreNeverLeftOut() {
    var arranger = Arranger(layout: .grid, canvas: hd)
    let view = RoomView(
      sources: cameras(30), talkers: [camera(28)], pinned: [camera(30), camera(29)], spotlight: camera(27))
    let keys = arranger.arrange(view).layers.map(\.key)
    for number in 27...30 { #expect(keys.contains(camera(number))) }
    var speaker = Arranger(layout: .speaker, canvas: hd)
    #expect(speaker.arrange(view).layers.first?.key == camera(27))
    #expect(speaker.arrange(RoomView(sources: cameras(9), pinned: [camera(5)])).layers.first?.key == camera(5))
  }

  @Test func whoHasLeftIsNotTheTalkerAnyMore() {
    var arranger = Arranger(layout: .speaker, canvas: hd)
    let view = RoomView(sources: cameras(3), talkers: [camera(9), camera(2)])
    #expect(arranger.arrange(view).layers.first?.key == camera(1))
  }

  // MARK: Regions

  @Test func orderByNameIsKeptWhateverHappens() throws {
    var arranger = Arranger(layout: try region("show: everyone, order: name"), canvas: hd)
    var sources = cameras(3)
    for (index, name) in ["Zoe", "ada", "Moe"].enumerated() { sources[index].displayName = name }
    #expect(arranger.arrange(RoomView(sources: sources)).layers.map(\.key) == [2, 3, 1].map(camera))
    sources.append(LayoutSource(key: camera(4), displayName: "Bob"))
    #expect(arranger.arrange(RoomView(sources: sources)).layers.map(\.key) == [2, 4, 3, 1].map(camera))
  }

  @Test func thoseWhoTalkedLastAreShownAndKeepTheirPlaces() throws {
    var arranger = Arranger(
      layout: try region("show: everyone, order: talking, max-tiles: 3, overflow: none"), canvas: hd)
    func keys(_ talkers: [Int]) -> [TileKey] {
      arranger.arrange(RoomView(sources: cameras(6), talkers: talkers.map(camera))).layers.map(\.key)
    }
    #expect(keys([]) == [1, 2, 3].map(camera))
    #expect(keys([2]) == [1, 2, 3].map(camera))
    #expect(keys([5, 2]) == [1, 2, 5].map(camera))
    #expect(keys([6, 5, 2]) == [6, 2, 5].map(camera))
    #expect(keys([2, 6, 5]) == [6, 2, 5].map(camera))
  }

  @Test func listedNamesStandInTheirOrder() throws {
    var arranger = Arranger(
      layout: try region(##"show: ["person:host", talker, others], hide: "person:p4""##), canvas: hd)
    var sources = cameras(4)
    #expect(
      arranger.arrange(RoomView(sources: sources, talkers: [camera(3)])).layers.map(\.key) == [3, 1, 2].map(camera))
    sources.append(LayoutSource(key: camera(5), displayName: "Host"))
    #expect(arranger.arrange(RoomView(sources: sources)).layers.map(\.key) == [5, 3, 1, 2].map(camera))
  }

  @Test func onePersonsCameraIsNobodyElses() {
    var arranger = Arranger(layout: .camera(of: ParticipantIdentity("p2")), canvas: hd)
    var sources = cameras(4)
    // Who takes another's identity for a name is not shown for them, and nobody for who is not there.
    sources.append(LayoutSource(key: camera(5), displayName: "p2"))
    sources.append(shared(2))
    let shown = arranger.arrange(RoomView(sources: sources, talkers: [camera(3)]))
    #expect(shown.layers.map(\.key) == [camera(2)])
    #expect(shown.layers.first?.rect == PixelRect(x: 0, y: 0, width: hd.width, height: hd.height))
    sources.removeAll { $0.key == camera(2) }
    #expect(arranger.arrange(RoomView(sources: sources)).layers.isEmpty)
  }

  @Test func pagesTurnByTimeAndKeepTheTalker() throws {
    var arranger = Arranger(
      layout: try region("show: everyone, overflow: page, max-tiles: 4, page-time: 5s"), canvas: hd)
    func page(_ seconds: Int64, talker: TileKey? = nil) -> Arrangement {
      arranger.arrange(
        RoomView(sources: cameras(7), talkers: talker.map { [$0] } ?? [], time: .milliseconds(seconds * 1000 + 1)))
    }
    #expect(page(0).layers.map(\.key) == [1, 2, 3, 4].map(camera))
    #expect(page(0).validUntil == .seconds(5))
    #expect(page(5).layers.map(\.key) == [5, 6, 7].map(camera))
    #expect(page(5, talker: camera(2)).layers.map(\.key) == [5, 6, 2].map(camera))
    #expect(page(10).layers.map(\.key) == [1, 2, 3, 4].map(camera))
    #expect(arranger.arrange(RoomView(sources: cameras(4))).validUntil == nil)
  }

  @Test func peopleWithoutVideoHaveCardsSmallCardsOrNothing() throws {
    var sources = cameras(6)
    for index in [1, 3] { sources[index].hasPicture = false }
    func layers(_ rule: String) throws -> [VideoLayer] {
      once(try region("show: everyone, without-video: \(rule)"), sources)
    }
    #expect(try layers("card").map(\.key) == [1, 2, 3, 4, 5, 6].map(camera))
    #expect(try layers("none").map(\.key) == [1, 3, 5, 6].map(camera))
    let small = try layers("small")
    #expect(small.filter(\.look.smallCard).map(\.key) == [2, 4].map(camera))
    #expect(small.filter { !$0.look.smallCard }.map(\.key) == [1, 3, 5, 6].map(camera))
    // When nobody has video, nobody is small.
    for index in sources.indices { sources[index].hasPicture = false }
    #expect(try layers("small").allSatisfy { !$0.look.smallCard })
  }

  @Test func newestOrOldestAreShownWhenThereAreTooMany() throws {
    let newest = try region("show: everyone, overflow: reuse-newest, max-tiles: 2")
    #expect(Set(once(newest, cameras(5)).map(\.key)) == [camera(4), camera(5)])
    let oldest = try region("show: everyone, overflow: reuse-oldest, max-tiles: 2")
    #expect(Set(once(oldest, cameras(5)).map(\.key)) == [camera(1), camera(2)])
  }

  @Test func tilesAreAlignedAsTheRegionSays() throws {
    func rect(_ align: String) throws -> PixelRect? {
      once(try region("show: everyone, shape: \"1:1\", align: \(align)"), cameras(1)).first?.rect
    }
    #expect(try rect("start") == PixelRect(x: 0, y: 0, width: 720, height: 720))
    #expect(try rect("[end, start]") == PixelRect(x: 560, y: 0, width: 720, height: 720))
    #expect(try rect("center") == PixelRect(x: 280, y: 0, width: 720, height: 720))
  }

  @Test func steadyTilesKeepTheirSize() throws {
    let layout = try region("show: everyone, cells: steady, max-rows: 1, max-tiles: 4")
    let one = once(layout, cameras(1)).map(\.rect)
    let four = once(layout, cameras(4)).map(\.rect)
    #expect(one.first?.width == four.first?.width)
    #expect(one.first.map { abs($0.x + $0.width / 2 - 640) <= 2 } == true)
  }

  // MARK: Scenes

  @Test func theFirstSceneWhoseConditionHoldsIsInForce() throws {
    let text = """
      scenes:
        - {name: duet, when: {people: 2}, regions: [{show: everyone}]}
        - {name: crowd, when: {people: 5+}, regions: [{show: everyone}]}
        - {name: shared, when: [{screens: 1+}, {present: "track:board*"}], regions: [{show: everyone}]}
        - {name: dark, when: {cameras: 0, people: 1-4}, regions: [{show: everyone}]}
        - {name: pinned, when: {pinned: 1+}, regions: [{show: everyone}]}
        - {name: talk, when: {talkers: 2+, absent: "person:p4"}, regions: [{show: everyone}]}
        - {name: upright, when: {canvas: [portrait, square]}, regions: [{show: everyone}]}
        - {name: rest, regions: [{show: everyone}]}
      """
    let layout = try layout(text)
    func scene(_ view: RoomView, canvas: CanvasSize = hd) -> String {
      var arranger = Arranger(layout: layout, canvas: canvas)
      return arranger.arrange(view).scene
    }
    #expect(scene(RoomView(sources: cameras(2))) == "duet")
    #expect(scene(RoomView(sources: cameras(5) + [shared(1)])) == "crowd")
    #expect(scene(RoomView(sources: cameras(3) + [shared(1)])) == "shared")
    var board = cameras(3)
    board[0].trackName = "board 1"
    #expect(scene(RoomView(sources: board)) == "shared")
    #expect(scene(RoomView(sources: [LayoutSource(key: camera(1), hasPicture: false)])) == "dark")
    #expect(scene(RoomView(sources: cameras(3), pinned: [camera(2)])) == "pinned")
    #expect(scene(RoomView(sources: cameras(3), spotlight: camera(2))) == "pinned")
    #expect(scene(RoomView(sources: cameras(3), talkers: [camera(1), camera(2)])) == "talk")
    #expect(scene(RoomView(sources: cameras(4), talkers: [camera(1), camera(2)])) == "rest")
    #expect(scene(RoomView(sources: cameras(3)), canvas: CanvasSize(width: 720, height: 1280)) == "upright")
    #expect(scene(RoomView(sources: cameras(3)), canvas: CanvasSize(width: 720, height: 720)) == "upright")
    #expect(scene(RoomView(sources: cameras(3))) == "rest")
  }

  @Test func aRegionShowsWhatThoseBeforeItDoNot() throws {
    let text = """
      scenes:
        - regions:
            - {name: a, width: 50%, show: talker}
            - {name: b, x: 50%, height: 50%, show: everyone, max-tiles: 1, overflow: none}
            - {name: c, x: 50%, y: 50%, height: 25%, show: everyone}
            - {name: d, x: 50%, y: 75%, show: everyone, repeat: yes}
      """
    let layers = once(try layout(text), cameras(4), talker: camera(2))
    func keys(_ region: String) -> [TileKey] { layers.filter { $0.region == region }.map(\.key) }
    #expect(keys("a") == [camera(2)])
    #expect(keys("b") == [camera(1)])
    #expect(keys("c") == [camera(3), camera(4)])
    #expect(keys("d") == [1, 2, 3, 4].map(camera))
  }

  @Test func aLayoutWithTheSameScenesKeepsTheSeats() {
    var arranger = Arranger(layout: .speaker, canvas: hd)
    _ = arranger.arrange(RoomView(sources: cameras(5), talkers: [camera(4)]))
    let before = arranger.arrange(RoomView(sources: cameras(5), talkers: [camera(2), camera(4)])).layers
    var light = Layout.speaker
    light.theme = .light
    arranger.setLayout(light)
    #expect(arranger.arrange(RoomView(sources: cameras(5), talkers: [camera(2), camera(4)])).layers == before)
    arranger.setLayout(.grid)
    #expect(arranger.arrange(RoomView(sources: cameras(5))).layers.map(\.key) == [1, 2, 3, 4, 5].map(camera))
  }
}
