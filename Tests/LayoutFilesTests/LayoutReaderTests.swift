import LayoutFiles
import Layouts
import MediaCore
import Testing

@Suite struct LayoutReaderTests {
  private func read(_ text: String, canvas: CanvasSize? = nil) throws -> Layout {
    try LayoutReader.read(text, file: "l.yaml", name: "l", canvas: canvas)
  }

  private static let head = "scenes:\n  - regions:\n      - show: everyone\n"

  /// What is wrong, and what the message says.
  @Test(arguments: [
    ("", "l.yaml: the file is empty"), ("[]", "l.yaml:1:1: a layout must be a mapping"),
    ("scenes: [", "l.yaml:"), ("name: x", "l.yaml:1:1: a layout needs 'scenes'"),
    ("scnes: []", "l.yaml:1:1: a layout: there is no 'scnes'; did you mean 'scenes'?"),
    ("scenes: []", "l.yaml:1:9: a layout needs a scene at least"),
    ("name: a\nname: b\nscenes: []", "l.yaml:"),
    ("theme: drak\n" + head, "l.yaml:1:8: 'theme': there is no 'drak'; did you mean 'dark'?"),
    ("canvas: 1281x720\n" + head, "l.yaml:1:9: 'canvas': '1281x720' is not a size such as 1280x720"),
    ("background: blue\n" + head, "is not a colour"),
    ("background: #fff\n" + head, "l.yaml:1:1: 'background' has no value (what begins with # is a comment"),
    ("scenes:\n\t- regions: []\n", "l.yaml:2:1: the line is indented with a tab; YAML wants spaces"),
    ("summary: x\r\nscenes:\r\n\t- regions: []\r\n", "l.yaml:3:1: the line is indented with a tab"),
    (head + "       gap: 3\n", "is the line indented like its neighbours?"),
    ("summary: @home\n", "put the text in quotes"),
    ("transition: 6s\n" + head, "l.yaml:1:13: 'transition': at most 5s"),
    ("transition: slow\n" + head, "'slow' is not 'cut' or a time"),
    ("defaults: {x: 3}\n" + head, "'x' belongs to one region, not to the defaults"),
    (head + "        max-rwos: 2\n", "l.yaml:4:9: a region: there is no 'max-rwos'; did you mean 'max-rows'?"),
    (head + "        max-rows: 0\n", "l.yaml:4:19: 'max-rows': '0' is not a whole number from 1 to 1000"),
    (head + "        max-rows: [1]\n", "'max-rows' takes a whole number"),
    (head + "        z: 100\n", "from -99 to 99"), (head + "        width: 12em\n", "is not a length such as"),
    (head + "        width: 200%\n", "l.yaml:3:9: the region 'region-1' ends at column 2560, beyond the right edge"),
    (head + "        x: 1275\n", "is 5 pixels wide; 16 at least are needed on a canvas of 1280x720"),
    (head + "        x: -10\n        width: 50%\n", "begins 10 pixels left of the canvas"),
    (head + "        x: 0\n        width: 50%\n        right: 10\n", "are one too many; leave one out"),
    (head + "        order: talk\n", "there is no 'talk'"), (head + "        cells: tabel\n", "did you mean 'table'?"),
    (head + "        cells-excluded: [1]\n", "'cells-excluded' needs 'cells: table'"),
    (head + "        overflow: pages\n", "did you mean 'page'?"),
    (head + "        page-time: 100ms\n", "from 1s to 1h"),
    (head + "        shape: 16x9\n", "is not a ratio such as 16:9"), (head + "        shape: \"0:9\"\n", "'0:9'"),
    (head + "        gap: -1\n", "'gap' must not be negative"),
    (head + "        radius: 1gu - 2gu\n", "must not be negative"),
    (head + "        fit: {camera: cover}\n", "did you mean 'cameras'?"), (head + "        fit: stretch\n", "'fit'"),
    (head + "        border: {colour: white}\n", "did you mean 'color'?"),
    (head + "        opacity: 0.5\n", "a share such as 80%"),
    (head + "        names: big\n", "known: label, lower-third, none"),
    (head + "        mute-icon: maybe\n", "yes or no"),
    (head + "        align: [start, end, end]\n", "one or two of"),
    (head + "        smallest-tile: 1x1\n", "a size in pixels"),
    ("scenes: [{regions: [{show: talkr}]}]", "l.yaml:1:28: 'show': there is no role 'talkr'; did you mean 'talker'?"),
    ("scenes: [{regions: [{show: []}]}]", "'show' names nothing"),
    ("scenes: [{regions: [{}]}]", "a region needs 'show'"),
    ("scenes: [{regions: [{show: \"person:\"}]}]", "there is no role 'person:'"), ("scenes: [{}]", "needs 'regions'"),
    ("scenes: [{when: {people: 2}, regions: []}]", "the last scene must have no 'when'"),
    ("scenes: [{name: a, regions: []}, {regions: []}]", "the scenes after 'a' can never apply"),
    ("scenes: [{name: a, when: {people: 1}, regions: []}, {name: a, regions: []}]", "there is a scene 'a' already"),
    (
      "scenes: [{regions: [{name: r, show: talker}, {name: r, show: talker}]}]",
      "there is a region 'r' in this scene already"
    ),
    ("scenes: [{when: {peple: 2}, regions: []}, {regions: []}]", "did you mean 'people'?"),
    ("scenes: [{when: {people: 4-2}, regions: []}, {regions: []}]", "is not a number such as 3"),
    ("scenes: [{when: {}, regions: []}, {regions: []}]", "'when' is empty"),
    ("scenes: [{when: {canvas: wide}, regions: []}, {regions: []}]", "known: landscape, square, portrait"),
    (head + "overlays: [{at: top}]", "an overlay needs one of"),
    (head + "overlays: [{show: titel}]", "did you mean 'title'?"),
    (head + "overlays: [{show: clock, format: \"%Q\"}]", "a pattern with %H"),
    (head + "overlays: [{show: title, format: \"%H\"}]", "'format' belongs to a clock"),
    (head + "overlays: [{text: a, at: topleft}]", "did you mean 'top-left'?"),
    (head + "overlays: [{image: \"\"}]", "'image' is empty"), ("a: &x [*x]", "l.yaml"),
    ("{\"scenes\": [}", "l.yaml:1:13: a value is expected"), ("{\"scenes\": 1} x", "nothing may follow"),
  ])
  func whatIsWrongIsRefusedWithItsPlace(text: String, reason: String) {
    let error = #expect(throws: LayoutError.self, "\(text)") { try read(text) }
    let message = error?.description ?? ""
    #expect(message.hasPrefix("l.yaml"), "\(message)")
    #expect(message.contains(reason), "\(message)")
    #expect(!message.contains("\n"))
  }

