import LayoutFiles
import Layouts
import MediaCore
import Testing

/// What holds for every layout, canvas and room.
@Suite struct PropertyTests {
  @Test func tilesAreEvenAndInsideAndOverlapOnlyAcrossRegions() {
    for seed in UInt64(1)...3000 {
      var random = SeededRandom(seed: seed)
      let isTiled = random.chance(2)
      let canvas = random.canvas()
      var arranger = Arranger(layout: random.layout(isTiled: isTiled), canvas: canvas)
      let layers = arranger.arrange(random.room()).layers
      for (index, layer) in layers.enumerated() {
        let rect = layer.rect
        #expect(
          [rect.x, rect.y, rect.width, rect.height, layer.cornerRadius].allSatisfy { $0.isMultiple(of: 2) },
          "odd: seed \(seed)")
        let inside =
          rect.x >= 0 && rect.y >= 0 && rect.width >= 2 && rect.height >= 2
          && rect.x + rect.width <= canvas.width && rect.y + rect.height <= canvas.height
        #expect(inside, "outside: seed \(seed), \(layer.rect)")
        #expect(2 * layer.cornerRadius <= min(rect.width, rect.height), "too round: seed \(seed)")
        if index > 0 { #expect(layers[index - 1].z <= layer.z, "painting order: seed \(seed)") }
        if case .empty = layer.key { continue }
        let covered = layers.dropFirst(index + 1).contains { other in
          if case .empty = other.key { return false }
          return other.rect.overlaps(rect) && (isTiled || other.region == layer.region)
        }
        #expect(!covered, "overlap: seed \(seed)")
      }
    }
  }

  @Test func everybodyIsShownOrCountedOnce() {
    for seed in UInt64(1)...2000 {
      var random = SeededRandom(seed: seed)
      var layout = random.layout(isTiled: true)
      // One region for all, which says how many have no tile.
      layout.scenes = [Scene(name: "all", regions: [Region(name: "all", selector: SourceSelector([.everyone]))])]
      layout.scenes[0].regions[0].order = random.choice(Order.self, or: .listed)
      layout.scenes[0].regions[0].cells = random.chance(2) ? .flow : .steady
      layout.scenes[0].regions[0].withoutVideo = random.chance(2) ? .card : .small
      layout.scenes[0].regions[0].maximumTiles = Int.random(in: 2...25, using: &random)
      var arranger = Arranger(layout: layout, canvas: random.canvas())
      let view = random.room()
      let layers = arranger.arrange(view).layers
      var hidden = 0
      var shown: [TileKey] = []
      for layer in layers {
        if case .overflow(let count) = layer.key { hidden += count } else { shown.append(layer.key) }
      }
      #expect(Set(shown).count == shown.count, "twice: seed \(seed)")
      #expect(shown.count + hidden == view.sources.count, "lost: seed \(seed)")
      #expect(Set(shown).isSubset(of: view.sources.map(\.key)), "invented: seed \(seed)")
      if let talker = view.talkers.first, view.pinned.isEmpty, view.spotlight == nil {
        #expect(shown.contains(talker), "talker hidden: seed \(seed)")
      }
    }
  }

  @Test func theSameViewAgainChangesNothing() {
    for seed in UInt64(1)...300 {
      var random = SeededRandom(seed: seed)
      let layout = random.layout(isTiled: random.chance(2))
      let canvas = random.canvas()
      var once = Arranger(layout: layout, canvas: canvas)
      var often = Arranger(layout: layout, canvas: canvas)
      for step in 0..<8 {
        let view = random.room(people: 12)
        for _ in 0..<Int.random(in: 0...3, using: &random) { _ = often.arrange(view) }
        #expect(once.arrange(view) == often.arrange(view), "seed \(seed), step \(step)")
      }
    }
  }

  @Test func anArrangementHoldsUntilItsPageTurns() {
    for seed in UInt64(1)...500 {
      var random = SeededRandom(seed: seed)
      var arranger = Arranger(layout: random.layout(isTiled: true), canvas: hd)
      var view = random.room()
      let arrangement = arranger.arrange(view)
      guard let until = arrangement.validUntil else { continue }
      #expect(until > view.time, "seed \(seed)")
      view.time = until - .nanoseconds(1)
      #expect(arranger.arrange(view) == arrangement, "seed \(seed)")
    }
  }

  /// The cause that a tile may have to move: another scene, or that its region shows somebody else than before.
  @Test func aTileNeverMovesWithoutCause() {
    for seed in UInt64(1)...1500 {
      var random = SeededRandom(seed: seed)
      var layout = random.layout(isTiled: true)
      for scene in layout.scenes.indices {
        for region in layout.scenes[scene].regions.indices {
          // Sorting is a cause of its own, and so are shapes that follow the pictures.
          layout.scenes[scene].regions[region].order = random.chance(2) ? .joined : .talking
          layout.scenes[scene].regions[region].screenFit = .contain
          layout.scenes[scene].regions[region].cameraFit = .cover
          // And so are pages, and the small cards, which come and go with people's cameras.
          if layout.scenes[scene].regions[region].overflow == .page {
            layout.scenes[scene].regions[region].overflow = .count
          }
          layout.scenes[scene].regions[region].withoutVideo = .card
        }
      }
      var arranger = Arranger(layout: layout, canvas: hd)
      var view = random.room(people: 14)
      var before = arranger.arrange(view)
      for step in 0..<6 {
        if random.chance(2), let talker = view.sources.randomElement(using: &random)?.key {
          view.talkers = [talker] + view.talkers.filter { $0 != talker }
        } else if random.chance(2), !view.sources.isEmpty {
          view.sources.remove(at: Int.random(in: 0..<view.sources.count, using: &random))
        } else {
          view.sources.append(LayoutSource(key: camera(100 + step)))
        }
        let after = arranger.arrange(view)
        defer { before = after }
        guard after.scene == before.scene else { continue }
        for region in ["left", "upper", "lower"] {
          func places(_ arrangement: Arrangement) -> [TileKey: PixelRect] {
            Dictionary(
              arrangement.layers.filter { $0.region == region }.map { ($0.key, $0.rect) },
              uniquingKeysWith: { a, _ in a })
          }
          let (old, new) = (places(before), places(after))
          let stayed = Set(old.keys).intersection(new.keys)
          // Those who stay change places only when the number of tiles does.
          func people(_ places: [TileKey: PixelRect]) -> Int { places.keys.count { $0.participant != nil } }
          if old.count == new.count, people(old) == people(new) {
            for key in stayed where key.participant != nil {
              #expect(old[key] == new[key], "\(key) moved: seed \(seed), step \(step), \(region)")
            }
          }
        }
      }
    }
  }

  @Test func canonicalTextsAreReadAsTheLayoutsTheyCameFrom() throws {
    for seed in UInt64(1)...300 {
      var random = SeededRandom(seed: seed)
      let layout = random.layout(isTiled: true)
      let text = layout.canonicalText
      do {
        let again = try LayoutReader.read(
          text, file: "canonical.yaml", name: "other", canvas: CanvasSize(width: 4096, height: 4096))
        #expect(again == layout, "seed \(seed)\n\(text)")
      } catch {
        Issue.record("seed \(seed): \(error)\n\(text)")
      }
    }
  }
}
