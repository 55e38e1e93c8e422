import MediaCore
import Testing

@testable import RTP

@Suite struct ReceiveStatisticsTests {
  @Test func countsLossOverTheWrapAndPerInterval() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    #expect(statistics.makeReport(at: 0) == nil)
    for number in Int64(65_500)..<65_600 where number % 4 != 0 || number == 65_500 {
      statistics.received(sequence: number, timestamp: 0, payloadCount: 10, at: 0)
    }
    let madeFirst = statistics.makeReport(at: 0)
    let first = try #require(madeFirst)
    #expect(first.cumulativeLost == 24)
    #expect(first.fractionLost == UInt8(24 * 256 / 100))
    #expect(first.highestSequence == 65_599)
    for number in Int64(65_600)..<65_650 {
      statistics.received(sequence: number, timestamp: 0, payloadCount: 10, at: 0)
    }
    let madeSecond = statistics.makeReport(at: 0)
    let second = try #require(madeSecond)
    #expect(second.fractionLost == 0)
    #expect(second.cumulativeLost == 24)
    #expect(statistics.octetCount == statistics.packetCount * 10)
  }

  @Test func duplicatesMakeLossNegativeAsTheRFCSays() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    for _ in 0..<3 { statistics.received(sequence: 5, timestamp: 0, payloadCount: 1, at: 0) }
    let madeReport = statistics.makeReport(at: 0)
    let report = try #require(madeReport)
    #expect(report.cumulativeLost == -2)
    #expect(report.fractionLost == 0)
  }

  @Test func jitterSettlesAtTheMeanDeviation() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    // Transit times alternate by 10 ms: every difference is 900 ticks.
    for number in Int64(0)..<500 {
      let arrival = number * 20 * millisecond + (number % 2) * 10 * millisecond
      statistics.received(sequence: number, timestamp: UInt32(number * 1800), payloadCount: 1, at: arrival)
    }
    #expect((880...900).contains(statistics.jitter))
  }

  @Test func jitterIsZeroForAnEvenStreamOverTheTimestampWrap() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    for number in Int64(0)..<500 {
      let timestamp = UInt32(truncatingIfNeeded: 4_294_900_000 + number * 1800)
      statistics.received(sequence: number, timestamp: timestamp, payloadCount: 1, at: number * 20 * millisecond)
    }
    #expect(statistics.jitter == 0)
  }

  @Test func retransmissionsAndTimestampJumpsAreNotJitter() {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 0, timestamp: 0, payloadCount: 1, at: 0)
    statistics.received(sequence: 2, timestamp: 1800, payloadCount: 1, at: 20 * millisecond)
    statistics.received(
      sequence: 1, timestamp: 900, payloadCount: 1, isRetransmission: true, at: 400 * millisecond)
    statistics.received(sequence: 3, timestamp: 90_000_000, payloadCount: 1, at: 40 * millisecond)
    #expect(statistics.jitter == 0)
  }

  @Test func reportTellsWhenTheLastSenderReportCame() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 0, timestamp: 0, payloadCount: 1, at: 0)
    let report = RTCPSenderReport(
      ssrc: SSRC(1), ntp: NTPTime(0x0102_0304_0506_0708), rtpTimestamp: 0, packetCount: 0, octetCount: 0)
    statistics.received(senderReport: report, at: 1_000_000_000)
    let madeBlock = statistics.makeReport(at: 2_500_000_000)
    let block = try #require(madeBlock)
    #expect(block.lastSenderReport == 0x0304_0506)
    #expect(block.delaySinceLastSenderReport == 0x18000)
  }

  @Test func restartedSenderIsNotThousandsOfLosses() throws {
    var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
    statistics.received(sequence: 10, timestamp: 0, payloadCount: 1, at: 0)
    statistics.received(sequence: 40_000, timestamp: 0, payloadCount: 1, at: 0)
    #expect(statistics.makeReport(at: 0)?.cumulativeLost == 0)
  }
}

@Suite struct NackGeneratorTests {
  @Test func asksAtOnceWhenThreeLaterPacketsCameElseAfterAMoment() {
    var nack = NackGenerator()
    nack.received(1, at: 0)
    nack.received(3, at: 0)
    #expect(nack.poll(at: 0) == [])
    #expect(nack.deadline == 10 * millisecond)
    nack.received(4, at: 0)
    nack.received(5, at: 0)
    #expect(nack.poll(at: 0) == [2])
    nack.received(7, at: 0)
    #expect(nack.poll(at: 10 * millisecond) == [6])
  }

  @Test func overtakenPacketIsNeverAskedFor() {
    var nack = NackGenerator()
    for number in [Int64(1), 3, 2, 4] { nack.received(number, at: 0) }
    #expect(nack.poll(at: 50 * millisecond) == [])
    #expect(nack.deadline == nil)
    #expect(nack.statistics.reordered == 1)
    #expect(nack.statistics.requested == 0)
  }

  @Test func asksAgainAfterARoundTripAndGivesUp() {
    var nack = NackGenerator()
    nack.roundTripTime = 0
    nack.received(65_535, at: 0)
    nack.received(65_537, at: 0)
    var times: [Int64] = []
    var now: Int64 = 0
    while let deadline = nack.deadline {
      now = deadline
      let missing = nack.poll(at: now)
      if !missing.isEmpty {
        #expect(missing == [0])
        times.append(now)
      }
    }
    #expect(times.count == NackGenerator.Configuration().maximumTries)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 20 * millisecond })
    #expect(nack.statistics.givenUp == 1)
    #expect(nack.missingCount == 0)
  }

  @Test func recoveredPacketIsNotAskedForAgainAndTeachesTheRoundTripTime() {
    var nack = NackGenerator()
    nack.roundTripTime = 50 * millisecond
    nack.received(1, at: 0)
    nack.received(5, at: 0)
    #expect(nack.poll(at: 10 * millisecond) == [2, 3, 4])
    for number in Int64(2)...4 { nack.received(number, at: 20 * millisecond) }
    #expect(nack.statistics.recovered == 3)
    #expect(nack.roundTripTime < 40 * millisecond)
    #expect(nack.poll(at: 1000 * millisecond) == [])
  }

  @Test func aHopelessGapIsNotAskedFor() {
    var nack = NackGenerator()
    nack.received(1, at: 0)
    nack.received(2000, at: 0)
    #expect(nack.deadline == nil && nack.missingCount == 0)
    #expect(nack.poll(at: 0) == [])
    nack.received(.max, at: 0)
    nack.received(.min, at: 0)
  }

  @Test func whatIsOfNoUseIsForgotten() {
    var nack = NackGenerator()
    nack.received(1, at: 0)
    nack.received(5, at: 0)
    nack.forget(below: 4)
    #expect(nack.poll(at: 10 * millisecond) == [4])
  }
}
