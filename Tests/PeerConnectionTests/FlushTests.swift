import MediaCore
import RTP
import SDP
import Testing
import Transport

@testable import PeerConnection

@Suite struct FlushTests {
  /// One Opus packet of 10 ms.
  private static func packet(_ number: UInt8) -> RTPPacket? {
    let time = UInt32(number) * 480
    var bytes: [UInt8] = [0x80, 111, 0, number]
    for value in [time, 7] as [UInt32] {
      bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    return RTPPacket(MediaBuffer(bytes + [0xf0, number]))
  }

  /// What was received behind a gap belongs to the recording, also when the gap is never filled.
  @Test func whatWaitsForMissingPacketsIsHandedOut() throws {
    let loop = MediaLoop(name: "flush")
    defer { loop.stop() }
    let times = try loop.sync { () throws -> [[Int64]] in
      let end = try End(loop)
      let receiver = RTPReceiver(mid: MID("0"), kind: .audio, maximumWait: 500_000_000, connection: end.pc)
      receiver.wantsFrames = true
      var section = MediaDescription(kind: .media(.audio), port: 9, proto: "UDP/TLS/RTP/SAVPF", formats: ["111"])
      section.rtpMaps = [Codec.opus.rtpMap(PayloadType(111))]
      receiver.payloads = PayloadTable(section, policy: NegotiationPolicy())
      let stream = ReceiveStream(ssrc: SSRC(7), rid: nil, codec: .opus, receiver: receiver, usesNACK: false)
      receiver.streams = [stream]
      var told: [[Int64]] = []
      // The third one never comes.
      for number in [1, 2, 4, 5, 6] as [UInt8] {
        let packet = try #require(Self.packet(number))
        stream.receive(packet, isRetransmission: false, in: end.pc, at: Int64(number) * 10_000_000)
      }
      told.append(end.frames.map { $0.frame.rtpTime / 480 })
      stream.flush(into: end.pc, at: MediaLoop.now())
      stream.flush(into: end.pc, at: MediaLoop.now())
      told.append(end.frames.filter { !$0.frame.payload.bytes.isEmpty }.map { $0.frame.rtpTime / 480 })
      end.pc.close()
      return told
    }
    #expect(times == [[1, 2], [1, 2, 4, 5, 6]])
  }
}
