import MediaCore
import Testing

@testable import RTP

@Suite struct RTPPacketTests {
  @Test func readsEveryFieldOfTheHeader() throws {
    // V=2 P=1 X=1 CC=2, M=1 PT=96, two CSRC, one-byte extension with one word, payload 3 bytes, padding 2.
    let parsed = try #require(
      packet(hex("b2 e0 fffe 01020304 0a0b0c0d 00000001 00000002 bede 0001 10aa 0000 c0ffee 0002")))
    #expect(parsed.marker)
    #expect(parsed.payloadType == PayloadType(96))
    #expect(parsed.sequenceNumber == 0xfffe)
    #expect(parsed.timestamp == 0x0102_0304)
    #expect(parsed.ssrc == SSRC(0x0a0b_0c0d))
    #expect(parsed.csrcCount == 2)
    #expect(parsed.paddingCount == 2)
    #expect(Array(parsed.payload) == hex("c0ffee"))
    #expect(parsed.headerExtension(1).map(Array.init) == [0xaa])
    #expect(parsed.headerExtension(2) == nil)
  }

  @Test(arguments: [
    "", "80", "80600001000000020000000", "40600001 00000002 00000003",  // short, version 1
    "81600001 00000002 00000003",  // CSRC list missing
    "90600001 00000002 00000003 bede", "90600001 00000002 00000003 bede0002 00000000",  // extension cut short
    "a0600001 00000002 00000003",  // padding flag without bytes
    "a0600001 00000002 00000003 0000", "a0600001 00000002 00000003 0003",  // padding 0, padding beyond payload
  ])
  func refusesWhatIsNotAPacket(text: String) {
    #expect(packet(hex(text)) == nil)
  }

  @Test func paddingOnlyPacketHasNoPayload() throws {
    let probe = try makePacket(sequence: 1, payload: [], padding: 255)
    #expect(probe.isPaddingOnly)
    #expect(probe.paddingCount == 255)
  }

  @Test func readsOneByteElementsAndStopsAtReservedOnes() throws {
    // id 3 len 3, padding, id 5 len 1; then id 15 ends it although id 6 follows.
    let parsed = try #require(
      packet(hex("90 60 0001 00000002 00000003 bede 0003 32 a1a2a3 00 50 b1 f0 00 60 c1 00")))
    #expect(parsed.headerExtension(3).map(Array.init) == hex("a1a2a3"))
    #expect(parsed.headerExtension(5).map(Array.init) == hex("b1"))
    #expect(parsed.headerExtension(6) == nil)
    #expect(parsed.headerExtension(0) == nil)
  }

  @Test func readsTwoByteElementsIncludingEmptyOnes() throws {
    let parsed = try #require(
      packet(hex("90 60 0001 00000002 00000003 1000 0003 07 00 00 80 04 a1a2a3a4 09 01 ff")))
    #expect(parsed.headerExtension(7).map(Array.init) == [])
    #expect(parsed.headerExtension(0x80).map(Array.init) == hex("a1a2a3a4"))
    #expect(parsed.headerExtension(9).map(Array.init) == [0xff])
  }

  @Test func ignoresElementsThatRunBeyondTheExtension() throws {
    let oneByte = try #require(packet(hex("90 60 0001 00000002 00000003 bede 0001 1f aabbcc dd")))
    #expect(oneByte.headerExtension(1) == nil)
    let twoByte = try #require(packet(hex("90 60 0001 00000002 00000003 1000 0001 01 ff aabb dd")))
    #expect(twoByte.headerExtension(1) == nil)
  }

  @Test func writesOneByteFormAsInTheRFC() throws {
    var elements = RTPHeaderExtensionWriter()
    elements.append(id: 1, value: 0xaa, length: 1)
    elements.append(id: 2, value: 0xb1b2, length: 2)
    let buffer = MediaBuffer(capacity: 100)
    let ok = hex("c0ffee").withUnsafeBytes {
      RTPPacket.write(
        into: buffer, marker: true, payloadType: PayloadType(111), sequenceNumber: 2, timestamp: 3, ssrc: SSRC(4),
        extensions: elements, payload: $0)
    }
    #expect(ok)
    #expect(buffer.array == hex("90 ef 0002 00000003 00000004 bede 0002 10aa 21b1b2 000000 c0ffee"))
  }

  @Test func takesTwoByteFormWhenAnElementNeedsIt() throws {
    var elements = RTPHeaderExtensionWriter()
    elements.append(id: 15, value: 0xaa, length: 1)
    elements.append(id: 2, text: "a text of seventeen")
    let buffer = MediaBuffer(capacity: 100)
    let header = RTPHeader(
      marker: false, payloadType: PayloadType(1), sequenceNumber: 2, timestamp: 3, ssrc: SSRC(4))
    #expect(header.write(into: buffer, extensions: elements))
    let parsed = try #require(RTPPacket(buffer))
    #expect(parsed.headerExtension(15).map(Array.init) == [0xaa])
    #expect(parsed.headerExtension(2).map { String(decoding: $0, as: UTF8.self) } == "a text of seventeen")
    #expect(parsed.payloadCount == 0)
  }

  @Test func refusesElementsThatNoFormCanCarry() {
    var elements = RTPHeaderExtensionWriter()
    #expect(elements.append(id: 0, value: 1, length: 1) == false)
    #expect(elements.append(id: 1, text: String(repeating: "x", count: 256)) == false)
    #expect(elements.isEmpty)
  }

  @Test func tooSmallBufferIsLeftEmpty() {
    let buffer = MediaBuffer(capacity: 14)
    let ok = hex("c0ffee").withUnsafeBytes {
      RTPPacket.write(
        into: buffer, marker: true, payloadType: PayloadType(111), sequenceNumber: 2, timestamp: 3, ssrc: SSRC(4),
        payload: $0)
    }
    #expect(!ok)
    #expect(buffer.count == 0)
  }

  @Test func copyUnderAnotherHeaderKeepsTheRest() throws {
    let original = try #require(
      packet(hex("b2 e0 fffe 01020304 0a0b0c0d 00000001 00000002 bede 0001 10aa 0000 c0ffee 0002")))
    var header = RTPHeader(original)
    header.marker = false
    header.sequenceNumber = 9
    header.ssrc = SSRC(1)
    header.timestamp = 5
    header.payloadType = PayloadType(100)
    let buffer = MediaBuffer(capacity: 1500)
    #expect(header.copy(original, into: buffer))
    #expect(buffer.array == hex("b2 64 0009 00000005 00000001 00000001 00000002 bede 0001 10aa 0000 c0ffee 0002"))
    #expect(original.sequenceNumber == 0xfffe)
  }

  @Test func tellsRTCPFromRTP() {
    #expect(hex("80c80006").withUnsafeBytes { RTPPacket.looksLikeRTCP($0) })
    #expect(!hex("80e00006").withUnsafeBytes { RTPPacket.looksLikeRTCP($0) })
  }
}
