import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct QueueDelayEstimatorTests {
  /// Fifty packets a second of sound, each `delay` ms late.
  private struct Stream {
    var estimator = QueueDelayEstimator(clockRate: .opus)
    var packet: Int64 = 0

    mutating func second(_ delay: (Int64) -> Int64) -> Int64? {
      for index in 0..<50 {
        let now = Instant.milliseconds(5000 + packet * 20 + delay(Int64(index)))
        estimator.received(timestamp: 1_000_000 + packet * 960, at: now)
        packet += 1
      }
      return estimator.poll().map(\.milliseconds)
    }
  }

  @Test func aSteadyStreamHasNoQueue() {
    var stream = Stream()
    for _ in 0..<60 { #expect(stream.second { _ in 30 } == 0) }
  }

  @Test func jitterIsNoQueue() {
    var stream = Stream()
    var random = SeededRandom(seed: 1)
    for _ in 0..<60 { #expect(stream.second { _ in .random(in: 0...80, using: &random) } ?? 99 <= 10) }
  }

  @Test func aStandingQueueIsSeenAsLongAsItStands() {
    var stream = Stream()
    for _ in 0..<10 { _ = stream.second { _ in 20 } }
    for _ in 0..<15 { #expect(stream.second { _ in 170 } == 150) }
    #expect(stream.second { _ in 20 } == 0)
  }

  @Test func aPauseAndANewClockStartAnew() {
    var stream = Stream()
    for _ in 0..<5 { _ = stream.second { _ in 20 } }
    stream.packet += 50 * 10
    #expect(stream.second { _ in 400 } == 0)
    var other = stream
    other.estimator.received(timestamp: .max / 2, at: .milliseconds(100_000))
    other.estimator.received(timestamp: .min / 2, at: .milliseconds(100_020))
    #expect(other.estimator.poll() != nil)
    #expect(other.estimator.poll() == nil)
  }
}
