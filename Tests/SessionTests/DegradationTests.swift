import Layouts
import MediaCore
import Testing

@testable import Session

/// What the core makes of a recording that saves processor time.
@Suite struct DegradationTests {
  private func plan(_ tiles: [(PixelRect, PlannedContent, isScreen: Bool)]) -> FramePlan {
    var plan = FramePlan(
      slot: 0, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false)
    plan.tiles = tiles.map { rect, content, isScreen in
      let ann = ParticipantIdentity("ann")
      return PlannedTile(
        layer: VideoLayer(key: isScreen ? .screenShare(ann) : .camera(ann), rect: rect, fit: .cover),
        identity: ann,
        name: "Ann", content: content, isMuted: false, isTalking: false, isDimmed: false)
    }
    return plan
  }

  @Test func aSceneIsStillWithoutCamerasOrBesideALargerScreen() {
    let large = PixelRect(x: 0, y: 0, width: 640, height: 360)
    let small = PixelRect(x: 640, y: 0, width: 320, height: 180)
    let picture = PlannedContent.picture(FrameID(1), TrackID("a"))
    #expect(plan([]).isStill)
    #expect(plan([(large, .card(.cameraOff), false)]).isStill)
    #expect(!plan([(large, picture, false)]).isStill)
    #expect(plan([(large, picture, true), (small, picture, false)]).isStill)
    #expect(!plan([(small, picture, true), (large, picture, false)]).isStill)
    #expect(plan([(small, picture, true), (large, .card(.cameraOff), false)]).isStill)
  }

  /// Whichever slot a step changes at, pictures are no further apart than the slower of the two steps wants.
  @Test(arguments: [
    (DegradationStep.halfRate, DegradationStep.thirdRate, Int64(3)), (.thirdRate, .halfRate, 3), (.none, .halfRate, 2),
  ])
  func picturesAreEvenlyApartWhereAStepChanges(before: DegradationStep, after: DegradationStep, most: Int64) {
    let picture = PlannedContent.picture(FrameID(1), TrackID("a"))
    var plan = plan([(PixelRect(x: 0, y: 0, width: 640, height: 360), picture, false)])
    for change in Int64(1)...12 {
      var sparing = Sparing(framesPerSecond: 30)
      var written: [Int64] = []
      for slot in Int64(0)..<30 {
        plan.slot = slot
        if !sparing.leavesOut(plan, by: slot < change ? before : after) { written.append(slot) }
      }
      let distances = zip(written.dropFirst(), written).map { $0 - $1 }
      #expect(written[0] == 0 && distances.allSatisfy { $0 <= most }, "the step changes at slot \(change)")
      #expect(
        distances.suffix(3) == Array(repeating: after.interval(isStill: false, framesPerSecond: 30), count: 3)[...])
    }
  }

  @Test func eachStepIsToldAndFromLayersOnSmallerSizesAreAskedFor() {
    var room = RoomScript()
    room.join("ann", at: 0)
    var core = SessionCore(settings: .test)
    for event in room.ordered() { core.handle(event) }
    var told: [String] = []
    var wishes: [ReceptionWish] = []
    func advance(_ ms: Int64, _ core: inout SessionCore) {
      core.advance(to: .milliseconds(ms))
      while let output = core.pollOutput() {
        if case .note(let entry) = output, case .degradation(let step) = entry.event { told.append(step.name) }
        if case .receive(let new) = output { wishes += new }
      }
    }
    advance(2000, &core)
    core.degrade(to: .stillScenes, layers: true)
    advance(4000, &core)
    #expect(told == ["still-scenes"] && wishes.isEmpty)
    core.degrade(to: .layers, layers: false)
    advance(6000, &core)
    #expect(told.last == "layers" && wishes.isEmpty)
    core.degrade(to: .halfRate, layers: true)
    advance(8000, &core)
    #expect(wishes.count == 1 && (1..<SessionCore.Settings.test.canvas.width).contains(wishes[0].width))
    core.degrade(to: .none, layers: true)
    advance(10_000, &core)
    #expect(told.last == "none" && wishes.count == 2 && wishes[1].width == 0)
    let line = TimelineEntry(time: .zero, sessionTime: .zero, event: .degradation(.thirdRate)).json(startDate: 0)
    #expect(line.hasSuffix(#""event":"degradation","step":"third-rate"}"#))
  }
}
