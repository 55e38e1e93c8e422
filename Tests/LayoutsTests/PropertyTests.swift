import Layouts
import MediaCore
import Testing

/// What holds for every canvas and every number of participants.
@Suite struct PropertyTests {
  @Test func tilesNeverOverlapAndAreEvenAndInside() {
    for seed in UInt64(1)...2000 {
      var random = SeededRandom(seed: seed)
      let scene = Scene(&random)
      let layers = scene.arranged
      for (index, layer) in layers.enumerated() {
        let rect = layer.rect
        let sides = [rect.x, rect.y, rect.width, rect.height, layer.cornerRadius]
        #expect(sides.allSatisfy { $0.isMultiple(of: 2) }, "odd: seed \(seed)")
        let inside =
          rect.x >= 0 && rect.y >= 0 && rect.width >= 2 && rect.height >= 2
          && rect.x + rect.width <= scene.canvas.width && rect.y + rect.height <= scene.canvas.height
        #expect(inside, "outside: seed \(seed)")
        #expect(2 * layer.cornerRadius <= min(rect.width, rect.height), "too round: seed \(seed)")
        #expect(!layers.dropFirst(index + 1).contains { $0.rect.overlaps(rect) }, "overlap: seed \(seed)")
      }
    }
  }

  @Test func everybodyIsShownOrCounted() {
    for seed in UInt64(1)...2000 {
      var random = SeededRandom(seed: seed)
      let scene = Scene(&random)
      let layers = scene.arranged
      var hidden = 0
      var shown: [TileKey] = []
      for layer in layers {
        if case .overflow(let count) = layer.key { hidden += count } else { shown.append(layer.key) }
      }
      #expect(Set(shown).count == shown.count, "twice: seed \(seed)")
      #expect(shown.count + hidden == scene.sources.count, "lost: seed \(seed)")
      #expect(Set(shown).isSubset(of: scene.sources.map(\.key)), "invented: seed \(seed)")
      if let talker = scene.talker { #expect(shown.contains(talker), "talker hidden: seed \(seed)") }
      #expect(layers == scene.arranged, "not pure: seed \(seed)")
    }
  }

  @Test func aChangeOfTalkerNeverMovesAnyPlace() {
    for seed in UInt64(1)...500 {
      var random = SeededRandom(seed: seed)
      var scene = Scene(&random)
      let before = scene.arranged.map(\.rect)
      scene.talker = scene.sources.randomElement(using: &random)?.key
      #expect(scene.arranged.map(\.rect) == before, "seed \(seed)")
    }
  }

  @Test func tilesOfAGridHaveOneSize() {
    for seed in UInt64(1)...500 {
      var random = SeededRandom(seed: seed)
      let scene = Scene(&random)
      let cameras = scene.sources.filter { !$0.key.isScreenShare }
      let layers = arrange(layout: .grid, canvas: scene.canvas, sources: cameras)
      #expect(Set(layers.map { [$0.rect.width, $0.rect.height] }).count <= 1, "seed \(seed)")
    }
  }
}

/// A random canvas, room and talker.
private struct Scene {
  var layout: LayoutName
  var canvas: CanvasSize
  var sources: [LayoutSource]
  var talker: TileKey?

  init(_ random: inout SeededRandom) {
    layout = Bool.random(using: &random) ? .grid : .speaker
    let usual = [(1280, 720), (640, 360), (720, 1280), (1080, 1080), (1920, 1080), (64, 64), (4096, 64), (64, 4096)]
    let size =
      Bool.random(using: &random)
      ? usual.randomElement(using: &random) ?? (64, 64)
      : (Int.random(in: 0...4200, using: &random), Int.random(in: 0...4200, using: &random))
    canvas = CanvasSize(width: size.0, height: size.1)
    sources = []
    for number in 0..<Int.random(in: 0...40, using: &random) {
      let sharing = Int.random(in: 0..<30, using: &random) == 0
      sources.append(
        LayoutSource(
          key: sharing ? screen(number) : camera(number), hasPicture: Bool.random(using: &random),
          pictureWidth: Int.random(in: 0...2000, using: &random),
          pictureHeight: Int.random(in: 0...2000, using: &random)))
    }
    talker = sources.randomElement(using: &random)?.key
  }

  var arranged: [VideoLayer] { arrange(layout: layout, canvas: canvas, sources: sources, talker: talker) }
}
