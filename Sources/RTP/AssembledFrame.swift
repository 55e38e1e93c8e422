import MediaCore

/// A complete encoded picture as the jitter buffer hands it out, in decode order.
public struct AssembledFrame: Sendable {
  /// The codec's bytes, payload descriptors removed. From the jitter buffer's pool; may be kept.
  public var payload: MediaBuffer
  /// RTP timestamp, extended beyond 32 bits.
  public var rtpTime: Int64
  /// Decoding can start here.
  public var isKeyframe: Bool
  /// Picture size in pixels on keyframes as far as packets say it, else zero.
  public var width: Int
  /// See `width`.
  public var height: Int
  /// Spatial layers of VP9 in the payload: with more than one it is a superframe of so many frames. 1 for other codecs.
  public var layerCount: Int
  /// Frames before this one are missing that it, or pictures near it, would have needed. Only keyframes are handed
  /// out then, so decoding can always go on; the picture before has stood still.
  public var followsLoss: Bool
  /// Extended sequence number of the first packet.
  public var firstSequence: Int64
  /// Extended sequence number of the last packet.
  public var lastSequence: Int64
  /// When the earliest of its packets arrived, in nanoseconds.
  public var firstArrival: Int64
  /// When it became complete: arrival of the latest of its packets, in nanoseconds.
  public var completed: Int64
  /// The first packet, for its header extensions (capture time).
  public var firstPacket: RTPPacket
}
