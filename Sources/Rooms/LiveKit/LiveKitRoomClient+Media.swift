import MediaCore
import PeerConnection
import Session
import Signaling
import Transport

extension LiveKitRoomClient: PeerConnectionDelegate {
  /// Sends a local candidate to the server.
  public func peerConnection(
    _ pc: PeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int
  ) {
    guard pc === media else { return }
    handle(
      .gathered(
        generation: generation,
        TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex)))
  }

  /// Tells the session how media stands.
  public func peerConnection(_ pc: PeerConnection, stateChanged state: TransportState) {
    guard pc === media else { return }
    logger.debug("media transport", metadata: ["state": "\(state)"])
    handle(.transport(generation: generation, state))
  }

  /// Wants complete frames of every receiver.
  public func peerConnection(_ pc: PeerConnection, receiverAdded receiver: RTPReceiver) {
    receiver.wantsFrames = true
  }

  /// Passes a frame on.
  public func peerConnection(
    _ pc: PeerConnection, receiver: RTPReceiver, received frame: ReceivedFrame
  ) {
    received(frame, in: receiver.mid)
  }
}
