import MediaCore
import Testing

@testable import RTP

@Suite struct RTCPTests {
  func parse(_ bytes: [UInt8]) -> (packets: [RTCPPacket], skipped: Int, malformed: Int) {
    bytes.withUnsafeBytes {
      var compound = RTCPCompound($0)
      var packets: [RTCPPacket] = []
      while let packet = compound.next() { packets.append(packet) }
      return (packets, compound.skippedCount, compound.malformedCount)
    }
  }

  @Test func readsSenderReportOfRFC3550() throws {
    let found = parse(
      hex(
        """
        81 c8 000c 00000001 83aa7e80 80000000 00010203 00000010 00000020
        00000002 40 ffffff 00010005 00000007 7e808000 00018000
        """))
    let block = RTCPReportBlock(
      ssrc: SSRC(2), fractionLost: 64, cumulativeLost: -1, highestSequence: 0x10005, jitter: 7,
      lastSenderReport: 0x7e80_8000, delaySinceLastSenderReport: 0x18000)
    let report = RTCPSenderReport(
      ssrc: SSRC(1), ntp: NTPTime(0x83aa_7e80_8000_0000), rtpTimestamp: 0x10203, packetCount: 16, octetCount: 32,
      reports: [block])
    #expect(found.packets == [.senderReport(report)])
    // Sent at 7e80.8000, held for 1.5 s, back 2 s later: half a second on the way.
    #expect(block.roundTripTime(at: NTPTime(0x83aa_7e82_8000_0000)) == .milliseconds(500))
  }

