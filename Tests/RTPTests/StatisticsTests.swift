import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct ReceiveStatisticsTests {
  @Test func countsLossOverTheWrapAndPerInterval() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    #expect(statistics.makeReport(at: .zero) == nil)
    for number in Int64(65_500)..<65_600 where number % 4 != 0 || number == 65_500 {
      statistics.received(sequence: number, timestamp: 0, payloadCount: 10, at: .zero)
    }
    let madeFirst = statistics.makeReport(at: .zero)
    let first = try #require(madeFirst)
    #expect(first.cumulativeLost == 24)
    #expect(first.fractionLost == UInt8(24 * 256 / 100))
    #expect(first.highestSequence == 65_599)
    for number in Int64(65_600)..<65_650 {
      statistics.received(sequence: number, timestamp: 0, payloadCount: 10, at: .zero)
    }
    let madeSecond = statistics.makeReport(at: .zero)
    let second = try #require(madeSecond)
    #expect(second.fractionLost == 0)
    #expect(second.cumulativeLost == 24)
    #expect(statistics.octetCount == statistics.packetCount * 10)
  }

  @Test func duplicatesMakeLossNegativeAsTheRFCSays() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    for _ in 0..<3 { statistics.received(sequence: 5, timestamp: 0, payloadCount: 1, at: .zero) }
    let madeReport = statistics.makeReport(at: .zero)
    let report = try #require(madeReport)
    #expect(report.cumulativeLost == -2)
    #expect(report.fractionLost == 0)
  }

  @Test func jitterSettlesAtTheMeanDeviation() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    // Transit times alternate by 10 ms: every difference is 900 ticks.
    for number in Int64(0)..<500 {
      let arrival = Instant.milliseconds(number * 20 + (number % 2) * 10)
      statistics.received(sequence: number, timestamp: UInt32(number * 1800), payloadCount: 1, at: arrival)
    }
    #expect((880...900).contains(statistics.jitter))
  }

  @Test func jitterIsZeroForAnEvenStreamOverTheTimestampWrap() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    for number in Int64(0)..<500 {
      let timestamp = UInt32(truncatingIfNeeded: 4_294_900_000 + number * 1800)
      statistics.received(sequence: number, timestamp: timestamp, payloadCount: 1, at: .milliseconds(number * 20))
    }
    #expect(statistics.jitter == 0)
  }

  @Test func retransmissionsAndTimestampJumpsAreNotJitter() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 0, timestamp: 0, payloadCount: 1, at: .zero)
    statistics.received(sequence: 2, timestamp: 1800, payloadCount: 1, at: .milliseconds(20))
    statistics.received(
      sequence: 1, timestamp: 900, payloadCount: 1, isRetransmission: true, at: .milliseconds(400))
    statistics.received(sequence: 3, timestamp: 90_000_000, payloadCount: 1, at: .milliseconds(40))
    #expect(statistics.jitter == 0)
  }

  @Test func reportTellsWhenTheLastSenderReportCame() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 0, timestamp: 0, payloadCount: 1, at: .zero)
    let report = RTCPSenderReport(
      ssrc: SSRC(1), ntp: NTPTime(0x0102_0304_0506_0708), rtpTimestamp: 0, packetCount: 0, octetCount: 0)
    statistics.received(senderReport: report, at: .seconds(1))
    let madeBlock = statistics.makeReport(at: .milliseconds(2500))
    let block = try #require(madeBlock)
    #expect(block.lastSenderReport == 0x0304_0506)
    #expect(block.delaySinceLastSenderReport == 0x18000)
  }

  @Test func restartedSenderIsNotThousandsOfLosses() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 10, timestamp: 0, payloadCount: 1, at: .zero)
    statistics.received(sequence: 40_000, timestamp: 0, payloadCount: 1, at: .zero)
    #expect(statistics.makeReport(at: .zero)?.cumulativeLost == 0)
  }
}

@Suite struct NackGeneratorTests {
  @Test func asksAtOnceWhenThreeLaterPacketsCameElseAfterAMoment() {
    var nack = NackGenerator()
    nack.received(1, at: .zero)
    nack.received(3, at: .zero)
    #expect(nack.poll(at: .zero) == [])
    #expect(nack.deadline == .milliseconds(10))
    nack.received(4, at: .zero)
    nack.received(5, at: .zero)
    #expect(nack.poll(at: .zero) == [2])
    nack.received(7, at: .zero)
    #expect(nack.poll(at: .milliseconds(10)) == [6])
  }

  @Test func overtakenPacketIsNeverAskedFor() {
    var nack = NackGenerator()
    for number in [Int64(1), 3, 2, 4] { nack.received(number, at: .zero) }
    #expect(nack.poll(at: .milliseconds(50)) == [])
    #expect(nack.deadline == nil)
    #expect(nack.statistics.reordered == 1)
    #expect(nack.statistics.requested == 0)
  }

  @Test func asksAgainAfterARoundTripAndGivesUp() {
    var nack = NackGenerator()
    nack.roundTripTime = .zero
    nack.received(65_535, at: .zero)
    nack.received(65_537, at: .zero)
    var times: [Instant] = []
    var now = Instant.zero
    while let deadline = nack.deadline {
      now = deadline
      let missing = nack.poll(at: now)
      if !missing.isEmpty {
        #expect(missing == [0])
        times.append(now)
      }
    }
    #expect(times.count == NackGenerator.Configuration().maximumTries)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(20) })
    #expect(nack.statistics.givenUp == 1)
    #expect(nack.missingCount == 0)
  }

  @Test func recoveredPacketIsNotAskedForAgainAndTeachesTheRoundTripTime() {
    var nack = NackGenerator()
    nack.roundTripTime = .milliseconds(50)
    nack.received(1, at: .zero)
    nack.received(5, at: .zero)
    #expect(nack.poll(at: .milliseconds(10)) == [2, 3, 4])
    for number in Int64(2)...4 { nack.received(number, at: .milliseconds(20)) }
    #expect(nack.statistics.recovered == 3)
    #expect(nack.roundTripTime < .milliseconds(40))
    #expect(nack.poll(at: .milliseconds(1000)) == [])
  }

  @Test func aHopelessGapIsNotAskedFor() {
    var nack = NackGenerator()
    nack.received(1, at: .zero)
    nack.received(2000, at: .zero)
    #expect(nack.deadline == nil && nack.missingCount == 0)
    #expect(nack.poll(at: .zero) == [])
    nack.received(.max, at: .zero)
    nack.received(.min, at: .zero)
  }

  @Test func whatIsOfNoUseIsForgotten() {
    var nack = NackGenerator()
    nack.received(1, at: .zero)
    nack.received(5, at: .zero)
    nack.forget(below: 4)
    #expect(nack.poll(at: .milliseconds(10)) == [4])
  }
}
