import MediaCore
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

  @Test func payloadTypesAreFoundBothWays() {
    var types = RTXPayloadTypes()
    types.set(rtx: PayloadType(97), media: PayloadType(96))
    types.set(rtx: PayloadType(97), media: PayloadType(100))
    #expect(types.media(of: PayloadType(97)) == PayloadType(100))
    #expect(types.rtx(of: PayloadType(100)) == PayloadType(97))
    #expect(types.rtx(of: PayloadType(96)) == nil)
  }

  @Test func historyAnswersWhatItStillHas() {
    var history = RetransmissionHistory(capacity: 16)
    var buffers: [MediaBuffer] = []
    for number in 0..<20 {
      buffers.append(MediaBuffer([UInt8(number)]))
      history.store(buffers[number], sequenceNumber: UInt16(truncatingIfNeeded: 65_530 + number), at: 0)
    }
    #expect(history.retransmit(65_530, at: 0) == nil)
    #expect(history.retransmit(3, at: 0) === buffers[9])
    #expect(history.retransmit(13, at: 0) === buffers[19])
    #expect(history.retransmit(14, at: 0) == nil)
    history.removeAll()
    #expect(history.retransmit(13, at: 0) == nil)
  }

  @Test func repeatedRequestsWithinTheIntervalAreAnsweredOnce() {
    var history = RetransmissionHistory()
    history.maximumResends = 2
    history.store(MediaBuffer([1]), sequenceNumber: 1, at: 0)
    #expect(history.retransmit(1, at: millisecond) != nil)
    #expect(history.retransmit(1, at: 2 * millisecond) == nil)
    #expect(history.retransmit(1, at: 30 * millisecond) != nil)
    #expect(history.retransmit(1, at: 60 * millisecond) == nil)
    history.store(MediaBuffer([1]), sequenceNumber: 2, at: 0)
    #expect(history.retransmit(2, at: 5_000 * millisecond) == nil)
  }
}