  @Test func everyPacketComesBackFromTheWriter() throws {
    var writer = RTCPWriter()
    let blocks = (0..<33).map {
      RTCPReportBlock(ssrc: SSRC(UInt32($0)), fractionLost: 3, cumulativeLost: -8_388_608, highestSequence: 9)
    }
    let report = RTCPSenderReport(
      ssrc: SSRC(1), ntp: NTPTime(2), rtpTimestamp: 3, packetCount: 4, octetCount: 5, reports: Array(blocks.prefix(31)))
    let nack = RTCPNack(sender: SSRC(1), media: SSRC(2), sequenceNumbers: [65_534, 65_535, 0, 14, 15, 4000])
    let fir = [RTCPFullIntraEntry(media: SSRC(5), commandSequence: 255)]
    let feedback = TransportFeedback(
      sender: SSRC(1), media: SSRC(2), baseSequenceNumber: 65_535, statusCount: 20, referenceTime: -3,
      feedbackCount: 200,
      arrivals: [
        .init(sequenceNumber: 65_535, delta: 255), .init(sequenceNumber: 1, delta: -1),
        .init(sequenceNumber: 18, delta: 256),
      ])
    let remb = RTCPBandwidth(sender: SSRC(1), bitsPerSecond: 1_000_000, streams: [SSRC(3), SSRC(4)])
    writer.senderReport(
      RTCPSenderReport(
        ssrc: SSRC(1), ntp: NTPTime(2), rtpTimestamp: 3, packetCount: 4, octetCount: 5, reports: blocks))
    writer.sourceDescription(ssrc: SSRC(1), cname: "näme")
    writer.nack(sender: nack.sender, media: nack.media, sequenceNumbers: nack.sequenceNumbers)
    writer.pictureLossIndication(sender: SSRC(1), media: SSRC(9))
    writer.fullIntraRequest(sender: SSRC(1), entries: fir)
    writer.transportFeedback(feedback)
    writer.receiverEstimatedMaximumBitrate(remb)
    writer.goodbye([SSRC(1), SSRC(2)])
    #expect(writer.count % 4 == 0)
    let found = parse(writer.bytes)
    #expect(
      found.packets == [
        .senderReport(report),
        .receiverReport(RTCPReceiverReport(ssrc: SSRC(1), reports: Array(blocks.suffix(2)))),
        .sourceDescription([RTCPSourceDescription(ssrc: SSRC(1), cname: "näme")]),
        .nack(nack),
        .pictureLossIndication(sender: SSRC(1), media: SSRC(9)),
        .fullIntraRequest(sender: SSRC(1), entries: fir),
        .transportFeedback(feedback),
        .receiverEstimatedMaximumBitrate(remb),
        .goodbye([SSRC(1), SSRC(2)]),
      ])
    #expect(found.skipped == 0)
    #expect(found.malformed == 0)
  }

  @Test func nackSharesEntriesAsInRFC4585() {
    var writer = RTCPWriter()
    writer.nack(sender: SSRC(1), media: SSRC(2), sequenceNumbers: [100, 101, 116, 117])
    #expect(writer.bytes == hex("81cd0004 00000001 00000002 0064 8001 0075 0000"))
  }

  @Test func pliIsTheTwelveBytesOfRFC4585() {
    var writer = RTCPWriter()
    writer.pictureLossIndication(sender: SSRC(1), media: SSRC(2))
    #expect(writer.bytes == hex("81ce0002 00000001 00000002"))
  }

  @Test func firIsTheMessageOfRFC5104() {
    var writer = RTCPWriter()
    writer.fullIntraRequest(sender: SSRC(1), entries: [RTCPFullIntraEntry(media: SSRC(2), commandSequence: 3)])
    #expect(writer.bytes == hex("84ce0004 00000001 00000000 00000002 03000000"))
  }

  @Test func rembIsMantissaAndExponent() {
    var writer = RTCPWriter()
    writer.receiverEstimatedMaximumBitrate(RTCPBandwidth(sender: SSRC(1), bitsPerSecond: 262_144, streams: [SSRC(2)]))
    // 2^18 needs one bit of exponent: 1 << 18 | 131072.
    #expect(writer.bytes == hex("8fce0005 00000001 00000000 52454d42 01 060000 00000002"))
    let huge = hex("8fce0004 00000001 00000000 52454d42 00 ffffff")
    #expect(parse(huge).packets.count == 1)
    guard case .receiverEstimatedMaximumBitrate(let bandwidth) = parse(huge).packets.first else { return }
    #expect(bandwidth.bitsPerSecond == .max)
  }

  @Test func unknownPacketsAreSkippedAndCounted() {
    // APP, XR, unknown FMT of 205 and 206, then a PLI.
    let found = parse(
      hex(
        "80cc0001 00000001 80cf0001 00000001 83cd0001 00000001 8fce0003 00000001 00000002 41414141"
          + "81ce0002 00000001 00000002"))
    #expect(found.packets == [.pictureLossIndication(sender: SSRC(1), media: SSRC(2))])
    #expect(found.skipped == 4)
    #expect(found.malformed == 0)
  }

  @Test func brokenPacketsAreCountedAndTheOthersRead() {
    // An SR with too many report blocks, then a PLI; then a length beyond the end.
    let found = parse(
      hex("9fc80001 00000001 81ce0002 00000001 00000002 81ce0009 00000001"))
    #expect(found.packets.count == 1)
    #expect(found.malformed == 2)
  }

  @Test func paddingAtTheEndIsRemoved() {
    let found = parse(hex("a1ce0003 00000001 00000002 00000004"))
    #expect(found.packets == [.pictureLossIndication(sender: SSRC(1), media: SSRC(2))])
    #expect(parse(hex("a1ce0002 00000001 00000009")).malformed == 1)
  }

  @Test func manyChunksOfOneDescriptionAreRead() {
    // Two chunks; the first has a NOTE before its name, the second has no name.
    let good = parse(hex("82ca0005 00000001 07 01 41 01 02 6162 00 00000002 0f 01 30 00"))
    #expect(good.packets == [.sourceDescription([RTCPSourceDescription(ssrc: SSRC(1), cname: "ab")])])
    #expect(parse(hex("82ca0003 00000001 07 01 41 01 02 6162 00")).malformed == 1)
  }
}
