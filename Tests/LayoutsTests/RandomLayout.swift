import Layouts
import MediaCore

/// Layouts and rooms made by chance, from a seed.
extension SeededRandom {
  mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &self) == 0 }

  mutating func pick<T>(_ items: [T], or fallback: T) -> T { items.randomElement(using: &self) ?? fallback }

  mutating func choice<T: CaseIterable>(_ type: T.Type, or fallback: T) -> T {
    Array(T.allCases).randomElement(using: &self) ?? fallback
  }

  mutating func canvas() -> CanvasSize {
    let usual = [(1280, 720), (640, 360), (720, 1280), (1080, 1080), (1920, 1080), (64, 64), (4096, 64), (64, 4096)]
    let (width, height) =
      chance(2)
      ? pick(usual, or: (64, 64))
      : (Int.random(in: 0...4200, using: &self), Int.random(in: 0...4200, using: &self))
    return CanvasSize(width: width, height: height)
  }

  /// Up to `people` people, some of whom share a screen, with talkers, pins and a spotlight among them.
  mutating func room(people: Int = 40) -> RoomView {
    var sources: [LayoutSource] = []
    for number in 0..<Int.random(in: 0...people, using: &self) {
      let key = chance(30) ? screen(number) : camera(number)
      var source = LayoutSource(
        key: key, hasPicture: !chance(3), pictureWidth: Int.random(in: 0...2000, using: &self),
        pictureHeight: Int.random(in: 0...2000, using: &self))
      source.displayName = pick(["", "Ann", "ben", "Čapek", "李", "p3"], or: "")
      source.trackName = pick(["camera", "screen", ""], or: "")
      source.isPublished = !chance(5)
      sources.append(source)
    }
    let keys = sources.map(\.key)
    func some(_ count: Int) -> [TileKey] { Array(keys.shuffled(using: &self).prefix(count)) }
    var view = RoomView(sources: sources)
    view.talkers = some(Int.random(in: 0...4, using: &self))
    if chance(4) { view.pinned = some(2) }
    if chance(8) { view.spotlight = keys.randomElement(using: &self) }
    view.time = .milliseconds(Int64.random(in: 0...100_000, using: &self))
    return view
  }

  mutating func term() -> SourceTerm {
    if chance(6), let glob = Glob(pick(["p1*", "*", "A*n", "camera", "q: \"x\""], or: "*")) {
      return pick([.person(glob), .track(glob), .source(glob)], or: .everyone)
    }
    return pick(SourceTerm.words.map(\.term), or: .everyone)
  }

  /// A region, in the rectangle or anywhere.
  mutating func region(_ name: String, in rect: (x: Int, y: Int, width: Int, height: Int)? = nil) -> Region {
    func part(_ range: ClosedRange<Int>) -> Length { .percent(Int.random(in: range, using: &self)) }
    var terms = (0..<Int.random(in: 1...4, using: &self)).map { _ in term() }
    if chance(2) { terms.append(.everyone) }
    var region = Region(name: name, selector: SourceSelector(terms, excluding: chance(6) ? [term()] : []))
    if let rect {
      (region.x, region.y) = (.percent(rect.x), .percent(rect.y))
      (region.width, region.height) = (.percent(rect.width), .percent(rect.height))
    } else {
      (region.x, region.y) = (part(0...70), part(0...70) + .milliUnits(Int.random(in: 0...900, using: &self)))
      (region.width, region.height) = (part(2...60) + .pixels(3), part(2...60))
      region.z = Int.random(in: -3...3, using: &self)
    }
    region.repeats = chance(8)
    region.order = choice(Order.self, or: .listed)
    region.cells = choice(Cells.self, or: .flow)
    if chance(3) { region.maximumRows = Int.random(in: 1...6, using: &self) }
    if chance(3) { region.maximumColumns = Int.random(in: 1...6, using: &self) }
    if chance(3) { region.maximumTiles = Int.random(in: 1...30, using: &self) }
    if chance(6) { region.smallestTile = TileSize(width: 200, height: 30) }
    if chance(3) {
      region.shape = ShapeRange(.init(Int.random(in: 1...20, using: &self), 9), .init(16, 9))
    }
    if region.cells == .table, chance(2) {
      region.cellsExcluded = [Int.random(in: 0...9, using: &self), Int.random(in: 0...9, using: &self)]
    }
    region.horizontalAlignment = choice(Alignment.self, or: .center)
    region.verticalAlignment = choice(Alignment.self, or: .center)
    region.gap = .milliUnits(Int.random(in: 0...2000, using: &self))
    region.cameraFit = choice(FitRule.self, or: .auto)
    region.screenFit = choice(FitRule.self, or: .contain)
    region.cornerRadius = .pixels(Int.random(in: 0...40, using: &self))
    if chance(4) { region.border = BorderRule(width: .pixels(5), color: chance(2) ? .white : nil) }
    region.overflow = choice(Overflow.self, or: .count)
    region.pageTime = .seconds(Int64.random(in: 1...30, using: &self))
    region.withoutVideo = choice(WithoutVideo.self, or: .card)
    if chance(5) { region.background = .black }
    region.look.name = choice(NameStyle.self, or: .label)
    region.look.levelRing = chance(2)
    region.look.opacity = UInt8.random(in: 0...255, using: &self)
    return region
  }

  /// A layout whose regions lie anywhere (`isTiled` false), or side by side.
  mutating func layout(isTiled: Bool) -> Layout {
    var layout = Layout(name: pick(["a", "b \"c\" \\ \n", "層", "é: #"], or: "a"), scenes: [])
    layout.summary = pick(["", "- x: 'y'", "{}", "yes"], or: "")
    layout.theme = choice(ThemeName.self, or: .dark)
    if chance(3) { layout.canvas = hd }
    layout.background = pick([.theme, .color(.white), .image(path: "/a b/\u{7f}c.png", fit: .cover)], or: .theme)
    layout.transition = pick([.cut, .glide(.milliseconds(300))], or: .cut)
    for number in 0...Int.random(in: 0...2, using: &self) {
      var scene = Scene(name: "scene \(number)", regions: [])
      if isTiled {
        let split = Int.random(in: 20...80, using: &self)
        scene.regions = [
          region("left", in: (0, 0, split, 100)), region("upper", in: (split, 0, 100 - split, 50)),
          region("lower", in: (split, 50, 100 - split, 50)),
        ]
      } else {
        for index in 0..<Int.random(in: 1...4, using: &self) { scene.regions.append(region("r\(index)")) }
      }
      layout.scenes.append(scene)
    }
    for index in layout.scenes.indices.dropLast() { layout.scenes[index].when = condition() }
    if chance(2) { layout.overlays.append(overlay()) }
    return layout
  }

  mutating func condition() -> Condition {
    Condition(
      (0...Int.random(in: 0...1, using: &self)).map { _ in
        let low = Int.random(in: 0...4, using: &self)
        return [
          pick(
            [.people(low...Condition.unlimited), .people(low...low), .cameras(low...(low + 2))], or: .people(0...1)),
          pick(
            [.canvas([.portrait, .square]), .present(.talker), .absent(.screenShare), .pinned(0...0)],
            or: .present(.talker)),
        ]
      })
  }

  mutating func overlay() -> Overlay {
    var texts: [OverlayText] = [.title, .elapsed, .clock(.standard), .literal("a: \"b\"\t\u{2028}")]
    if let format = ClockFormat("%F %T") { texts.append(.clock(format)) }
    let content: Overlay.Content = chance(3) ? .image(path: "/x/logo.png") : .text(pick(texts, or: .title))
    return Overlay(
      content, anchor: choice(Anchor.self, or: .top), x: .milliUnits(-300), y: .percent(3),
      size: .milliUnits(Int.random(in: 0...3000, using: &self)), opacity: UInt8.random(in: 0...255, using: &self),
      plate: chance(2), color: chance(2) ? .black : nil, isBelowTiles: chance(2))
  }
}
