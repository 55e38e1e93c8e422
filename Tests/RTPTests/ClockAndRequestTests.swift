import MediaCore
import TestKit
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

  @Test func theNewestReportCountsAndOneWithoutAWallClockDoesNot() throws {
    var clock = SenderReportClock(clockRate: .opus)
    clock.received(report(0, 0), near: 0)
    #expect(clock.received(report(9_000_000_000, 48_000), near: 48_000) == true)
    #expect(abs(try #require(offset(clock, 0)) - 8_000_000_000) < 10)
    let none = RTCPSenderReport(ssrc: SSRC(1), ntp: NTPTime(0), rtpTimestamp: 0, packetCount: 0, octetCount: 0)
    #expect(clock.received(none, near: 0) == false)
    #expect(abs(try #require(offset(clock, 0)) - 8_000_000_000) < 10)
  }
}

@Suite struct KeyframeRequesterTests {
  @Test func asksWithGrowingPausesUntilAKeyframeComes() {
    var requester = KeyframeRequester()
    #expect(requester.deadline == nil)
    var times: [Int64] = []
    for now in stride(from: Int64(0), to: 5000, by: 10) {
      requester.want(.consumer)
      if requester.poll(at: .milliseconds(now)) == true { times.append(now) }
    }
    #expect(times == [0, 200, 700, 1700, 2700, 3700, 4700])
    requester.keyframeReceived()
    #expect(requester.poll(at: .milliseconds(10_000)) == false)
    requester.want(.consumer)
    #expect(requester.poll(at: .milliseconds(10_000)) == true)
    requester.keyframeReceived()
    requester.want(.consumer)
    #expect(requester.poll(at: .milliseconds(10_100)) == false)
    #expect(requester.poll(at: .milliseconds(10_200)) == true)
  }

  @Test func whatMendsItselfIsWithdrawnAndNothingElse() {
    var requester = KeyframeRequester()
    requester.want(.gap)
    #expect(requester.poll(at: .zero) == true)
    requester.withdraw(.gap)
    #expect(requester.deadline == nil)
    requester.want(.gap)
    requester.want(.consumer)
    requester.withdraw(.gap)
    #expect(requester.deadline == .milliseconds(200), "who takes the frames still waits")
    requester.withdraw(.gap)
    #expect(requester.deadline != nil)
    requester.keyframeReceived()
    #expect(requester.deadline == nil)
  }
}

@Suite struct BandwidthEstimatorTests {
  func run(
    _ estimator: inout BandwidthEstimator, seconds: Int, bytesPerSecond: Int, lossPercent: Int, from: Instant = .zero
  ) {
    for step in 0..<(seconds * 10) {
      for index in 0..<100 {
        if index < lossPercent {
          estimator.lost(count: 1)
        } else {
          estimator.received(count: bytesPerSecond / 1000)
        }
      }
      _ = estimator.poll(at: from + .milliseconds(step * 100))
    }
  }

  @Test func growsWithWhatComesInAndStaysInItsLimits() {
    var estimator = BandwidthEstimator(initial: 300_000, limits: 100_000...3_000_000)
    run(&estimator, seconds: 10, bytesPerSecond: 100_000, lossPercent: 0)
    #expect((1_200_000...1_800_000).contains(estimator.bitsPerSecond))
    run(&estimator, seconds: 10, bytesPerSecond: 1_000_000, lossPercent: 0, from: .milliseconds(10_000))
    #expect(estimator.bitsPerSecond == 3_000_000)
  }

  @Test func fallsOnHeavyLossToWhatComesThrough() {
    var estimator = BandwidthEstimator(initial: 3_000_000)
    run(&estimator, seconds: 5, bytesPerSecond: 100_000, lossPercent: 20)
    #expect((500_000...900_000).contains(estimator.bitsPerSecond))
  }

  @Test func silenceDoesNotChangeTheEstimate() {
    var estimator = BandwidthEstimator(initial: 1_000_000)
    for step in 0..<100 { _ = estimator.poll(at: .milliseconds(Int64(step) * 100)) }
    #expect(estimator.bitsPerSecond == 1_000_000)
  }
}
