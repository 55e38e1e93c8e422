/// One encoded picture, or one encoded stretch of audio, complete and in decode order: what a jitter buffer hands out, and
/// what a decoder takes. A value; may be kept.
public struct EncodedFrame: Sendable {
  /// The codec of the payload.
  public var codec: Codec
  /// The codec's bytes, payload descriptors removed: a VP8 frame (RFC 6386), an Opus packet (RFC 6716), and so on. Empty
  /// for audio that was lost on the way (the decoder conceals it).
  public var payload: MediaBuffer
  /// RTP timestamp, extended beyond 32 bits so that it never wraps, at `codec.clockRate`.
  public var rtpTime: Int64
  /// When the frame was captured, on the publisher's own clock, from its sender reports (RFC 3550 section 6.4.1).
  /// Nil until the first report of that stream.
  public var captureTime: NTPTime?
  /// True when decoding can start here. Always true for audio.
  public var isKeyframe: Bool
  /// Picture width in pixels on keyframes as far as packets or bitstream say it, else zero.
  public var width: Int
  /// Picture height in pixels, likewise.
  public var height: Int
  /// Spatial layers of VP9 in the payload: with more than one it is a superframe of so many frames. 1 for other codecs.
  public var layerCount: Int
  /// Clockwise degrees by which the picture must be turned for display: 0, 90, 180 or 270 (3GPP TS 26.114, CVO).
  public var rotation: Int
  /// True when frames before this one are missing. Pictures must not be decoded then before the next keyframe.
  public var followsLoss: Bool
  /// Loudness of audio in -dBov, 0 (loudest) to 127 (silence), from the audio level extension (RFC 6464), or measured
  /// on the decoded audio by the recording. Nil for pictures, for lost audio, and as long as it is not known.
  public var audioLevel: UInt8?
  /// For how long the frame stood behind missing ones before it was handed out: so much earlier it arrived.
  public var held: Duration

  /// Makes a frame; see the properties for units.
  public init(
    codec: Codec, payload: MediaBuffer, rtpTime: Int64, captureTime: NTPTime? = nil, isKeyframe: Bool,
    width: Int = 0, height: Int = 0, layerCount: Int = 1, rotation: Int = 0, followsLoss: Bool = false,
    audioLevel: UInt8? = nil, held: Duration = .zero
  ) {
    self.codec = codec
    self.payload = payload
    self.rtpTime = rtpTime
    self.captureTime = captureTime
    self.isKeyframe = isKeyframe
    self.width = width
    self.height = height
    self.layerCount = layerCount
    self.rotation = rotation
    self.followsLoss = followsLoss
    self.audioLevel = audioLevel
    self.held = held
  }

  /// Reads what the packets of VP9 leave to the frame, which must not be encrypted (any more): its size, and whether it
  /// really is a keyframe.
  public mutating func readContent() {
    guard codec == .vp9, isKeyframe else { return }
    let headers = VP9Superframe.frames(payload.bytes)?.map { VP9FrameHeader($0) } ?? []
    isKeyframe = headers.first??.isKeyframe ?? false
    guard isKeyframe else { return }
    // The highest layer is shown.
    for case let header? in headers where header.width > 0 { (width, height) = (header.width, header.height) }
  }
}
