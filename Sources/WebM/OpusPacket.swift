/// What the first bytes of an Opus packet say (RFC 6716 section 3).
enum OpusPacket {
  /// Length of the packet's sound in nanoseconds; nil when the packet is empty or malformed.
  static func duration(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    guard let toc = bytes.first else { return nil }
    let configuration = Int(toc >> 3)
    let frame: Int64
    switch configuration {
    case 0..<12: frame = [10_000_000, 20_000_000, 40_000_000, 60_000_000][configuration % 4]
    case 12..<16: frame = configuration % 2 == 0 ? 10_000_000 : 20_000_000
    default: frame = [2_500_000, 5_000_000, 10_000_000, 20_000_000][configuration % 4]
    }
    switch toc & 3 {
    case 0: return frame
    case 1, 2: return 2 * frame
    default:
      guard bytes.count >= 2 else { return nil }
      let total = Int64(bytes[1] & 0x3f) * frame
      // RFC 6716 section 3.2.5, R5: more than 120 ms, or no frame at all, is not a packet.
      return (1...120_000_000).contains(total) ? total : nil
    }
  }
}
