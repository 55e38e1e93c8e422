import MediaCore
import RTP

/// The world of a media engine: the clock, the way out, and who hears what comes in. Confined to the engine's thread.
protocol MediaEngineHost: AnyObject {
  /// This moment on the monotonic clock.
  var now: Instant { get }
  /// The wall clock when the monotonic one showed `now`.
  func wallClock(at now: Instant) -> NTPTime
  /// Sends an RTP packet in clear text; false when it was not sent.
  func send(rtp packet: MediaBuffer) -> Bool
  /// Sends a datagram of RTCP in clear text; the bytes are valid during the call.
  func send(rtcp datagram: UnsafeRawBufferPointer)
  /// A source is gone: what was kept for its number goes too.
  func forget(_ ssrc: SSRC)
  /// A packet of a receiver that wants packets, in order of arrival.
  func receive(_ packet: RTPPacket, of stream: ReceiveStream, at now: Instant)
  /// A frame of a receiver that wants frames, in order.
  func receive(_ frame: EncodedFrame, of stream: ReceiveStream)
  /// Something rarer happened.
  func hear(_ event: MediaEvent)
}

/// What a media engine tells beside packets and frames.
enum MediaEvent {
  case receiverAdded(RTPReceiver)
  case receiverChanged(RTPReceiver)
  case receiverRemoved(RTPReceiver)
  /// The sender's clock showed `ntp` at `rtpTimestamp` of a stream.
  case senderReport(RTPReceiver, RID?, ntp: NTPTime, rtpTimestamp: UInt32, at: Instant)
  /// The peer asked for a keyframe of a layer.
  case keyframeWanted(RTPSender, RID?)
  /// The peer's estimate of what it can receive, bits per second.
  case bitrateEstimate(UInt64)
}
