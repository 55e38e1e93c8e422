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

  /// Says that a way to the room server has failed.
  public func peerConnection(_ pc: PeerConnection, pathFailed reason: String) {
    logger.warning("a way to the room server cannot be used; the others are tried", metadata: ["way": "\(reason)"])
  }

  /// Wants complete frames of every receiver.
  public func peerConnection(_ pc: PeerConnection, receiverAdded receiver: RTPReceiver) {
    receiver.wantsFrames = true
  }

  /// Passes a frame on.
  public func peerConnection(
    _ pc: PeerConnection, receiver: RTPReceiver, received frame: EncodedFrame
  ) {
    received(frame, in: receiver.mid)
  }

  /// Passes a message of a data channel on.
  public func peerConnection(
    _ pc: PeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    guard pc === media, label == "_reliable" || label == "_lossy" else { return }
    handle(.data(generation: generation, Array(bytes), isReliable: label == "_reliable"))
  }
}

extension LiveKitRoomClient {
  /// Tells how the connection does, each second while there is a peer connection.
  func watchReception() {
    reception?.cancel()
    var last = MediaLoop.now()
    reception = loop.timer(after: 1_000_000_000, repeats: true) { [weak self] in
      guard let self, let media else { return }
      let now = MediaLoop.now()
      let elapsed = max(1, now &- last)
      last = now
      let sample = media.sampleReception()
      func rate(_ bytes: Int64) -> Int64 { bytes &* 8_000 / max(1, elapsed / 1_000_000) }
      handle(
        .network(
          generation: generation,
          NetworkReport(
            incoming: rate(sample.bytes), incomingAudio: rate(sample.audioBytes),
            incomingVideo: rate(sample.videoBytes), flowingVideos: sample.flowingVideos,
            lossPerMille: sample.lossPerMille, queueDelay: SessionTime(nanoseconds: sample.queueDelay),
            estimate: sample.estimate.map { Int64(clamping: $0) }, path: media.path)))
    }
  }
}
