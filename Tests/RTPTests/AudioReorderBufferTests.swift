import MediaCore
import TestKit
import Testing

@testable import RTP

@Suite struct AudioReorderBufferTests {
  func opus(_ sequence: Int64, at time: Int64) throws -> RTPPacket {
    try makePacket(
      sequence: sequence, timestamp: time, type: 111, payload: [0xf8, 0xff, UInt8(truncatingIfNeeded: sequence)])
  }

  @Test func packetsInOrderComeOutAtOnce() throws {
    var buffer = AudioReorderBuffer()
    for number in Int64(0)..<10 {
      buffer.insert(try opus(number, at: number * 960), sequence: number, at: .zero)
      let packets = buffer.packets(at: .zero)
      #expect(packets.map(\.rtpTime) == [number * 960])
      #expect(packets.map(\.lostBefore) == [0])
      #expect(packets.map(\.duration) == [960])
    }
  }

  @Test func missingPacketIsWaitedForAndThenCounted() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(0, at: 0), sequence: 0, at: .zero)
    buffer.insert(try opus(3, at: 2880), sequence: 3, at: .milliseconds(10))
    #expect(buffer.packets(at: .milliseconds(10)).count == 1)
    guard case .wait(let until) = buffer.poll(at: .milliseconds(10)) else { return }
    #expect(until == .milliseconds(90))
    buffer.insert(try opus(1, at: 960), sequence: 1, at: .milliseconds(50))
    #expect(buffer.packets(at: .milliseconds(50)).map(\.lostUnits) == [0])
    let packets = buffer.packets(at: .milliseconds(90))
    #expect(packets.map(\.lostBefore) == [960])
    #expect(packets.map(\.lostUnits) == [1])
    #expect(packets.map(\.silenceBefore) == [0])
    buffer.insert(try opus(2, at: 1920), sequence: 2, at: .milliseconds(95))
    #expect(buffer.statistics.late == 1)
    #expect(buffer.statistics.lost == 1)
  }

  @Test func silenceThatWasNotSentIsNotLoss() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(0, at: 0), sequence: 0, at: .zero)
    buffer.insert(try opus(1, at: 96_000), sequence: 1, at: .zero)
    let packets = buffer.packets(at: .zero)
    #expect(packets.map(\.lostBefore) == [0, 0])
    #expect(packets.map(\.silenceBefore) == [0, 95_040])
  }

  @Test func lossBesideSilenceIsAsLongAsThePacket() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(0, at: 0), sequence: 0, at: .zero)
    buffer.insert(try opus(2, at: 96_000), sequence: 2, at: .zero)
    let packets = buffer.packets(at: .milliseconds(80))
    #expect(packets.count == 1 || packets.count == 2)
    #expect(packets.last?.lostBefore == 960)
    #expect(packets.last?.silenceBefore == 94_080)
  }

  @Test func paddingIsNeitherSoundNorLoss() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(0, at: 0), sequence: 0, at: .zero)
    buffer.insert(try makePacket(sequence: 1, payload: [], padding: 255), sequence: 1, at: .zero)
    buffer.insert(try opus(2, at: 960), sequence: 2, at: .zero)
    let packets = buffer.packets(at: .zero)
    #expect(packets.map(\.lostBefore) == [0, 0])
    #expect(packets.map(\.rtpTime) == [0, 960])
  }

  /// A byte is a tick of 8 kHz: 160 are 20 ms (RFC 3551 section 4.5).
  @Test(arguments: [Codec.pcmu, .pcma, .g722]) func soundOfTelephonesIsCountedInItsOwnTicks(_ codec: Codec) throws {
    var buffer = AudioReorderBuffer(codec: codec)
    for number in [Int64(0), 1, 4] {
      let packet = try makePacket(
        sequence: number, timestamp: number * 160, type: 0, payload: [UInt8](repeating: 0xd5, count: 160))
      buffer.insert(packet, sequence: number, at: .zero)
    }
    #expect(buffer.packets(at: .zero).map(\.duration) == [160, 160])
    let packets = buffer.packets(at: .milliseconds(80))
    #expect(packets.map(\.lostBefore) == [320])
    #expect(packets.map(\.lostUnits) == [2])
    #expect(packets.map(\.rtpTime) == [640])
    let tooLong = try makePacket(sequence: 5, timestamp: 800, type: 0, payload: [UInt8](repeating: 0, count: 1601))
    buffer.insert(tooLong, sequence: 5, at: .zero)
    #expect(buffer.packets(at: .zero).isEmpty)
    #expect(buffer.statistics.malformed == 1)
  }

  @Test func keysOfATelephoneAreNeitherSoundNorMissing() throws {
    var buffer = AudioReorderBuffer(codec: .pcmu)
    let sound = [UInt8](repeating: 0xff, count: 160)
    buffer.insert(try makePacket(sequence: 0, timestamp: 0, type: 0, payload: sound), sequence: 0, at: .zero)
    let event = try makePacket(sequence: 1, timestamp: 160, type: 101, payload: [5, 10, 0, 160])
    buffer.passOver(event, sequence: 1, at: .zero)
    buffer.insert(try makePacket(sequence: 2, timestamp: 320, type: 0, payload: sound), sequence: 2, at: .zero)
    let packets = buffer.packets(at: .zero)
    #expect(packets.map(\.rtpTime) == [0, 320])
    #expect(packets.map(\.lostBefore) == [0, 0])
    #expect(packets.map(\.silenceBefore) == [0, 160])
  }

  @Test func redundantBlocksFillGapsOnly() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(10, at: 9600), sequence: 10, at: .zero)
    // Blocks for 11 and 12 in front of 13.
    let payload = hex("ef 1e0003 ef 0f0003 6f") + [0xf8, 0xff, 11, 0xf8, 0xff, 12, 0xf8, 0xff, 13]
    let packet = try makePacket(sequence: 13, timestamp: 12_480, type: 63, payload: payload)
    #expect(buffer.insertRED(packet, sequence: 13, primary: PayloadType(111), at: .zero) == [12, 11])
    let packets = buffer.packets(at: .zero)
    #expect(packets.map { $0.payload.array.last } == [10, 11, 12, 13])
    #expect(packets.map(\.rtpTime) == [9600, 10_560, 11_520, 12_480])
    #expect(packets.map(\.isRecovered) == [false, true, true, false])
    #expect(packets.map(\.lostBefore) == [0, 0, 0, 0])
    // The packets themselves, late, are not played twice.
    buffer.insert(try opus(11, at: 10_560), sequence: 11, at: .zero)
    #expect(buffer.packets(at: .zero).isEmpty)
  }

  @Test func longOutageGoesOnWithTheNewest() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try opus(0, at: 0), sequence: 0, at: .zero)
    _ = buffer.packets(at: .zero)
    buffer.insert(try opus(5000, at: 4_800_000), sequence: 5000, at: .zero)
    let packets = buffer.packets(at: .zero)
    #expect(packets.map(\.lostBefore) == [4_799_040])
  }

  @Test func malformedSoundIsCounted() throws {
    var buffer = AudioReorderBuffer()
    buffer.insert(try makePacket(sequence: 0, payload: [0xfb, 0x00]), sequence: 0, at: .zero)
    buffer.insertRED(
      try makePacket(sequence: 1, payload: [0x85]), sequence: 1, primary: PayloadType(111), at: .zero)
    #expect(buffer.packets(at: .zero).isEmpty)
    #expect(buffer.statistics.malformed == 2)
  }
}
