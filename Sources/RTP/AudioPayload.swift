import MediaCore

extension Codec {
  /// The longest payload of G.711 or G.722 that is taken: 200 ms, which is what a receiver should take (RFC 3551
  /// section 4.2).
  public static let longestTelephonePayload = 1600

  /// Playing time of an RTP payload of sound, in ticks of the codec's clock; nil when the payload makes no sense, and for
  /// pictures. A byte of G.711 is one sample (RFC 3551 section 4.5.14); one of G.722 is two, but one tick (section 4.5.2).
  public func audioDuration(_ payload: UnsafeRawBufferPointer) -> Int? {
    switch self {
    case .opus: OpusPacket(payload)?.sampleCount
    case .g722, .pcmu, .pcma: (1...Self.longestTelephonePayload).contains(payload.count) ? payload.count : nil
    case .vp8, .vp9, .h264, .av1, .h265: nil
    }
  }
}
