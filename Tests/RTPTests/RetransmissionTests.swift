import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct RetransmissionTests {
  @Test func wrappedPacketHasTheOriginalSequenceNumberInFront() throws {
    let original = try #require(
      packet(hex("b0 e0 fffe 01020304 0a0b0c0d bede 0001 10aa 0000 c0ffee 0002")))
    let buffer = MediaBuffer(capacity: 100)
    #expect(RTX.wrap(original, ssrc: SSRC(5), payloadType: PayloadType(97), sequenceNumber: 1, into: buffer))
    #expect(buffer.array == hex("90 e1 0001 01020304 00000005 bede 0001 10aa 0000 fffe c0ffee"))
    let sent = try #require(RTPPacket(buffer))
    let back = try #require(
      RTX.unwrap(sent, ssrc: original.ssrc, payloadType: original.payloadType, into: MediaBuffer(capacity: 100)))
    #expect(back.buffer.array == hex("90 e0 fffe 01020304 0a0b0c0d bede 0001 10aa 0000 c0ffee"))
  }

  @Test func probesWithoutOriginalNumberAreNothing() throws {
    let probe = try makePacket(sequence: 1, payload: [], padding: 200)
    #expect(RTX.unwrap(probe, ssrc: SSRC(1), payloadType: PayloadType(96), into: MediaBuffer(capacity: 300)) == nil)
    let short = try makePacket(sequence: 1, payload: [1])
    #expect(RTX.unwrap(short, ssrc: SSRC(1), payloadType: PayloadType(96), into: MediaBuffer(capacity: 300)) == nil)
  }

  @Test func whatAnotherPacketCarriedIsNotAskedFor() {
    var nack = NackGenerator()
    nack.received(10, at: .zero)
    nack.received(13, at: .zero)
    nack.recovered(12)
    nack.recovered(10)
    #expect(nack.missingCount == 1)
    #expect(nack.poll(at: .milliseconds(50)) == [11])
  }

  @Test func historyAnswersWhatItStillHas() {
    var history = RetransmissionHistory(capacity: 16)
    var buffers: [MediaBuffer] = []
    for number in 0..<20 {
      buffers.append(MediaBuffer([UInt8(number)]))
      history.store(buffers[number], sequenceNumber: UInt16(truncatingIfNeeded: 65_530 + number), at: .zero)
    }
    #expect(history.retransmit(65_530, at: .zero) == nil)
    #expect(history.retransmit(3, at: .zero) === buffers[9])
    #expect(history.retransmit(13, at: .zero) === buffers[19])
    #expect(history.retransmit(14, at: .zero) == nil)
    history.removeAll()
    #expect(history.retransmit(13, at: .zero) == nil)
  }

  @Test func repeatedRequestsWithinTheIntervalAreAnsweredOnce() {
    var history = RetransmissionHistory()
    history.maximumResends = 2
    history.store(MediaBuffer([1]), sequenceNumber: 1, at: .zero)
    #expect(history.retransmit(1, at: .milliseconds(1)) != nil)
    #expect(history.retransmit(1, at: .milliseconds(2)) == nil)
    #expect(history.retransmit(1, at: .milliseconds(30)) != nil)
    #expect(history.retransmit(1, at: .milliseconds(60)) == nil)
    history.store(MediaBuffer([1]), sequenceNumber: 2, at: .zero)
    #expect(history.retransmit(2, at: .milliseconds(5_000)) == nil)
  }

  @Test func aPacketIsSentAgainEachRoundTripAndTwiceAsOftenWhereMuchIsLost() {
    var history = RetransmissionHistory()
    history.follow(roundTripTime: .milliseconds(80), fractionLost: 0.05)
    #expect(history.minimumResendInterval == .milliseconds(70))
    history.follow(roundTripTime: .milliseconds(80), fractionLost: 0.3)
    #expect(history.minimumResendInterval == .milliseconds(35))
    // A queue stands on the way: more packets would make it longer.
    history.follow(roundTripTime: .milliseconds(144), fractionLost: 0.3)
    #expect(history.minimumResendInterval == .milliseconds(126))
  }

  /// Every packet is 20 ms after the one before; way and loss are the same in both directions.
  struct RepairedPath {
    var nack = NackGenerator()
    var history = RetransmissionHistory()
    /// How long the way takes at an instant.
    var way: (Instant) -> Duration = { _ in .milliseconds(20) }
    /// For each packet that had to be asked for: when it was noticed missing, and when it came at last.
    var repairs: [(noticed: Instant, came: Instant?)] = []

    /// Runs it and gives the requests for each packet that was lost at first.
    mutating func run(seed: UInt64, lossPercent: Int, packets: Int) -> Double {
      var random = SeededRandom(seed: seed)
      var arriving: [(at: Instant, sequence: Int64)] = []
      var requested: [(at: Instant, sequence: Int64)] = []
      var noticed: [Int64: Instant] = [:]
      func isLost() -> Bool { Int.random(in: 0..<100, using: &random) < lossPercent }
      let end = Int64(packets) * 20
      for time in 0..<(end + 1000) {
        let now = Instant.milliseconds(time)
        if time % 20 == 0, time < end {
          history.store(MediaBuffer([1]), sequenceNumber: UInt16(truncatingIfNeeded: time / 20), at: now)
          if time == 0 || !isLost() { arriving.append((now + way(now), time / 20)) }
        }
        for (_, sequence) in requested.filter({ $0.at <= now }) {
          if history.retransmit(UInt16(truncatingIfNeeded: sequence), at: now) != nil, !isLost() {
            arriving.append((now + way(now), sequence))
          }
        }
        requested.removeAll { $0.at <= now }
        for (_, sequence) in arriving.filter({ $0.at <= now }) {
          nack.received(sequence, at: now)
          if let since = noticed.removeValue(forKey: sequence) { repairs.append((since, now)) }
        }
        arriving.removeAll { $0.at <= now }
        // As a connection does it: looks are 20 ms apart, not at the very instant that is named.
        guard time % 20 == 7 else { continue }
        for number in nack.poll(at: now) {
          let newest = time / 20
          let sequence = newest &- Int64(UInt16(truncatingIfNeeded: newest) &- number)
          if noticed[sequence] == nil { noticed[sequence] = now }
          if !isLost() { requested.append((now + way(now), sequence)) }
        }
      }
      repairs += noticed.values.map { ($0, nil) }
      return Double(nack.statistics.requests) / Double(max(1, nack.statistics.requested))
    }
  }

  /// With a request each round trip, one of a hundred lost packets would be too late for the picture.
  @Test(arguments: UInt64(1)...5) func aThirdOfAllPacketsLostIsRepairedInTime(seed: UInt64) {
    var path = RepairedPath()
    path.history.follow(roundTripTime: .milliseconds(40), fractionLost: 0.3)
    _ = path.run(seed: seed, lossPercent: 30, packets: 10_000)
    let late = path.repairs.filter { repair in repair.came.map { $0 - repair.noticed > .milliseconds(380) } ?? true }
    #expect(path.repairs.count > 2500, "seed \(seed)")
    #expect(late.count * 1000 < path.repairs.count * 3, "seed \(seed): \(late.count) of \(path.repairs.count)")
  }

  @Test(arguments: UInt64(1)...5) func fewLossesAndQueuesAreAskedForOnceARoundTrip(seed: UInt64) {
    var path = RepairedPath()
    #expect(path.run(seed: seed, lossPercent: 3, packets: 5000) < 1.3, "seed \(seed)")
    // A queue of a quarter of a second after ten seconds.
    var queue = RepairedPath()
    queue.way = { $0 < .milliseconds(10_000) ? .milliseconds(20) : .milliseconds(150) }
    queue.history.follow(roundTripTime: .milliseconds(300), fractionLost: 0.3)
    #expect(queue.run(seed: seed, lossPercent: 30, packets: 2000) < 4, "seed \(seed)")
  }
}
