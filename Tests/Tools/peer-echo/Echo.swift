import Codecs
import Foundation
import MediaCore
import PeerConnection
import Platform
import RTP
import Transport

// Confined to the loop of its connection.
/// Sends back what it receives; sound of other codecs as Opus.
final class Echo: PeerConnectionDelegate, @unchecked Sendable {
  let pc: RTCPeerConnection
  private let video: RTPSender
  private let audio: RTPSender
  private var frames: [Codec: Int] = [:]
  private var clocked: [Codec: Int] = [:]
  private var size = (width: 0, height: 0)
  private let transcoder = Transcoder()

  init(loop: MediaLoop, configuration: RTCPeerConnection.Configuration) throws(PeerConnectionError) {
    pc = try RTCPeerConnection(loop: loop, configuration: configuration)
    video = pc.addSender(kind: .video, codec: .vp8, streamID: "echo", trackID: "video", alsoReceives: true)
    audio = pc.addSender(kind: .audio, codec: .opus, streamID: "echo", trackID: "audio", alsoReceives: true)
    pc.delegate = self
  }

  static func tell(_ event: [String: Any]) {
    guard let data = try? JSONSerialization.data(withJSONObject: event, options: [.sortedKeys]) else { return }
    // Not print: its buffer would hold the line back, and flushing all streams waits for the one being read.
    FileHandle.standardOutput.write(data + Data("\n".utf8))
  }

  func handle(_ command: String, sdp: String, candidate: String) {
    do throws(PeerConnectionError) {
      switch command {
      case "offer":
        pc.openDataChannel(label: "ours")
        Echo.tell(["type": "offer", "sdp": try pc.createOffer()])
      case "restart": Echo.tell(["type": "offer", "sdp": try pc.createOffer(iceRestart: true)])
      case "remote-offer":
        try pc.setRemoteOffer(sdp)
        Echo.tell(["type": "answer", "sdp": try pc.createAnswer()])
      case "remote-answer": try pc.setRemoteAnswer(sdp)
      case "candidate": pc.addRemoteCandidate(candidate)
      case "statistics": tellStatistics()
      case "close": break
      default: Echo.tell(["type": "error", "text": "unknown command \(command)"])
      }
    } catch {
      Echo.tell(["type": "error", "text": error.description])
    }
  }

  private func tellStatistics() {
    Echo.tell([
      "type": "statistics", "video": frames[.vp8] ?? 0, "audio": frames[.opus] ?? 0,
      "sounds": frames.keys.filter { $0.kind == .audio }.map(\.rawValue).sorted(),
      "clockedVideo": clocked[.vp8] ?? 0,
      "clockedAudio": clocked.reduce(0) { $1.key.kind == .audio ? $0 + $1.value : $0 }, "width": size.width,
      "height": size.height, "roundTripTime": video.roundTripTime.map { $0 / .seconds(1) } ?? -1,
      "malformed": pc.counters.malformedRTP + pc.counters.malformedRTCP, "unrouted": pc.counters.unroutedRTP,
    ])
  }

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    Echo.tell(["type": "candidate", "candidate": candidate, "mid": mid.rawValue, "index": mLineIndex])
  }

  func peerConnectionDidFinishGathering(_ pc: RTCPeerConnection) { Echo.tell(["type": "gathered"]) }

  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    Echo.tell(["type": "state", "state": "\(state)"])
  }

  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) {
    receiver.wantsFrames = true
    Echo.tell(["type": "receiver", "mid": receiver.mid.rawValue, "kind": receiver.kind.rawValue])
  }

  func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {
    frames[frame.codec, default: 0] += 1
    if frame.captureTime != nil { clocked[frame.codec, default: 0] += 1 }
    if frame.width > 0 { size = (frame.width, frame.height) }
    guard frame.payload.count > 0 else { return }
    let arrival = MonotonicClock.now - frame.held
    if frame.codec.kind == .audio, frame.codec != .opus {
      do throws(CodecError) {
        try transcoder.take(frame.payload.bytes, of: frame.codec) { packet, time in
          audio.send(frame: packet, rtpTimestamp: time, capturedAt: arrival, audioLevel: frame.audioLevel)
        }
      } catch {
        Echo.tell(["type": "error", "text": error.description])
      }
      return
    }
    (frame.codec == .vp8 ? video : audio).send(
      frame: frame.payload.bytes, rtpTimestamp: UInt32(truncatingIfNeeded: frame.rtpTime),
      capturedAt: arrival, audioLevel: frame.audioLevel)
  }

  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    for receiver in pc.receivers where receiver.kind == .video { receiver.requestKeyframe() }
  }

  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {
    Echo.tell(["type": "channel", "label": label])
  }

  func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    pc.sendData(label: label, bytes, isText: isText)
  }
}
