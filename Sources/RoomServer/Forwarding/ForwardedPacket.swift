/// What the forwarding decision needs to know of a publisher's RTP packet.
struct ForwardedPacket: Hashable, Sendable {
  /// Position of the simulcast layer, 0 = smallest picture. Always 0 for sound and for plain video.
  var layer = 0
  /// Synchronization source of the layer.
  var ssrc: UInt32
  /// The publisher's sequence number.
  var sequenceNumber: UInt16
  /// The publisher's RTP time.
  var timestamp: UInt32
  /// True when nothing but padding is in it: sent for probing, of no use to anybody else.
  var isPadding = false
  /// True for the first packet of a frame. Always true for sound.
  var startsFrame = true
  /// True when decoding can start with this packet: first packet of a keyframe. Always true for sound.
  var startsKeyframe = true
  /// Numbers of the VP8 payload descriptor (RFC 7741 section 4.2); all absent for sound.
  var picture = PictureNumbers()
  /// Temporal layer (TID); 0 where the payload doesn't say.
  var temporalLayer: UInt8 = 0
  /// The Y bit: the frame depends on frames of temporal layer 0 only.
  var allowsTemporalSwitch = false
}

/// The running numbers of a VP8 payload descriptor; those that the publisher doesn't send are nil.
struct PictureNumbers: Hashable, Sendable {
  /// Picture id, 15 bits.
  var pictureID: UInt16?
  /// TL0PICIDX, 8 bits.
  var tl0PictureIndex: UInt8?
  /// KEYIDX, 5 bits.
  var keyIndex: UInt8?
}

/// The numbers that a forwarded packet carries toward the subscriber.
struct OutgoingNumbers: Hashable, Sendable {
  /// Sequence number on the subscriber's stream.
  var sequenceNumber: UInt16
  /// RTP time on the subscriber's stream.
  var timestamp: UInt32
  /// Numbers for the VP8 payload descriptor; the same ones are present as in the publisher's packet.
  var picture = PictureNumbers()
  /// True when the payload must be left away: the packet only fills a number that had been kept free for it.
  var isFiller = false
}
