import MediaCore
import RTP
import Transport

/// Hears what happens on a connection. Everything is called on the connection's loop. Every method has an empty
/// default.
public protocol PeerConnectionDelegate: AnyObject {
  /// A local candidate, `candidate:…`, to be sent to the peer with the mid and index of the bundle's section.
  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int)
  /// No more local candidates will come.
  func peerConnectionDidFinishGathering(_ pc: RTCPeerConnection)
  /// A way to the peer over TCP or TLS has failed, in words for a log; ICE goes on with the others.
  func peerConnection(_ pc: RTCPeerConnection, pathFailed reason: String)
  /// The transport's state changed.
  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState)

  /// A section began to carry a track from the peer; also when it did so before, was stopped, and begins again.
  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver)
  /// The section of a receiver now carries another track (`streamID`, `trackID`).
  func peerConnection(_ pc: RTCPeerConnection, receiverChanged receiver: RTPReceiver)
  /// The section stopped carrying anything.
  func peerConnection(_ pc: RTCPeerConnection, receiverRemoved receiver: RTPReceiver)

  /// Every packet of a receiver in order of arrival, after retransmissions were unwrapped and duplicates removed;
  /// packets of nothing but padding too (`isPaddingOnly`), for they consume sequence numbers. Only when
  /// `receiver.wantsPackets`. The packet may be kept.
  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, received packet: RTPPacket, rid: RID?, at now: Instant)
  /// A complete frame in order. Only when `receiver.wantsFrames`.
  func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame)
  /// A sender report of one stream: `ntp` on the sender's clock belongs to `rtpTimestamp`.
  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, rid: RID?, senderReport ntp: NTPTime, rtpTimestamp: UInt32,
    at now: Instant)

  /// The peer asked for a keyframe (PLI or FIR) of a sender's stream; `rid` names the simulcast layer.
  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?)
  /// The peer's estimate of what it can receive in all (REMB), in bits per second.
  func peerConnection(_ pc: RTCPeerConnection, receivedBitrateEstimate bitrate: UInt64)

  /// A data channel can be used, opened by either side.
  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String)
  /// A message; the bytes are valid during the call.
  func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool)
  /// A data channel is gone.
  func peerConnection(_ pc: RTCPeerConnection, dataChannelClosed label: String)
}

extension PeerConnectionDelegate {
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {}
  /// Does nothing.
  public func peerConnectionDidFinishGathering(_ pc: RTCPeerConnection) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, pathFailed reason: String) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, receiverChanged receiver: RTPReceiver) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, receiverRemoved receiver: RTPReceiver) {}
  /// Does nothing.
  public func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, received packet: RTPPacket, rid: RID?, at now: Instant
  ) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {}
  /// Does nothing.
  public func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, rid: RID?, senderReport ntp: NTPTime, rtpTimestamp: UInt32,
    at now: Instant
  ) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, receivedBitrateEstimate bitrate: UInt64) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {}
  /// Does nothing.
  public func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {}
  /// Does nothing.
  public func peerConnection(_ pc: RTCPeerConnection, dataChannelClosed label: String) {}
}