  @Test func everythingOfTheLanguageIsRead() throws {
    let text = """
      name: all
      summary: Everything.
      theme: light
      canvas: 1280x720
      background: {image: pictures/b.png, fit: contain}
      transition: 250ms
      defaults: {gap: 4, names: lower-third}
      scenes:
        - name: first
          when: [{people: 2-4, canvas: [portrait, square]}, {present: "person:Ann*"}]
          regions: [{show: everyone}]
        - name: second
          regions:
            - name: main
              right: 10gu
              bottom: 25%
              width: 50%
              height: 1/2
              z: -2
              show: [talker, "track:board*", others]
              hide: "person:bot-*"
              repeat: yes
              order: talking
              cells: table
              max-rows: 3
              max-columns: 4
              max-tiles: 9
              smallest-tile: 100x50
              shape: 4:3-16:9
              cells-excluded: [1, 4]
              align: [start, end]
              gap: 0.5gu
              fit: {cameras: cover, screens: contain}
              radius: 8
              border: {width: 4px, color: "#ff0000"}
              overflow: reuse-newest
              page-time: 20s
              without-video: small
              background: black
              names: none
              mute-icon: no
              talker-outline: no
              marks: no
              level-ring: yes
              video: no
              small-cards: yes
              opacity: 50%
              ground: white
      overlays:
        - {show: clock, format: "%H:%M:%S", at: top, x: 0, y: 2gu, size: 2gu, opacity: 80%, plate: no, color: white}
        - {text: "Hello", at: center, below-tiles: yes}
        - {image: /logos/a.png, at: bottom-right}
      """
    let layout = try LayoutReader.read(text, file: "dir/l.yaml", name: "l")
    #expect(layout.name == "all")
    #expect(layout.theme == .light)
    #expect(layout.canvas == CanvasSize(width: 1280, height: 720))
    #expect(layout.background == .image(path: "dir/pictures/b.png", fit: .contain))
    #expect(layout.transition == .glide(.milliseconds(250)))
    #expect(layout.scenes.map(\.name) == ["first", "second"])
    #expect(layout.scenes[0].when.alternatives.first == [.people(2...4), .canvas([.portrait, .square])])
    #expect(layout.scenes[0].regions.first?.gap == .pixels(4))
    let region = try #require(layout.scenes[1].regions.first)
    #expect(region.x == .percent(50) - .milliUnits(10_000))
    #expect(region.y == .percent(25))
    #expect(region.height == .percent(50))
    #expect(region.selector.include.map { "\($0)" } == ["talker", "track:board*", "others"])
    #expect(region.shape == ShapeRange(.init(4, 3), .init(16, 9)))
    #expect(region.border == BorderRule(width: .pixels(4), color: RGBColor(red: 255, green: 0, blue: 0)))
    #expect(region.look.name == .none && region.look.levelRing && !region.look.video && region.look.opacity == 128)
    #expect(layout.overlays.count == 3)
    #expect(layout.overlays[0].anchor == .top && layout.overlays[0].opacity == 204)
    #expect(layout.overlays[1].isBelowTiles)
    #expect(layout.overlays[2].content == .image(path: "/logos/a.png"))
    #expect(try LayoutReader.read(layout.canonicalText, file: "c.yaml", name: "c") == layout)
  }

