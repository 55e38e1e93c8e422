import MediaCore

/// Gives Opus packets their RTP marker: set on the first packet after a silence that was not sent (RFC 3551
/// section 4.1).
public struct OpusPacketizer: Sendable {
  private var expected: UInt32?
  /// Starts before the first packet.
  public init() {}
  /// The marker bit of the next packet, of which `timestamp` is the RTP timestamp.
  public mutating func marker(for payload: UnsafeRawBufferPointer, timestamp: UInt32) -> Bool {
    let duration = OpusPacket(payload)?.sampleCount ?? 960
    let continues = expected == timestamp
    expected = timestamp &+ UInt32(truncatingIfNeeded: duration)
    return !continues
  }
}
