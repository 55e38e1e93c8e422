/// What a video depacketizer says about the payload of one packet: enough to find frames, and to know which can be
/// decoded, without knowing the codec.
public struct VideoPayload: Sendable, Hashable {
  /// Bytes of payload format header in front of the codec's bytes.
  public var headerCount: Int
  /// The packet is the first of its frame.
  public var startsFrame = false
  /// The frame is a keyframe; known only at the first packet of a frame.
  public var isKeyframe = false
  /// Picture size in pixels; known only at the first packet of a keyframe, zero otherwise.
  public var width = 0
  /// See `width`.
  public var height = 0
  /// Frame number of 7 or 15 bits, wrapping.
  public var pictureID: UInt16?
  /// `pictureID` has 15 bits.
  public var hasLongPictureID = false
  /// Running number of the base temporal layer's frames, wrapping.
  public var baseLayerIndex: UInt8?
  /// Temporal layer, 0 is the base.
  public var temporalLayer: UInt8?
  /// The frame depends on the base layer only.
  public var isLayerSync = false
  /// No other frame depends on this one.
  public var isNonReference = false
  /// Running number of keyframes, 5 bits, wrapping (VP8's KEYIDX).
  public var keyIndex: UInt8?

  /// A payload with a header of so many bytes, nothing else known.
  public init(headerCount: Int) { self.headerCount = headerCount }
}
