import MediaCore

/// One encoded picture or one stretch of sound from the network, complete and in order. A value: may be kept.
public struct ReceivedFrame: Sendable {
  /// Codec of the payload.
  public var codec: Codec
  /// A frame of its codec, or an Opus packet (RFC 6716). Empty for sound that was lost.
  public var payload: MediaBuffer
  /// RTP timestamp, extended so that it never wraps, at `codec.clockRate`.
  public var rtpTime: Int64
  /// Capture time on the sender's clock by its sender reports; nil until the first one.
  public var captureTime: NTPTime?
  /// When the frame's last packet arrived, `MediaLoop.now()` nanoseconds.
  public var arrivedAt: Int64
  /// True when decoding can begin here, as far as its packets say; always for sound.
  public var isKeyframe: Bool
  /// Size in pixels, on keyframes, as far as its packets say; else 0.
  public var width = 0
  /// See `width`.
  public var height = 0
  /// Spatial layers of VP9 in the payload: with more than one it is a superframe of so many frames.
  public var layerCount = 1
  /// Clockwise degrees to turn the picture by for display: 0, 90, 180 or 270.
  public var rotation = 0
  /// True when something before this frame is missing.
  public var followsLoss = false
  /// Loudness of sound in -dBov, 0 (loudest) ... 127 (silence), from the audio level extension (RFC 6464).
  public var audioLevel: UInt8?

  /// Makes a frame.
  public init(
    codec: Codec, payload: MediaBuffer, rtpTime: Int64, captureTime: NTPTime?, arrivedAt: Int64, isKeyframe: Bool
  ) {
    self.codec = codec
    self.payload = payload
    self.rtpTime = rtpTime
    self.captureTime = captureTime
    self.arrivedAt = arrivedAt
    self.isKeyframe = isKeyframe
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
