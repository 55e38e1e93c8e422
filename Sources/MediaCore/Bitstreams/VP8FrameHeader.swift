/// The uncompressed beginning of a VP8 frame (RFC 6386 section 9.1).
public struct VP8FrameHeader: Hashable, Sendable {
  /// Decoding can start at this frame.
  public let isKeyframe: Bool
  /// False for frames that only change what later frames refer to.
  public let isShown: Bool
  /// Bitstream version, 0...7; in valid streams 0...3.
  public let version: Int
  /// Bytes of the first partition; bytes of the header that are missing count as zero.
  public let firstPartitionSize: Int
  /// Picture width in pixels, 0...16383; zero for frames that are no keyframes.
  public let width: Int
  /// Picture height in pixels, likewise.
  public let height: Int

  /// Reads the beginning of a frame, such as a packet holds. Nil when there is no byte, or when a keyframe lacks its start
  /// code or size.
  public init?(beginning bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else { return nil }
    isKeyframe = first & 1 == 0
    version = Int(first >> 1 & 7)
    isShown = first & 0x10 != 0
    firstPartitionSize =
      Int(first >> 5) | (bytes.count > 1 ? Int(bytes[1]) << 3 : 0) | (bytes.count > 2 ? Int(bytes[2]) << 11 : 0)
    guard isKeyframe else {
      width = 0
      height = 0
      return
    }
    guard bytes.count >= 10, bytes[3] == 0x9d, bytes[4] == 0x01, bytes[5] == 0x2a else { return nil }
    // The upper two bits of each are a scaling hint for display, which WebRTC doesn't use.
    width = Int(bytes[6]) | Int(bytes[7] & 0x3f) << 8
    height = Int(bytes[8]) | Int(bytes[9] & 0x3f) << 8
  }

  /// Reads the header of a whole frame, before a decoder sees it. Nil when the bytes cannot be a VP8 frame: too short, a
  /// first partition that is longer than the frame, a keyframe without its start code or of no size.
  public init?(frame bytes: UnsafeRawBufferPointer) {
    self.init(beginning: bytes)
    guard version <= 3, firstPartitionSize <= bytes.count - (isKeyframe ? 10 : 3) else { return nil }
    if isKeyframe, width == 0 || height == 0 { return nil }
  }
}
