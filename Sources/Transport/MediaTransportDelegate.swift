import MediaCore

/// Hears what happens on a transport. All calls come on the transport's loop; it may call back into the transport,
/// `close()` included.
public protocol MediaTransportDelegate: AnyObject {
  /// A local candidate for the peer: `candidate:…`, without `a=` (RFC 8839 section 5.1).
  func transport(_ transport: MediaTransport, didGather candidateLine: String)
  /// No further local candidates will come for the present credentials.
  func transportDidFinishGathering(_ transport: MediaTransport)
  /// A way to the peer over TCP or TLS has failed, in words for a log; ICE goes on with the others.
  func transport(_ transport: MediaTransport, pathFailed reason: String)
  /// The state is now another one.
  func transport(_ transport: MediaTransport, stateChanged state: TransportState)
  /// A decrypted RTP packet; `now` is `MonotonicClock.now` at its arrival. The buffer may be kept.
  func transport(_ transport: MediaTransport, receivedRTP buffer: MediaBuffer, at now: Instant)
  /// A decrypted compound RTCP packet; the bytes are valid during the call only.
  func transport(_ transport: MediaTransport, receivedRTCP bytes: UnsafeRawBufferPointer, at now: Instant)
  /// A data channel is open in both directions, whoever opened it.
  func transport(_ transport: MediaTransport, channelOpened id: UInt16, label: String)
  /// A whole message; the bytes are valid during the call only.
  func transport(
    _ transport: MediaTransport, channel id: UInt16, received bytes: UnsafeRawBufferPointer, isText: Bool)
  /// The peer closed the channel, or the association is gone.
  func transport(_ transport: MediaTransport, channelClosed id: UInt16)
}
