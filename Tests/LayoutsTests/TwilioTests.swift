import Foundation
import LayoutFiles
import Layouts
import MediaCore
import TestKit
import Testing

@Suite struct TwilioTests {
  private static let recipes = [
    "room", "main-with-row", "main-with-pip", "main-with-column-and-pip", "mosaic", "chess", "sequence", "row-by-sid",
  ]

  private static func read(_ recipe: String) throws -> Layout {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Twilio/\(recipe).json")
    return try LayoutStore().layout("twilio:\(file.path)", canvas: hd)
  }

  private static func read(json: String, canvas: CanvasSize? = hd) throws -> Layout {
    try TwilioReader.read(json, file: "t.json", canvas: canvas)
  }

  /// A teacher with camera and screen, and students s1, s2, …
  private static func school(_ students: Int) -> [LayoutSource] {
    var sources = [
      LayoutSource(
        key: camera(0), pictureWidth: 640, pictureHeight: 480, trackName: "teacher-webcam-video", trackID: "MT0000"),
      LayoutSource(
        key: screen(0), pictureWidth: 1280, pictureHeight: 720, trackName: "teacher-screen-video", trackID: "MT1000"),
    ]
    for number in 1...max(1, students) where number <= students {
      sources.append(student(number))
    }
    return sources
  }

  private static func student(_ number: Int) -> LayoutSource {
    LayoutSource(
      key: camera(number), pictureWidth: 640, pictureHeight: 360, trackName: "student-\(number)",
      trackID: "MT000\(number)")
  }

  @Test(arguments: recipes)
  func recipesAreLaidOutAsTheyAreWritten(recipe: String) throws {
    let layout = try Self.read(recipe)
    var text = ""
    for students in [0, 1, 2, 3, 4, 5, 6, 9, 12] {
      var arranger = Arranger(layout: layout, canvas: hd)
      let arrangement = arranger.arrange(RoomView(sources: Self.school(students)))
      text += "\(students) students\n" + describe(arrangement)
    }
    #expect(try golden("twilio-\(recipe).txt", text))
    // Everything is black but the pictures, and nothing is written on them.
    #expect(layout.background == .color(.black))
    for region in layout.scenes.flatMap(\.regions) {
      #expect(region.look == TileLook(name: .none, muteIcon: false, talkerOutline: false, marks: false, ground: .black))
    }
  }

  @Test(arguments: recipes)
  func recipesCanBeWrittenInTheLanguage(recipe: String) throws {
    let layout = try Self.read(recipe)
    #expect(try LayoutReader.read(layout.canonicalText, file: "c.yaml", name: "c", canvas: hd) == layout)
  }

