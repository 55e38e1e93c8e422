import Layouts
import MediaCore
import Testing

@testable import Recording
@testable import Session

/// What is left out when a recording falls behind, and when it ends in any case.
struct PaceTests {
  private static func settings(_ maximum: Duration? = nil) -> SessionCore.Settings {
    SessionCore.Settings(
      canvas: CanvasSize(width: 1280, height: 720), layout: .grid, latency: .milliseconds(500),
      maximumDuration: maximum)
  }

  private static let plan = SessionOutput.compose(
    FramePlan(
      slot: 0, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false))
  private static let further = SessionOutput.composeFurther(
    0,
    FramePlan(
      slot: 0, time: .zero, sessionTime: .zero, participants: 0, talker: nil, layout: "", isReconnecting: false))
  private static let picture = SessionOutput.decode(
    FrameID(0),
    EncodedFrame(codec: .vp8, payload: MediaBuffer([1]), rtpTime: 0, isKeyframe: true), of: TrackID("a"),
    at: .zero)
  private static let subscription = SessionOutput.subscribe(TrackID("a"))

  @Test func whatIsOnlyForTheEyeIsLeftOutWhenItIsLate() {
    var pace = Pace(Self.settings())
    pace.look(at: .seconds(10), stoppedAt: nil, fileTime: .seconds(10))
    pace.plans(.milliseconds(7600), at: .seconds(10))
    #expect(!pace.leavesOut(Self.plan) && !pace.leavesOut(Self.picture))
    pace.plans(.milliseconds(7400), at: .seconds(10))
    #expect(pace.leavesOut(Self.plan) && !pace.leavesOut(Self.picture))
    pace.plans(.milliseconds(5400), at: .seconds(10))
    #expect(pace.leavesOut(Self.plan) && pace.leavesOut(Self.picture) && !pace.leavesOut(Self.subscription))
    #expect(!pace.isOver)
  }

  @Test func furtherFilesLoseTheirPicturesFirst() {
    var pace = Pace(Self.settings())
    pace.look(at: .seconds(10), stoppedAt: nil, fileTime: .seconds(10))
    pace.plans(.milliseconds(9100), at: .seconds(10))
    #expect(!pace.leavesOut(Self.plan) && !pace.leavesOut(Self.further))
    pace.plans(.milliseconds(8900), at: .seconds(10))
    #expect(!pace.leavesOut(Self.plan) && pace.leavesOut(Self.further))
  }

  @Test func aStopIsObeyedWithinASecondHoweverFarItIsBehind() {
    var pace = Pace(Self.settings())
    pace.plans(.zero, at: .milliseconds(500))
    pace.look(at: .milliseconds(40_500), stoppedAt: .milliseconds(40_000), fileTime: .milliseconds(40_500))
    #expect(!pace.isOver && !pace.leavesOut(Self.plan))
    pace.look(at: .milliseconds(40_600), stoppedAt: .milliseconds(40_000), fileTime: .milliseconds(40_600))
    #expect(!pace.isOver && pace.leavesOut(Self.plan) && pace.leavesOut(Self.picture))
    pace.look(at: .milliseconds(40_850), stoppedAt: .milliseconds(40_000), fileTime: nil)
    #expect(pace.isOver)
  }

  @Test func aDeadlineIsObeyedWithinASecondUnlessTimeStandsStill() {
    var pace = Pace(Self.settings(.seconds(8)))
    // The last slot is planned half a second after its instant.
    pace.look(at: .milliseconds(8_500), stoppedAt: nil, fileTime: .milliseconds(8_500))
    #expect(!pace.isOver && !pace.leavesOut(Self.plan))
    pace.look(at: .milliseconds(9_200), stoppedAt: nil, fileTime: .milliseconds(9_200))
    #expect(!pace.isOver && pace.leavesOut(Self.plan))
    pace.look(at: .milliseconds(9_400), stoppedAt: nil, fileTime: .milliseconds(9_400))
    #expect(pace.isOver)
    pace.look(at: .seconds(60), stoppedAt: nil, fileTime: nil)
    #expect(!pace.isOver)
  }
}
