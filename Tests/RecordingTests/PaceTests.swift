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
    pace.plans(.milliseconds(7633), at: .milliseconds(10_233))
    #expect(pace.leavesOut(Self.plan) && !pace.leavesOut(Self.picture))
    pace.plans(.milliseconds(7666), at: .milliseconds(12_333))
    #expect(pace.leavesOut(Self.plan) && pace.leavesOut(Self.picture) && !pace.leavesOut(Self.subscription))
    #expect(!pace.isOver)
  }

  @Test func ofWhatIsLateAPictureIsKeptNowAndThen() {
    var pace = Pace(Self.settings())
    func kept(behind lag: Duration, from begin: Int64) -> [Int64] {
      (begin..<begin + 3000).filter { $0 % 33 == 0 }.filter {
        pace.plans(.milliseconds($0), at: .milliseconds($0) + lag)
        return !pace.leavesOut(Self.plan)
      }
    }
    #expect(kept(behind: .milliseconds(2_500), from: 0).count == 91)
    // Five a second, then one.
    #expect((13...15).contains(kept(behind: .milliseconds(2_600), from: 3_000).count))
    #expect((2...3).contains(kept(behind: .milliseconds(4_600), from: 6_000).count))
    #expect(kept(behind: .zero, from: 9_000).count >= 90)
  }

  /// A machine that needs longer for decoding alone than the time that it decodes.
  @Test func aMachineThatIsTooSlowForAnHourStillShowsPictures() {
    var pace = Pace(Self.settings())
    var now = SessionTime.zero
    var shown: [Int] = Array(repeating: 0, count: 3600)
    var worst = Duration.zero
    for slot in Int64(0)..<3600 * 30 {
      let instant = SessionTime.milliseconds(slot * 1000 / 30)
      now = max(now, instant + .milliseconds(500))
      if !pace.leavesOut(Self.picture) { now += .milliseconds(50) }
      pace.plans(instant, at: now)
      worst = max(worst, pace.lag)
      guard !pace.leavesOut(Self.plan) else { continue }
      now += .milliseconds(20)
      shown[Int(slot / 30)] += 1
    }
    #expect(shown.allSatisfy { $0 >= 1 })
    #expect(worst < .seconds(5))
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
