import MediaCore

/// What the first bytes of an Opus packet say (RFC 6716 section 3). An RTP payload is one Opus packet (RFC 7587
/// section 4.2).
public struct OpusPayload: Sendable, Hashable {
  /// Playing time in samples at 48 kHz, 120...5760.
  public let duration: Int
  /// Frames in the packet, 1...48.
  public let frameCount: Int
  /// Coded as two channels.
  public let isStereo: Bool
  /// At most two bytes: the encoder has nothing to say (discontinuous transmission).
  public let isDTX: Bool
}

/// Reads Opus packets as they stand in RTP (RFC 7587).
public enum OpusDepacketizer {
  /// What a payload says; nil when it is empty or its frame count is impossible (RFC 6716 section 3.4, R1, R5).
  public static func parse(_ payload: UnsafeRawBufferPointer) -> OpusPayload? {
    guard let toc = payload.byte(0) else { return nil }
    let frames: Int
    switch toc & 3 {
    case 0: frames = 1
    case 1, 2: frames = 2
    default:
      guard let count = payload.byte(1), count & 0x3f > 0 else { return nil }
      frames = Int(count & 0x3f)
    }
    let configuration = Int(toc >> 3)
    let samples: Int
    switch configuration {
    case 0..<12: samples = configuration & 3 == 3 ? 2880 : 480 << (configuration & 3)
    case 12..<16: samples = configuration & 1 == 0 ? 480 : 960
    default: samples = 120 << (configuration & 3)
    }
    guard samples * frames <= 5760 else { return nil }
    return OpusPayload(
      duration: samples * frames, frameCount: frames, isStereo: toc & 4 != 0, isDTX: payload.count <= 2)
  }
}

/// Gives Opus packets their RTP marker: set on the first packet after a silence that was not sent (RFC 3551
/// section 4.1).
public struct OpusPacketizer: Sendable {
  private var expected: UInt32?
  /// Starts before the first packet.
  public init() {}
  /// The marker bit of the next packet, of which `timestamp` is the RTP timestamp.
  public mutating func marker(for payload: UnsafeRawBufferPointer, timestamp: UInt32) -> Bool {
    let duration = OpusDepacketizer.parse(payload)?.duration ?? 960
    let continues = expected == timestamp
    expected = timestamp &+ UInt32(truncatingIfNeeded: duration)
    return !continues
  }
}
