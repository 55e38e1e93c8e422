/// What a video depacketizer says about the payload of one packet: enough to find frames, and to know which can be
/// decoded, without knowing the codec.
public struct VideoPayload: Sendable, Hashable {
  /// When a packet is the first of its frame: some codecs don't say it in every packet, and the one before decides.
  public enum Start: Sendable {
    /// It isn't.
    case never
    /// When the packet before it is there and belongs to another frame.
    case afterAnother
    /// Unless the packet before it is there and belongs to the same frame.
    case unlessContinued
    /// It is.
    case always
  }

  /// Bytes of payload format header in front of the codec's bytes.
  public var headerCount: Int
  /// When the packet is the first of its frame.
  public var start = Start.never
  /// A part of the frame that can be decoded by itself begins with the packet (a spatial layer of VP9).
  public var startsPart = false
  /// The frame is a keyframe, by what stands at its beginning or at that of one of its parts.
  public var isKeyframe = false
  /// Picture width in pixels; known only where the packet says it, zero otherwise.
  public var width = 0
  /// Picture height in pixels, likewise.
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

  /// The packet may be taken for the first of its frame, though the one before it is not known.
  public var startsFrame: Bool { start == .always || start == .unlessContinued }

  /// A payload with a header of so many bytes, nothing else known.
  public init(headerCount: Int) { self.headerCount = headerCount }
}
