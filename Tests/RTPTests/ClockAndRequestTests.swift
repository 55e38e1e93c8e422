import MediaCore
import Testing

@testable import RTP

@Suite struct SenderReportClockTests {
  let begin: Int64 = 3_900_000_000_000_000_000

  func report(_ nanoseconds: Int64, _ rtp: Int64) -> RTCPSenderReport {
    RTCPSenderReport(
      ssrc: SSRC(1), ntp: NTPTime(nanoseconds: begin + nanoseconds), rtpTimestamp: UInt32(truncatingIfNeeded: rtp),
      packetCount: 0, octetCount: 0)
  }

  func offset(_ clock: SenderReportClock, _ rtp: Int64) -> Int64? {
    clock.captureTime(of: rtp).map { $0.nanoseconds - begin }
  }

  @Test func mapsAfterTheFirstReportAndOverTheWrap() throws {
    var clock = SenderReportClock(clockRate: .video)
    #expect(clock.captureTime(of: 0) == nil)
    let rtp: Int64 = 4_294_967_000
    #expect(clock.received(report(0, rtp), near: rtp + 90_000) == true)
    #expect(abs(try #require(offset(clock, rtp + 90_000)) - 1_000_000_000) < 10)
    #expect(clock.received(report(3_000_000_000, rtp + 270_000), near: rtp + 260_000) == true)
    #expect(abs(try #require(offset(clock, rtp + 270_000)) - 3_000_000_000) < 10)
    #expect(clock.isSynchronized)
  }

  @Test func singleOutliersAndBackwardReportsAreRefused() throws {
    var clock = SenderReportClock(clockRate: .opus)
    clock.received(report(0, 0), near: 0)
    clock.received(report(1_000_000_000, 48_000), near: 48_000)
    #expect(clock.received(report(9_000_000_000, 96_000), near: 96_000) == false)
    #expect(clock.received(report(500_000_000, 24_000), near: 96_000) == false)
    #expect(
      clock.received(
        RTCPSenderReport(ssrc: SSRC(1), ntp: NTPTime(0), rtpTimestamp: 0, packetCount: 0, octetCount: 0), near: 0)
        == false)
    #expect(clock.received(report(3_000_000_000, 144_000), near: 144_000) == true)
    #expect(abs(try #require(offset(clock, 144_000)) - 3_000_000_000) < 10)
    #expect(clock.refusedCount == 3)
  }

  @Test func newClockIsBelievedAfterThreeReports() throws {
    var clock = SenderReportClock(clockRate: .opus)
    clock.received(report(0, 0), near: 0)
    for index in Int64(1)...3 {
      let used = clock.received(report(60_000_000_000 + index * 1_000_000_000, index * 48_000), near: index * 48_000)
      #expect(used == (index == 3))
    }
    #expect(abs(try #require(offset(clock, 0)) - 60_000_000_000) < 10)
  }

  @Test func jitteryReportsMoveTheMappingLittleAndSlowly() throws {
    var random = SeededRandom(seed: 1)
    var clock = SenderReportClock(clockRate: .opus)
    var last: Int64 = 0
    for index in Int64(0)..<100 {
      let noise = index == 0 ? 0 : Int64.random(in: -30_000_000...30_000_000, using: &random)
      clock.received(report(index * 1_000_000_000 + noise, index * 48_000), near: index * 48_000)
      let now = try #require(offset(clock, 0))
      #expect(abs(now - last) <= 10_000_001)
      last = now
    }
    #expect(abs(last) < 20_000_000)
  }
}

@Suite struct KeyframeRequesterTests {
  @Test func asksWithGrowingPausesUntilAKeyframeComes() {
    var requester = KeyframeRequester()
    #expect(requester.deadline == nil)
    var times: [Int64] = []
    for now in stride(from: Int64(0), to: 5000, by: 10) {
      requester.want()
      if requester.poll(at: now * millisecond) == true { times.append(now) }
    }
    #expect(times == [0, 200, 700, 1700, 2700, 3700, 4700])
    requester.keyframeReceived()
    #expect(requester.poll(at: 10_000 * millisecond) == false)
    requester.want()
    #expect(requester.poll(at: 10_000 * millisecond) == true)
    requester.keyframeReceived()
    requester.want()
    #expect(requester.poll(at: 10_100 * millisecond) == false)
    #expect(requester.poll(at: 10_200 * millisecond) == true)
  }
}

@Suite struct BandwidthEstimatorTests {
  func run(_ estimator: inout BandwidthEstimator, seconds: Int, bytesPerSecond: Int, lossPercent: Int, from: Int64 = 0)
  {
    for step in 0..<(seconds * 10) {
      for index in 0..<100 {
        if index < lossPercent {
          estimator.lost(count: 1)
        } else {
          estimator.received(count: bytesPerSecond / 1000)
        }
      }
      _ = estimator.poll(at: from + Int64(step) * 100 * millisecond)
    }
  }

  @Test func growsWithWhatComesInAndStaysInItsLimits() {
    var estimator = BandwidthEstimator(initial: 300_000, limits: 100_000...3_000_000)
    run(&estimator, seconds: 10, bytesPerSecond: 100_000, lossPercent: 0)
    #expect((1_200_000...1_800_000).contains(estimator.bitsPerSecond))
    run(&estimator, seconds: 10, bytesPerSecond: 1_000_000, lossPercent: 0, from: 10_000 * millisecond)
    #expect(estimator.bitsPerSecond == 3_000_000)
  }

  @Test func fallsOnHeavyLossToWhatComesThrough() {
    var estimator = BandwidthEstimator(initial: 3_000_000)
    run(&estimator, seconds: 5, bytesPerSecond: 100_000, lossPercent: 20)
    #expect((500_000...900_000).contains(estimator.bitsPerSecond))
  }

  @Test func silenceDoesNotChangeTheEstimate() {
    var estimator = BandwidthEstimator(initial: 1_000_000)
    for step in 0..<100 { _ = estimator.poll(at: Int64(step) * 100 * millisecond) }
    #expect(estimator.bitsPerSecond == 1_000_000)
  }
}
