import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct TransportFeedbackTests {
  func parse(_ bytes: [UInt8]) -> TransportFeedback? {
    bytes.withUnsafeBytes {
      var compound = RTCPCompound($0)
      guard case .transportFeedback(let feedback) = compound.next() else { return nil }
      return feedback
    }
  }

  @Test func readsRunLengthAndVectorChunksOfTheDraft() throws {
    // Chunks: a run of 3 "small delta"; a one-bit vector 0 1 0...; a two-bit vector 2 0 1 (count ends there).
    let feedback = try #require(
      parse(hex("8fcd0008 00000001 00000002 0005 0014 000001 09 2003 9000 e100 04 08 0c 10 fffc 02 00000000")))
    #expect(feedback.baseSequenceNumber == 5)
    #expect(feedback.statusCount == 20)
    #expect(feedback.referenceTime == 1)
    #expect(feedback.feedbackCount == 9)
    #expect(feedback.arrivals.map(\.sequenceNumber) == [5, 6, 7, 9, 22, 24])
    #expect(feedback.arrivals.map(\.delta) == [4, 8, 12, 16, -4, 2])
    #expect(feedback.fractionLost == 14 * 256 / 20)
  }

  @Test(arguments: [
    "8fcd0004 00000001 00000002 0005 0014 000001 09 ff",  // no chunk
    "8fcd0004 00000001 00000002 0005 ffff 000001 09 3fff",  // 8191 packets, no deltas
    "8fcd0005 00000001 00000002 0005 0009 000001 09 2009 01 02 00000000",  // deltas cut short
    "8fcd0005 00000001 00000002 0005 0009 000001 09 0000 0000 00000000",  // runs of nothing
  ])
  func refusesWhatIsCutShort(text: String) {
    #expect(parse(hex(text)) == nil)
  }

  @Test(arguments: 0..<50) func anyMessageComesBackFromTheWriter(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let count = Int.random(in: 1...500, using: &random)
    let share = Int.random(in: 0...100, using: &random)
    let base = UInt16.random(in: 0...65_535, using: &random)
    var arrivals: [TransportFeedback.Arrival] = []
    for index in 0..<count where Int.random(in: 0..<100, using: &random) < share {
      let isLarge = Int.random(in: 0..<10, using: &random) == 0
      let delta = isLarge ? Int16.random(in: -5000...5000, using: &random) : Int16.random(in: 0...40, using: &random)
      arrivals.append(.init(sequenceNumber: base &+ UInt16(index), delta: delta))
    }
    let feedback = TransportFeedback(
      sender: SSRC(1), media: SSRC(2), baseSequenceNumber: base, statusCount: UInt16(count), referenceTime: -8_388_608,
      feedbackCount: 255, arrivals: arrivals)
    var writer = RTCPWriter()
    writer.transportFeedback(feedback)
    #expect(parse(writer.bytes) == feedback, "seed \(seed)")
  }

  @Test func longRunsTakeOneChunk() {
    var writer = RTCPWriter()
    writer.transportFeedback(
      TransportFeedback(
        sender: SSRC(1), media: SSRC(2), baseSequenceNumber: 0, statusCount: 100, referenceTime: 0, feedbackCount: 0,
        arrivals: (0..<100).map { .init(sequenceNumber: $0, delta: 1) }))
    #expect(writer.bytes.count == 4 + 16 + 2 + 100 + 2)
  }

  @Test(arguments: 0..<20) func recorderTellsEveryArrivalOnceAndInTime(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var recorder = TransportFeedbackRecorder(sender: SSRC(9))
    var now = Instant.seconds(5)
    var arrived: [Int64: Instant] = [:]
    var told: [Int64: Instant] = [:]
    var unwrapper = SequenceUnwrapper()
    var messages = 0
    func tell(_ feedback: TransportFeedback) throws {
      messages += 1
      var writer = RTCPWriter()
      writer.transportFeedback(feedback)
      #expect(writer.count < 1200)
      let read = try #require(parse(writer.bytes))
      var time = Instant.zero + TransportFeedback.referenceUnit * Int(read.referenceTime)
      for arrival in read.arrivals {
        time += TransportFeedback.deltaUnit * Int(arrival.delta)
        told[unwrapper.unwrap(arrival.sequenceNumber)] = time
      }
    }
    for number in Int64(65_000)..<69_000 {
      if Int.random(in: 0..<10, using: &random) == 0 { continue }
      now += .nanoseconds(Int64.random(in: 0...1_500_000, using: &random))
      if number == 67_000 { now += .seconds(30) }
      recorder.received(transportSequence: UInt16(truncatingIfNeeded: number), ssrc: SSRC(1), at: now)
      arrived[number] = now
      while let feedback = recorder.poll(at: now) { try tell(feedback) }
    }
    while let feedback = recorder.flush(at: now) { try tell(feedback) }
    #expect(Set(told.keys) == Set(arrived.keys), "seed \(seed)")
    for (number, time) in told {
      #expect(abs((time - (arrived[number] ?? .zero)).nanoseconds) < 250_000, "seed \(seed)")
    }
    #expect(messages > 20)
    #expect(recorder.deadline == nil)
  }

  @Test func packetOvertakenByAMessageIsToldAfterwards() throws {
    var recorder = TransportFeedbackRecorder(sender: SSRC(9))
    for number in [UInt16(1), 2, 4] { recorder.received(transportSequence: number, ssrc: SSRC(1), at: .zero) }
    let madeFirst = recorder.flush(at: .zero)
    let first = try #require(madeFirst)
    #expect(first.arrivals.map(\.sequenceNumber) == [1, 2, 4])
    recorder.received(transportSequence: 3, ssrc: SSRC(1), at: .milliseconds(1))
    let madeSecond = recorder.flush(at: .milliseconds(1))
    let second = try #require(madeSecond)
    #expect(second.arrivals.map(\.sequenceNumber) == [3, 4])
    #expect(second.feedbackCount == first.feedbackCount + 1)
    recorder.received(transportSequence: 3, ssrc: SSRC(1), at: .milliseconds(2))
    #expect(recorder.deadline == nil)
  }
}
