import Layouts
import MediaCore
import Testing

@testable import Session

/// What is asked of the room when several pictures are planned of it.
@Suite struct SeveralPlansTests {
  private func said(_ run: SessionRun) -> (wishes: [ReceptionWish], view: Set<TrackID>) {
    var found: (wishes: [ReceptionWish], view: Set<TrackID>) = ([], [])
    for output in run.outputs {
      if case .receive(let wishes) = output { found.wishes += wishes }
      if case .view(let tracks) = output { found.view = tracks }
    }
    return found
  }

  private func room() -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    for name in ["ann", "bob"] {
      room.join(name, at: 0)
      room.video("\(name).camera", from: 20, to: 14_000)
    }
    return room
  }

  private func settings(
    _ canvas: CanvasSize, _ layout: Layout, _ further: [SessionCore.Settings.FurtherPicture] = []
  ) -> SessionCore.Settings {
    var settings = SessionCore.Settings(canvas: canvas, layout: layout, receive: .forLayout)
    settings.further = further
    return settings
  }

  private static let small = CanvasSize(width: 320, height: 180), large = CanvasSize(width: 1280, height: 720)

  @Test func theLargestThatAnyPictureNeedsIsAskedFor() {
    let room = room()
    let alone = said(room.run(settings(Self.large, .grid), until: 3_000)).wishes
    let several = said(
      room.run(settings(Self.small, .grid, [.init(canvas: Self.large), .init(canvas: Self.small)]), until: 3_000)
    ).wishes
    #expect(several == alone && Set(alone.map(\.track)).count == 2 && alone.allSatisfy { $0.width > 320 })
    let small = said(room.run(settings(Self.small, .grid), until: 3_000)).wishes
    #expect(Set(small.map(\.track)).count == 2 && small.allSatisfy { $0.width <= 320 })
  }

  @Test func whatOnlyAFurtherPictureShowsIsReceived() {
    let room = room()
    // One person fills the picture; the other is seen in the further one only.
    let single = Layout.single
    let alone = said(room.run(settings(Self.large, single), until: 14_000))
    #expect(alone.view.count == 1 && alone.wishes.contains { $0.reception == .hidden })
    let several = said(
      room.run(settings(Self.large, single, [.init(canvas: Self.small, layout: .grid)]), until: 14_000))
    #expect(several.view == [TrackID("ann.camera"), TrackID("bob.camera")])
    #expect(several.wishes.allSatisfy { $0.reception == .wanted })
  }

  @Test func aPauseAndItsEndHoldForAllPictures() {
    var room = room()
    room.at(2_000, .pause(.slate))
    room.at(3_000, .resume)
    let run = room.run(settings(Self.large, .grid, [.init(canvas: Self.small)]), until: 5_000)
    let further = run.outputs.compactMap { if case .composeFurther(0, let plan) = $0 { plan } else { nil } }
    #expect(further.count == run.plans.count)
    for (mine, theirs) in zip(further, run.plans) {
      #expect(mine.pause == theirs.pause && mine.tiles.isEmpty == theirs.tiles.isEmpty && mine.time == theirs.time)
      #expect(mine.tiles.map(\.content) == theirs.tiles.map(\.content))
    }
    #expect(further.contains { $0.pause == .slate } && further.last?.tiles.count == 2)
  }
}

extension Layout {
  /// The active talker alone.
  fileprivate static var single: Layout {
    var region = Region(name: "one", selector: SourceSelector([.talker, .everyone]))
    region.maximumTiles = 1
    region.overflow = .none
    return Layout(name: "single", summary: "", scenes: [Scene(name: "one", regions: [region])])
  }
}
