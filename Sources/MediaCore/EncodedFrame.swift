/// One encoded picture or one encoded stretch of sound, as it left the depacketizer.
public struct EncodedFrame: Sendable {
  /// The publication that it belongs to.
  public var track: TrackID
  /// The codec of the payload.
  public var codec: Codec
  /// The payload: a VP8 frame (RFC 6386) or an Opus packet (RFC 6716). Empty for sound that was lost on the way
  /// (the decoder conceals it).
  public var payload: MediaBuffer
  /// RTP timestamp, extended beyond 32 bits so that it never wraps, at `codec.clockRate`.
  public var rtpTime: Int64
  /// When the frame was captured, on the publisher's own clock, from its sender reports (RFC 3550 section 6.4.1).
  /// Nil until the first report of that stream.
  public var captureTime: NTPTime?
  /// True when decoding can start here. Always true for sound.
  public var isKeyframe: Bool
  /// Picture size in pixels as the bitstream says; known on keyframes, zero otherwise and for sound.
  public var width: Int
  /// See `width`.
  public var height: Int
  /// Clockwise degrees by which the picture must be turned for display: 0, 90, 180 or 270 (3GPP TS 26.114, CVO).
  public var rotation: Int
  /// True when frames before this one are missing, so that pictures must not be decoded before the next keyframe.
  public var followsLoss: Bool
  /// Loudness of sound in -dBov, 0 (loudest) to 127 (silence), from the audio level extension (RFC 6464), or measured
  /// on the decoded sound by the recording. Nil for pictures, for lost sound, and as long as it is not known.
  public var audioLevel: UInt8?
  /// For how long the frame stood behind missing ones before it was handed out, nanoseconds: so much earlier it arrived.
  public var held: Int64

  /// Makes a frame; see the properties for units.
  public init(
    track: TrackID, codec: Codec, payload: MediaBuffer, rtpTime: Int64, captureTime: NTPTime? = nil,
    isKeyframe: Bool, width: Int = 0, height: Int = 0, rotation: Int = 0, followsLoss: Bool = false,
    audioLevel: UInt8? = nil, held: Int64 = 0
  ) {
    self.track = track
    self.codec = codec
    self.payload = payload
    self.rtpTime = rtpTime
    self.captureTime = captureTime
    self.isKeyframe = isKeyframe
    self.width = width
    self.height = height
    self.rotation = rotation
    self.followsLoss = followsLoss
    self.audioLevel = audioLevel
    self.held = held
  }
}
