/// The uncompressed beginning of a VP8 frame (RFC 6386 section 9.1), read before a decoder sees the frame.
public struct VP8FrameHeader: Hashable, Sendable {
  /// True when decoding can start at this frame.
  public let isKeyframe: Bool
  /// False for frames that only change what later frames refer to.
  public let isShown: Bool
  /// Bitstream version, 0...3 in valid streams.
  public let version: Int
  /// Bytes of the first partition.
  public let firstPartitionSize: Int
  /// Picture size in pixels, 0...16383; zero for frames that are no keyframes.
  public let width: Int
  /// See `width`.
  public let height: Int

  /// Reads the header. Nil when the bytes cannot be a VP8 frame: too short, a first partition that is longer than
  /// the frame, a keyframe without its start code or of no size.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 3 else { return nil }
    let tag = UInt32(bytes[0]) | UInt32(bytes[1]) << 8 | UInt32(bytes[2]) << 16
    isKeyframe = tag & 1 == 0
    version = Int(tag >> 1 & 7)
    isShown = tag >> 4 & 1 == 1
    firstPartitionSize = Int(tag >> 5)
    var headerSize = 3
    if isKeyframe {
      headerSize = 10
      guard bytes.count >= 10, bytes[3] == 0x9d, bytes[4] == 0x01, bytes[5] == 0x2a else { return nil }
      // The upper two bits of each are a scaling hint for display, which WebRTC doesn't use.
      width = Int(UInt16(bytes[6]) | UInt16(bytes[7]) << 8) & 0x3fff
      height = Int(UInt16(bytes[8]) | UInt16(bytes[9]) << 8) & 0x3fff
      guard width > 0, height > 0 else { return nil }
    } else {
      width = 0
      height = 0
    }
    guard version <= 3, firstPartitionSize <= bytes.count - headerSize else { return nil }
  }
}