  @Test func whatIsNotGivenHasTwiliosDefaults() throws {
    let region = try #require(try Self.read(json: #"{"a": {"video_sources": ["*"]}}"#).scenes.first?.regions.first)
    #expect(region.rect(on: hd) == PixelRect(x: 0, y: 0, width: 1280, height: 720))
    #expect(region.z == 0)
    #expect(region.maximumRows == nil && region.maximumColumns == nil)
    #expect(region.overflow == .reuseOldest)
    #expect(region.cellsExcluded.isEmpty)
    let other = try Self.read(json: #"{"a": {"video_sources": [], "x_pos": 101, "y_pos": 51, "max_rows": 0}}"#)
    #expect(other.scenes.first?.regions.first?.rect(on: hd) == PixelRect(x: 100, y: 50, width: 1180, height: 670))
  }

  @Test func oddNumbersAreRoundedDown() throws {
    let layout = try Self.read(json: #"{"a": {"video_sources": ["*"], "x_pos": 11, "width": 101, "height": 77}}"#)
    #expect(layout.scenes.first?.regions.first?.rect(on: hd) == PixelRect(x: 10, y: 0, width: 100, height: 76))
  }

  @Test func theResourceGivesItsResolution() throws {
    #expect(try Self.read("mosaic").canvas == hd)
    let json = #"{"resolution": "640x480", "video_layout": {"a": {"video_sources": ["*"], "x_pos": 700}}}"#
    let error = #expect(throws: LayoutError.self) { try Self.read(json: json, canvas: nil) }
    #expect(error?.description.contains("x_pos") == true)
  }

  @Test(arguments: [
    (#"{"#, "1:2: a name in double quotes is expected"), ("", "1:1: the text ends where a value is expected"),
    ("[]", "1:1: a video_layout must be an object of regions"), ("{}", "1:1: the layout has no region"),
    (#"{"a": {}}"#, "1:7: the region 'a' needs 'video_sources'"),
    (#"{"a": {"video_source": ["*"]}}"#, "did you mean 'video_sources'?"),
    (#"{"a": {"video_sources": "*"}}"#, "'video_sources' must be a list"),
    (#"{"a": {"video_sources": [1]}}"#, "takes names"),
    (#"{"a": {"video_sources": ["*"], "width": 15}}"#, "is 14 pixels wide; 16 at least are needed"),
    (#"{"a": {"video_sources": ["*"], "x_pos": 1000, "width": 300}}"#, "ends at column 1300"),
    (#"{"a": {"video_sources": ["*"], "width": 1282}}"#, "from 0 to 1280"),
    (#"{"a": {"video_sources": ["*"], "y_pos": -2}}"#, "from 0 to 719"),
    (#"{"a": {"video_sources": ["*"], "z_pos": 100}}"#, "from -99 to 99"),
    (#"{"a": {"video_sources": ["*"], "max_rows": 1.5}}"#, "'max_rows'"),
    (#"{"a": {"video_sources": ["*"], "reuse": "show_latest"}}"#, "did you mean 'show_oldest'"),
    (#"{"a": {"video_sources": ["*"], "cells_excluded": [-1]}}"#, "'cells_excluded'"),
    (#"{"a": {"video_sources": ["*"]}, "a": {"video_sources": ["*"]}}"#, "given twice: 'a'"),
  ])
  func whatTwilioWouldRefuseIsRefused(json: String, reason: String) {
    let error = #expect(throws: LayoutError.self, "\(json)") { try Self.read(json: json) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    #expect(error?.description.hasPrefix("t.json:1:") == true)
  }

  // MARK: While a recording runs

  @Test func aTableWithBothLimitsHasItsFullSizeFromTheBeginning() throws {
    var arranger = Arranger(layout: try Self.read("chess"), canvas: hd)
    let layers = arranger.arrange(RoomView(sources: [Self.student(1)])).layers
    #expect(layers.last?.rect == PixelRect(x: 0, y: 0, width: 426, height: 240))
  }

  @Test func aTableWithoutLimitsGrowsAndNeverShrinks() throws {
    var arranger = Arranger(layout: try Self.read("room"), canvas: hd)
    func size(_ students: Int) -> Int {
      arranger.arrange(RoomView(sources: (1...students).map { Self.student($0) })).layers.first?.rect.width ?? 0
    }
    let sizes = [size(1), size(2), size(5), size(2)]
    #expect(sizes == [1280, 640, 426, 426])
  }

  @Test func aFreeCellIsTakenByTheNextAndNobodyMoves() throws {
    var arranger = Arranger(layout: try Self.read("room"), canvas: hd)
    func places(_ numbers: [Int]) -> [TileKey: PixelRect] {
      let layers = arranger.arrange(RoomView(sources: numbers.map { Self.student($0) })).layers
      return Dictionary(layers.map { ($0.key, $0.rect) }) { first, _ in first }
    }
    let before = places([1, 2, 3, 4])
    let after = places([1, 3, 4, 5])
    for number in [1, 3, 4] { #expect(after[camera(number)] == before[camera(number)]) }
    #expect(after[camera(5)] == before[camera(2)])
  }

  @Test(arguments: [("show_oldest", 1), ("show_newest", 3), ("none", 1)])
  func aFullTableIsSharedAsReuseSays(reuse: String, expected: Int) throws {
    let json = #"{"a": {"video_sources": ["*"], "max_rows": 1, "max_columns": 2, "reuse": "\#(reuse)"}}"#
    var arranger = Arranger(layout: try Self.read(json: json), canvas: hd)
    func shown(_ numbers: [Int]) -> [TileKey] {
      arranger.arrange(RoomView(sources: numbers.map { Self.student($0) })).layers.map(\.key)
    }
    _ = shown([1])
    _ = shown([1, 2])
    // The third shares the cell of the first, who has been there longest.
    #expect(shown([1, 2, 3]) == [camera(expected), camera(2)])
    // When the first leaves, the third has the cell; without reuse it stays empty for good.
    #expect(shown([2, 3]) == (reuse == "none" ? [camera(2)] : [camera(3), camera(2)]))
    #expect(shown([2, 3, 4]) == (reuse == "none" ? [camera(2)] : [camera(3), camera(2)].replacing(reuse, with: 4)))
  }

  @Test func aSourceWithoutPictureKeepsItsCellAndIsBlack() throws {
    var arranger = Arranger(layout: try Self.read("room"), canvas: hd)
    var sources = (1...4).map { Self.student($0) }
    let before = arranger.arrange(RoomView(sources: sources)).layers
    sources[1].hasPicture = false
    let muted = arranger.arrange(RoomView(sources: sources)).layers
    #expect(muted == before.filter { $0.key != camera(2) })
    sources[1].hasPicture = true
    #expect(arranger.arrange(RoomView(sources: sources)).layers == before)
    sources[1].isPublished = false
    sources.append(Self.student(5))
    let reused = arranger.arrange(RoomView(sources: sources)).layers
    #expect(reused.first { $0.key == camera(5) }?.rect == before.first { $0.key == camera(2) }?.rect)
  }

  @Test func anEmptyRegionInFrontIsBlack() throws {
    var arranger = Arranger(layout: try Self.read("main-with-pip"), canvas: hd)
    let layers = arranger.arrange(RoomView(sources: [Self.school(0)[1]])).layers
    #expect(layers.map(\.key) == [screen(0), .empty(1)])
    #expect(layers.last?.rect == PixelRect(x: 1000, y: 30, width: 240, height: 180))
    #expect(layers.last?.look.ground == .black)
  }

  // MARK: When all times are known

  private static func timed(_ number: Int, _ start: Int64, _ stop: Int64) -> TwilioComposition.Source {
    .init(student(number), start: .seconds(start), stop: .seconds(stop))
  }

  /// The worked example: C 0 to 20 s, A 2 to 12 s, B 5 to 15 s in two cells.
  @Test(arguments: [
    ("none", [0, 1]), ("show_oldest", [0, 1, 1]), ("show_newest", [0, 1, 1]),
  ])
  func theWorkedExampleOfReuse(reuse: String, cells: [Int]) throws {
    let json = #"{"a": {"video_sources": ["*"], "max_rows": 1, "max_columns": 2, "reuse": "\#(reuse)"}}"#
    let (c, a, b) = (Self.timed(1, 0, 20), Self.timed(2, 2, 12), Self.timed(3, 5, 15))
    let composition = TwilioComposition(layout: try Self.read(json: json), canvas: hd, sources: [a, b, c])
    let table = try #require(composition.tables.first)
    #expect(table.rows == 1)
    #expect(table.columns == 2)
    #expect(table.assignments.map(\.cell) == cells)
    func shown(_ seconds: Int64) -> [TileKey] {
      composition.layers(at: .seconds(seconds)).map(\.key).filter { $0.participant != nil }
    }
    #expect(shown(1) == [camera(1)])
    #expect(shown(4) == [camera(1), camera(2)])
    #expect(shown(8) == [camera(1), camera(reuse == "show_newest" ? 3 : 2)])
    #expect(shown(13) == (reuse == "none" ? [camera(1)] : [camera(1), camera(3)]))
    #expect(shown(16) == [camera(1)])
    #expect(shown(20) == [])
  }

  @Test(arguments: [
    (1, "", 1, 1), (2, "", 1, 2), (3, "", 2, 2), (4, "", 2, 2), (5, "", 2, 3), (6, "", 2, 3), (7, "", 3, 3),
    (12, "", 3, 4), (13, "", 4, 4), (7, #","max_columns":2"#, 4, 2), (7, #","max_rows":2"#, 2, 4),
    (7, #","max_rows":1"#, 1, 7), (9, #","max_rows":2,"max_columns":3"#, 2, 3),
    (2, #","max_rows":3,"max_columns":3"#, 1, 2), (4, #","max_rows":3,"max_columns":3"#, 2, 3),
    (4, #","cells_excluded":[0,3,9]"#, 2, 3), (4, #","cells_excluded":[4]"#, 2, 2),
  ])
  func tablesHaveTwiliosSize(sources: Int, limits: String, rows: Int, columns: Int) throws {
    let layout = try Self.read(json: #"{"a": {"video_sources": ["*"]\#(limits)}}"#)
    let composition = TwilioComposition(
      layout: layout, canvas: hd, sources: (1...sources).map { Self.timed($0, 0, 10) })
    #expect(composition.tables.map(\.rows) == [rows])
    #expect(composition.tables.map(\.columns) == [columns])
  }

  @Test func cellsAreFreeAgainAndPiecesOfOneSourceAreOne() throws {
    let layout = try Self.read(json: #"{"a": {"video_sources": ["*"]}}"#)
    let sources = [
      Self.timed(1, 0, 10), Self.timed(2, 5, 20), Self.timed(3, 10, 30), Self.timed(4, 20, 25), Self.timed(2, 1, 3),
    ]
    let composition = TwilioComposition(layout: layout, canvas: hd, sources: sources)
    #expect(composition.tables.first?.assignments.map(\.key) == [1, 2, 3, 4].map(camera))
    #expect(composition.tables.first?.assignments.map(\.cell) == [0, 1, 0, 1])
    #expect(composition.tables.first?.assignments[1].start == .seconds(1))
  }

  @Test func anArrangerWithACompositionFollowsIt() throws {
    let sources = [Self.timed(1, 0, 20), Self.timed(2, 2, 12), Self.timed(3, 5, 15)]
    let layout = try Self.read(
      json: #"{"r": {"video_sources": ["*"], "max_rows": 1, "max_columns": 2, "reuse": "show_newest"}}"#)
    let composition = TwilioComposition(layout: layout, canvas: hd, sources: sources)
    var arranger = Arranger(layout: layout, canvas: hd, rule: composition)
    func shown(_ second: Int64, hidden: Set<Int> = []) -> Arrangement {
      var view = RoomView(sources: sources.map(\.source), time: .seconds(second))
      for index in view.sources.indices { view.sources[index].hasPicture = !hidden.contains(index + 1) }
      return arranger.arrange(view)
    }
    for second in Int64(0)..<20 {
      #expect(shown(second).layers == composition.layers(at: .seconds(second)))
    }
    // It holds until somebody comes or goes, and what has no picture is black.
    #expect(shown(0).validUntil == .seconds(2))
    #expect(shown(3).validUntil == .seconds(5))
    #expect(shown(3, hidden: [2]).layers.compactMap(\.key.participant).count == 1)
    // Another layout has rules of its own.
    arranger.setLayout(.grid)
    #expect(shown(3).layers.count == 3)
  }

  @Test func exactTablesHoldForEverySource() {
    for seed in UInt64(1)...400 {
      var random = SeededRandom(seed: seed)
      var region = random.region("a", in: (0, 0, 100, 100))
      region.cells = .table
      region.overflow = random.chance(2) ? .reuseOldest : .reuseNewest
      region.selector = SourceSelector([.everyone])
      let sources = (1...Int.random(in: 1...20, using: &random)).map { number in
        let start = Int64.random(in: 0...100, using: &random)
        return Self.timed(number, start, start + Int64.random(in: 0...50, using: &random))
      }
      let composition = TwilioComposition(
        layout: Layout(name: "t", scenes: [Scene(name: "s", regions: [region])]), canvas: hd, sources: sources)
      guard let table = composition.tables.first else { continue }
      let cells = table.rows * table.columns
      let usable = (0..<cells).filter { !region.cellsExcluded.contains($0) }
      #expect(usable.isEmpty || table.assignments.count == sources.count, "seed \(seed)")
      #expect(table.assignments.allSatisfy { usable.contains($0.cell) }, "seed \(seed)")
      // As long as there are cells for all, nobody shares.
      if region.maximumRows == nil || region.maximumColumns == nil {
        for time in stride(from: Int64(0), to: 150, by: 7) {
          let present = sources.filter { $0.start <= .seconds(time) && .seconds(time) < $0.stop }
          let shown = composition.layers(at: .seconds(time)).filter { $0.key.participant != nil }
          #expect(Set(shown.map(\.key)) == Set(present.map(\.source.key)), "seed \(seed) at \(time)")
        }
      }
    }
  }
}

extension [TileKey] {
  /// What is shown after s4 has come to share a cell with s2: `show_newest` shows s4 in the cell of s2, who has been
  /// there longest.
  fileprivate func replacing(_ reuse: String, with number: Int) -> [TileKey] {
    reuse == "show_newest" ? [self[0], camera(number)] : self
  }
}
