import MediaCore
import Testing

@testable import RTP

/// The bytes of a hexadecimal text; blanks are ignored.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap { $0.hexDigitValue }
  return stride(from: 0, to: digits.count - 1, by: 2).map { (place: Int) -> UInt8 in
    UInt8(digits[place] * 16 + digits[place + 1])
  }
}

func packet(_ bytes: [UInt8]) -> RTPPacket? { RTPPacket(MediaBuffer(bytes)) }

/// An RTP packet with a payload, or a padding-only packet when the payload is empty and `padding` is given.
func makePacket(
  sequence: Int64, timestamp: Int64 = 0, marker: Bool = false, type: UInt8 = 96, ssrc: UInt32 = 7,
  payload: [UInt8], padding: Int = 0
) throws -> RTPPacket {
  let buffer = MediaBuffer(capacity: 12 + payload.count + padding)
  let ok = payload.withUnsafeBytes {
    RTPPacket.write(
      into: buffer, marker: marker, payloadType: PayloadType(type),
      sequenceNumber: UInt16(truncatingIfNeeded: sequence),
      timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: SSRC(ssrc), payload: $0)
  }
  #expect(ok)
  if padding > 0 {
    buffer.setCount(12 + payload.count + padding)
    buffer.mutableBytes[0] |= 0x20
    buffer.mutableBytes[buffer.count - 1] = UInt8(padding)
  }
  return try #require(RTPPacket(buffer))
}

/// The bytes of a VP8 frame as far as anybody but a decoder can tell.
func vp8Frame(keyframe: Bool, count: Int, width: Int = 640, height: Int = 360, fill: UInt8) -> [UInt8] {
  var bytes = [UInt8](repeating: fill, count: max(10, count))
  bytes[0] = keyframe ? 0x10 : 0x11
  if keyframe {
    bytes.replaceSubrange(3..<6, with: [0x9d, 0x01, 0x2a])
    bytes[6] = UInt8(width & 0xff)
    bytes[7] = UInt8(width >> 8)
    bytes[8] = UInt8(height & 0xff)
    bytes[9] = UInt8(height >> 8)
  }
  return bytes
}

/// A sender of VP8 frames, for the tests of receivers.
struct VideoSource {
  var sequence: Int64
  var timestamp: Int64
  var packetizer: VP8Packetizer
  var frames: [[UInt8]] = []

  init(
    sequence: Int64 = 65_500, timestamp: Int64 = 4_294_960_000, pictureID: UInt16 = 32_760, maximumPayload: Int = 100
  ) {
    self.sequence = sequence
    self.timestamp = timestamp
    packetizer = VP8Packetizer(maximumPayload: maximumPayload, pictureID: pictureID)
  }

  mutating func frame(
    keyframe: Bool, count: Int, width: Int = 640, height: Int = 360, isNonReference: Bool = false,
    layer: VP8Packetizer.TemporalLayer? = nil
  ) throws -> [(sequence: Int64, packet: RTPPacket)] {
    let bytes = vp8Frame(
      keyframe: keyframe, count: count, width: width, height: height, fill: UInt8(truncatingIfNeeded: frames.count))
    frames.append(bytes)
    let plan = packetizer.packetize(frameCount: bytes.count, isNonReference: isNonReference, temporalLayer: layer)
    var packets: [(sequence: Int64, packet: RTPPacket)] = []
    for index in 0..<plan.count {
      let buffer = MediaBuffer(capacity: 1500)
      RTPHeader(
        marker: index == plan.count - 1, payloadType: PayloadType(96),
        sequenceNumber: UInt16(truncatingIfNeeded: sequence), timestamp: UInt32(truncatingIfNeeded: timestamp),
        ssrc: SSRC(7)
      ).write(into: buffer)
      #expect(bytes.withUnsafeBytes { plan.append(index, of: $0, to: buffer) })
      packets.append((sequence, try #require(RTPPacket(buffer))))
      sequence += 1
    }
    timestamp += 3000
    return packets
  }

  /// A probe as a forwarder sends it: nothing but padding, with the timestamp of the last frame.
  mutating func padding() throws -> (sequence: Int64, packet: RTPPacket) {
    defer { sequence += 1 }
    return (sequence, try makePacket(sequence: sequence, timestamp: timestamp - 3000, payload: [], padding: 255))
  }
}

extension JitterBuffer {
  mutating func frames(at now: Instant) -> [EncodedFrame] { assembled(at: now).map(\.frame) }

  /// The frames, with what they were made of.
  mutating func assembled(at now: Instant) -> [(frame: EncodedFrame, sequences: ClosedRange<Int64>, completed: Instant)]
  {
    var frames: [(EncodedFrame, ClosedRange<Int64>, Instant)] = []
    while case .frame(let frame, let sequences, let completed) = poll(at: now) {
      frames.append((frame, sequences, completed))
    }
    return frames
  }

  mutating func insertAll(_ packets: [(sequence: Int64, packet: RTPPacket)], at now: Instant) {
    for packet in packets { insert(packet.packet, sequence: packet.sequence, at: now) }
  }

  mutating func deadline(at now: Instant) -> Instant? {
    guard case .wait(let until) = poll(at: now) else { return nil }
    return until
  }
}

extension AudioReorderBuffer {
  mutating func packets(at now: Instant) -> [Packet] {
    var packets: [Packet] = []
    while case .packet(let packet) = poll(at: now) { packets.append(packet) }
    return packets
  }
}

extension MediaBuffer {
  var array: [UInt8] { Array(bytes) }
}