  @Test func jsonSaysTheSameAsYAML() throws {
    let yaml =
      "scenes: [{name: s, when: {people: 1}, regions: []}, {name: t, regions: [{name: r, show: [talker], z: 3}]}]"
    let json = """
      \t{"scenes": [{"name": "s", "when": {"people": 1}, "regions": []},
      \t{"name": "\\u0074", "regions": [{"name": "r", "show": ["talker"], "z": 3, "gap": null}]}]}
      """
    let (one, other) = (try read(json), try read(yaml))
    #expect(one == other)
  }

  @Test func aRegionMustFitTheCanvasThatIsAskedFor() throws {
    let text = "scenes: [{regions: [{show: everyone, x: 700, width: 500}]}]"
    #expect(throws: Never.self) { try read(text) }
    let error = #expect(throws: LayoutError.self) { try read(text, canvas: CanvasSize(width: 640, height: 480)) }
    #expect(
      error?.description
        == "l.yaml:1:21: the region 'region-1' ends at column 1200, beyond the right edge on a canvas of 640x480")
  }

  @Test func deepAndLargeFilesAreRefused() {
    for text in [
      String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000),
      "a: " + String(repeating: "[", count: 500), String(repeating: "x", count: 300 << 10),
      "{\"a\": [" + String(repeating: "1,", count: 30_000) + "1]}",
      "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        + "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]",
    ] {
      #expect(throws: LayoutError.self) { try read(text) }
    }
  }

  /// Whatever is done to a good file, reading it gives a layout or a message, and what it gives can be used.
  @Test func damagedFilesAreReadOrRefused() throws {
    let store = LayoutStore(folder: "/nonexistent")
    var texts = try LayoutStore.builtInNames.map { try store.source(of: $0) }
    texts.append(#"{"grid": {"video_sources": ["*", "é"], "max_rows": 3, "cells_excluded": [1], "reuse": "none"}}"#)
    texts.append(try store.layout("audio-only").canonicalText)
    var accepted = 0
    for seed in UInt64(1)...1500 {
      var random = SeededRandom(seed: seed)
      var bytes = Array((texts.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(Array(" :-[]{}\"'&*#\n\t0123456789%".utf8).randomElement(using: &random) ?? 0, at: index)
        case 3: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...40, using: &random)))
        default:
          let end = min(bytes.count, index + Int.random(in: 1...40, using: &random))
          bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      _ = try? TwilioReader.read(text, file: "t.json")
      guard let layout = try? read(text) else { continue }
      accepted += 1
      #expect(layout.scenes.last?.when == .always, "seed \(seed)")
      let canvas = layout.canvas ?? CanvasSize(width: 1280, height: 720)
      var arranger = Arranger(layout: layout, canvas: canvas)
      _ = arranger.arrange(RoomView(sources: [LayoutSource(key: .camera(ParticipantIdentity("a")))]))
      #expect(throws: Never.self, "seed \(seed)") {
        let again = try LayoutReader.read(layout.canonicalText, file: "c.yaml", name: "c")
        #expect(again == layout, "seed \(seed)")
      }
    }
    #expect(accepted > 18, "hardly any damaged file is still a layout: \(accepted)")
  }
}

@Suite struct LayoutStoreTests {
  @Test func theBuiltInTextsAreThoseOfTheFolder() throws {
    let folder =
      String(#filePath.prefix(#filePath.count - "Tests/LayoutFilesTests/LayoutReaderTests.swift".count)) + "layouts"
    let inFolder = LayoutStore(folder: folder)
    let builtIn = LayoutStore(folder: "/nonexistent")
    #expect(inFolder.entries().map(\.name) == LayoutStore.builtInNames)
    #expect(builtIn.entries().map(\.name) == LayoutStore.builtInNames)
    for entry in inFolder.entries() {
      #expect(entry.origin == "\(folder)/\(entry.name).yaml")
      let sources = [try inFolder.source(of: entry.name), try builtIn.source(of: entry.name)]
      #expect(sources[0] == sources[1])
      let layouts = [try inFolder.layout(entry.name), try builtIn.layout(entry.name)]
      #expect(layouts[0] == layouts[1])
    }
  }

  @Test func themesAreGivenByNameOrAside() throws {
    let store = LayoutStore(folder: "/nonexistent")
    #expect(try store.layout("pip-light").theme == .light)
    #expect(try store.layout("pip").theme == .dark)
    #expect(try store.layout("pip", theme: .light).theme == .light)
    #expect(try store.layout("pip-light", theme: .dark).theme == .dark)
  }

  @Test(arguments: [
    ("gird", "did you mean 'grid'?"), ("nothing-like-it", "known layouts: grid, speaker"),
    ("/nonexistent/a.yaml", "cannot be read"),
    ("twilio:/nonexistent.json", "cannot be read"), ("/tmp/", "is not a file"), ("", "known layouts"),
    ("../x.yaml", "cannot be read"),
  ])
  func whatIsNotThereIsSaid(name: String, reason: String) {
    let error = #expect(throws: LayoutError.self) { try LayoutStore(folder: "/nonexistent").layout(name) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }
}
