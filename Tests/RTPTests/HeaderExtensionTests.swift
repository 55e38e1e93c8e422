import MediaCore
import Testing

@testable import RTP

@Suite struct HeaderExtensionTests {
  @Test func everyExtensionIsFoundByItsURI() {
    for name in HeaderExtension.allCases { #expect(HeaderExtension(uri: name.uri) == name) }
    #expect(HeaderExtension(uri: "urn:example:unknown") == nil)
    #expect(Set(HeaderExtension.allCases.map(\.index)).count == HeaderExtension.allCases.count)
  }

  @Test func mapAnswersBothWaysAndTheLastEntryWins() {
    var map = HeaderExtensionMap([.mid: 4, .rid: 10])
    #expect(map.id(of: .mid) == 4)
    #expect(map.name(of: 10) == .rid)
    #expect(map.name(of: 0) == nil)
    map.set(.audioLevel, id: 4)
    #expect(map.id(of: .mid) == nil)
    #expect(map.name(of: 4) == .audioLevel)
    map.set(.audioLevel, id: 0)
    #expect(map.entries.map(\.id) == [10])
  }

  @Test func everyValueComesBackFromAPacket() throws {
    var map = HeaderExtensionMap()
    for (index, name) in HeaderExtension.allCases.enumerated() { map.set(name, id: UInt8(index + 1)) }
    var elements = RTPHeaderExtensionWriter()
    let capture = AbsoluteCaptureTime(timestamp: NTPTime(0x0102_0304_0506_0708), estimatedClockOffset: -5)
    elements.append(mid: MID("0"), map)
    elements.append(rid: RID("h"), map)
    elements.append(repairedRid: RID("f"), map)
    elements.append(audioLevel: AudioLevelExtension(voiceActivity: true, level: 30), map)
    elements.append(absoluteSendTime: AbsoluteSendTime(rawValue: 0x123456), map)
    elements.append(transportSequence: 0xfffe, map)
    elements.append(absoluteCaptureTime: capture, map)
    elements.append(playoutDelay: PlayoutDelay(minimum: 1, maximum: 4095), map)
    elements.append(videoOrientation: VideoOrientation(rotation: 270, isFlipped: true), map)
    let buffer = MediaBuffer(capacity: 200)
    RTPHeader(marker: false, payloadType: PayloadType(1), sequenceNumber: 2, timestamp: 3, ssrc: SSRC(4))
      .write(into: buffer, extensions: elements)
    let parsed = try #require(RTPPacket(buffer))
    #expect(parsed.mid(map) == MID("0"))
    #expect(parsed.rid(map) == RID("h"))
    #expect(parsed.repairedRid(map) == RID("f"))
    #expect(parsed.audioLevel(map) == AudioLevelExtension(voiceActivity: true, level: 30))
    #expect(parsed.absoluteSendTime(map) == AbsoluteSendTime(rawValue: 0x123456))
    #expect(parsed.transportSequence(map) == 0xfffe)
    #expect(parsed.absoluteCaptureTime(map) == capture)
    #expect(parsed.playoutDelay(map) == PlayoutDelay(minimum: 1, maximum: 4095))
    #expect(parsed.videoOrientation(map)?.rotation == 270)
    #expect(parsed.videoOrientation(map)?.isFlipped == true)

    #expect(parsed.overwriteTransportSequence(7, map))
    #expect(parsed.overwriteAbsoluteSendTime(AbsoluteSendTime(rawValue: 9), map))
    #expect(parsed.transportSequence(map) == 7)
    #expect(parsed.absoluteSendTime(map) == AbsoluteSendTime(rawValue: 9))
    #expect(parsed.mid(map) == MID("0"))
  }

  @Test func valuesThatWereNotNegotiatedAreNeitherWrittenNorRead() throws {
    var elements = RTPHeaderExtensionWriter()
    #expect(elements.append(mid: MID("0"), HeaderExtensionMap()) == false)
    #expect(elements.isEmpty)
    let plain = try makePacket(sequence: 1, payload: [1])
    #expect(plain.mid(HeaderExtensionMap([.mid: 1])) == nil)
    #expect(!plain.overwriteTransportSequence(7, HeaderExtensionMap([.transportSequence: 1])))
  }

  @Test func sendTimeIsFixedPointSecondsThatWrapAt64() {
    #expect(AbsoluteSendTime(nanoseconds: 1_000_000_000).rawValue == 1 << 18)
    #expect(AbsoluteSendTime(nanoseconds: 64_500_000_000).rawValue == 1 << 17)
    let before = AbsoluteSendTime(nanoseconds: 63_900_000_000)
    let after = AbsoluteSendTime(nanoseconds: 64_100_000_000)
    #expect(abs(after.nanoseconds(since: before) - 200_000_000) < 10_000)
    #expect(abs(before.nanoseconds(since: after) + 200_000_000) < 10_000)
  }

  @Test func audioLevelFollowsRFC6464() {
    #expect(
      [UInt8(0xff)].withUnsafeBytes { AudioLevelExtension($0) } == AudioLevelExtension(voiceActivity: true, level: 127))
    #expect(
      [UInt8(0x05)].withUnsafeBytes { AudioLevelExtension($0) } == AudioLevelExtension(voiceActivity: false, level: 5))
    #expect(AudioLevelExtension(voiceActivity: true, level: 255).encoded == 0xff)
  }
}
