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

  /// True when the packet carries the sound of the one before it again, at a lower rate: in-band FEC, which only SILK has
  /// (the LBRR flags of RFC 6716 section 4.2.3). False for what is no packet.
  public static func carriesCopy(_ packet: UnsafeRawBufferPointer) -> Bool {
    guard let header = OpusPacket(packet), packet[0] >> 3 < 16, let place = firstFrame(packet), place < packet.count
    else { return false }
    // Each channel has a flag of voice activity for each 20 ms, then the one that is asked for.
    let frames = max(1, header.sampleCount / header.frameCount / 960)
    let middle = packet[place] >> (7 - frames) & 1
    let side = header.isStereo ? packet[place] >> (6 - 2 * frames) & 1 : 0
    return middle | side != 0
  }

  /// Where the first frame's bytes begin (RFC 6716 section 3.2); nil where it has none, or its lengths make no sense.
  private static func firstFrame(_ packet: UnsafeRawBufferPointer) -> Int? {
    switch packet[0] & 3 {
    case 0, 1: return 1
    case 2: return length(packet, 1).flatMap { $0.value > 0 ? 1 + $0.size : nil }
    default:
      var place = 2
      if packet[1] & 0x40 != 0 {
        while place < packet.count, packet[place] == 255 { place += 1 }
        place += 1
      }
      guard packet[1] & 0x80 != 0 else { return place }
      let count = Int(packet[1] & 0x3f)
      for number in 1..<max(1, count) {
        guard let length = length(packet, place) else { return nil }
        if number == 1, length.value == 0 { return nil }
        place += length.size
      }
      return place
    }
  }

  /// The length of a frame that is written at a place, and how many bytes it takes to write it (RFC 6716 section 3.2.1).
  private static func length(_ packet: UnsafeRawBufferPointer, _ place: Int) -> (value: Int, size: Int)? {
    guard place < packet.count else { return nil }
    guard packet[place] >= 252 else { return (Int(packet[place]), 1) }
    return place + 1 < packet.count ? (Int(packet[place + 1]) * 4 + Int(packet[place]), 2) : nil
  }
}
