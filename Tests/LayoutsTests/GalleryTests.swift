import LayoutFiles
import Layouts
import MediaCore
import Testing

/// The layouts that come with recbot.
@Suite struct GalleryTests {
  /// Only what is built in: the current folder's layouts don't matter.
  static let store = LayoutStore(folder: "/nonexistent")

  @Test(arguments: LayoutStore.builtInNames)
  func geometryIsAsCommitted(name: String) throws {
    let layout = try Self.store.layout(name)
    var text = ""
    for size in ["1280x720", "1080x1920", "1080x1080"] {
      let canvas = try #require(CanvasSize(text: size))
      for isShared in [false, true] {
        for count in 0...30 {
          var arranger = Arranger(layout: layout, canvas: canvas)
          var sources = cameras(count)
          if isShared, count > 0 { sources.insert(shared(1), at: 1) }
          let arrangement = arranger.arrange(RoomView(sources: sources, talkers: [camera(min(2, count)), camera(1)]))
          text += "\(size) \(count)\(isShared ? " and a screen" : ""): \(arrangement.scene)\n" + describe(arrangement)
        }
      }
    }
    #expect(try golden("\(name).txt", text))
  }

  @Test func onlyTheLayoutOfCardsUsesNoPictures() throws {
    let without = try LayoutStore.builtInNames.filter { try !Self.store.layout($0).usesPictures }
    #expect(without == ["audio-only"])
    // Who has a picture may decide what is shown where none is.
    let cards = try Self.store.layout("audio-only")
    for change: (inout Scene) -> Void in [
      { $0.when = Condition([[.people(0...3)], [.cameras(1...9)]]) }, { $0.when = Condition([[.absent(.withVideo)]]) },
      { $0.regions[0].selector.exclude = [.withoutVideo] }, { $0.regions[0].withoutVideo = .small },
    ] {
      var layout = cards
      change(&layout.scenes[0])
      #expect(layout.usesPictures)
    }
  }

  @Test(arguments: LayoutStore.builtInNames)
  func aConversationMovesNobodyWithoutCause(name: String) throws {
    var arranger = Arranger(layout: try Self.store.layout(name), canvas: hd)
    var text = ""
    func show(_ what: String, _ view: RoomView) {
      let arrangement = arranger.arrange(view)
      text += "\(what): \(arrangement.scene)\n" + describe(arrangement)
    }
    var view = RoomView(sources: cameras(5))
    show("five people, nobody has talked", view)
    view.talkers = [camera(3)]
    show("p3 talks", view)
    view.talkers = [camera(5), camera(3)]
    show("p5 talks", view)
    view.sources.append(shared(4))
    show("p4 shares a screen", view)
    view.sources.removeLast()
    show("the screen is gone", view)
    view.sources.remove(at: 1)
    show("p2 leaves", view)
    view.sources.append(contentsOf: cameras(7).suffix(2))
    show("p6 and p7 come", view)
    view.sources[2].hasPicture = false
    show("p4's camera is off", view)
    view.pinned = [camera(6)]
    show("p6 is pinned", view)
    view.spotlight = camera(7)
    show("p7 is in the spotlight", view)
    #expect(try golden("\(name)-conversation.txt", text))
  }

  @Test(arguments: LayoutStore.builtInNames)
  func theTalkerIsAlwaysVisible(name: String) throws {
    let layout = try Self.store.layout(name)
    for canvas in [hd, CanvasSize(width: 1080, height: 1920), CanvasSize(width: 1080, height: 1080)] {
      var arranger = Arranger(layout: layout, canvas: canvas)
      for count in 1...30 {
        for talker in Set([1, 2, (count + 1) / 2, count]) where talker <= count {
          for isShared in [false, true] {
            let sources = cameras(count) + (isShared ? [shared(1)] : [])
            let arrangement = arranger.arrange(RoomView(sources: sources, talkers: [camera(talker)]))
            let keys = arrangement.layers.map(\.key)
            // The single speaker shows one thing: the screen, while there is one.
            let wanted = name == "single-speaker" && isShared ? screen(1) : camera(talker)
            #expect(keys.contains(wanted), "\(count) people, p\(talker) talks, shared: \(isShared), \(canvas)")
            #expect(Set(keys).count == keys.count)
          }
        }
      }
    }
  }

  @Test func gridAndSpeakerAreTheSameInTheProgramAndAsFiles() throws {
    #expect(try Self.store.layout("grid") == .grid)
    #expect(try Self.store.layout("speaker") == .speaker)
  }

  @Test(arguments: LayoutStore.builtInNames)
  func everyLayoutIsThereInBothThemesAndSaysWhatItIsFor(name: String) throws {
    let dark = try Self.store.layout("\(name)-dark")
    let light = try Self.store.layout("\(name)-light")
    #expect(dark.theme == .dark)
    #expect(light.theme == .light)
    #expect(dark.scenes == light.scenes)
    #expect(light.name == "\(name)-light")
    #expect(!light.summary.isEmpty)
  }

  @Test(arguments: LayoutStore.builtInNames)
  func theCanonicalTextOfALayoutIsThatLayout(name: String) throws {
    let layout = try Self.store.layout(name)
    let text = layout.canonicalText
    let again = try LayoutReader.read(text, file: "canonical.yaml", name: "other")
    #expect(again == layout)
    #expect(again.canonicalText == text)
  }
}
