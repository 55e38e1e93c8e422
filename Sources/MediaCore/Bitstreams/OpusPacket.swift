/// What the first bytes of an Opus packet say, without decoding it (RFC 6716 section 3). A payload of RTP and a block of
/// WebM are one packet each (RFC 7587 section 4.2, RFC 7845).
public struct OpusPacket: Hashable, Sendable {
  /// Samples per second of everything here.
  public static let sampleRate = 48_000
  /// The longest packet, in samples per channel: 120 ms.
  public static let maximumSamples = 5760

  /// Samples per channel that the packet decodes to, 120...5760 at 48 kHz.
  public let sampleCount: Int
  /// Frames in the packet, 1...48.
  public let frameCount: Int
  /// Coded as two channels.
  public let isStereo: Bool
  /// At most two bytes: the encoder has nothing to say (discontinuous transmission).
  public let isDTX: Bool

  /// Playing time in nanoseconds, 2.5...120 ms.
  public var duration: Int64 { Int64(sampleCount) * 62_500 / 3 }

  /// Reads the first one or two bytes of a packet. Nil when they cannot begin one: none at all, no frame count where one
  /// belongs, no frame, or more than 120 ms (RFC 6716 section 3.4, R1 and R5).
  public init?(_ packet: UnsafeRawBufferPointer) {
    guard let first = packet.first else { return nil }
    switch first & 3 {
    case 0: frameCount = 1
    case 1, 2: frameCount = 2
    default:
      guard packet.count >= 2 else { return nil }
      frameCount = Int(packet[1] & 0x3f)
    }
    let configuration = Int(first >> 3)
    let samples: Int
    switch configuration {
    case 0..<12: samples = configuration & 3 == 3 ? 2880 : 480 << (configuration & 3)
    case 12..<16: samples = configuration & 1 == 0 ? 480 : 960
    default: samples = 120 << (configuration & 3)
    }
    sampleCount = samples * frameCount
    guard (1...Self.maximumSamples).contains(sampleCount) else { return nil }
    isStereo = first & 4 != 0
    isDTX = packet.count <= 2
  }
}
