import CAllocationCount
import Glibc
import MediaCore
import PeerConnection
import Platform
import RTP
import Synchronization
import Transport

/// A camera and a microphone over a real connection on the loopback interface: sockets, ICE, SRTP, reports and order. Frames go as
/// fast as they arrive, so that little is done for the passing of time.
enum Packets {
  /// Frames before what is counted: everything that is made once is made then.
  private static let warmUp = 300

  /// Sends frames; gives a line of JSON.
  static func run(frames: Int) throws -> String {
    let (near, far) = (MediaLoop(name: "near"), MediaLoop(name: "far"))
    let count = warmUp + frames
    let (sender, receiver) = (
      try near.sync { () throws -> Sender in try Sender(near, warmUp: warmUp, count: count) },
      try far.sync { () throws -> Receiver in try Receiver(far, warmUp: warmUp, count: count) }
    )
    (sender.other, receiver.other) = (receiver, sender)
    let offer = try near.sync { () throws -> String in try sender.pc.createOffer() }
    let answer = try far.sync { () throws -> String in
      try receiver.pc.setRemoteOffer(offer)
      return try receiver.pc.createAnswer()
    }
    try near.sync { () throws -> Void in try sender.pc.setRemoteAnswer(answer) }
    while receiver.frames.load(ordering: .acquiring) < count { usleep(20_000) }
    defer {
      near.sync { sender.pc.close() }
      far.sync { receiver.pc.close() }
      near.stop()
      far.stop()
    }
    let sent = near.sync { sender.allocations }
    let (packets, received) = far.sync { (receiver.packets, receiver.allocations) }
    return "{\"packets\":\(packets),\"sender\":\(sent),\"receiver\":\(received)}"
  }
}

// Confined to the loop of its connection, but for `frames`.
/// The end that receives.
private final class Receiver: PeerConnectionDelegate, @unchecked Sendable {
  let pc: RTCPeerConnection
  weak var other: Sender?
  /// Pictures that have come.
  let frames = Atomic<Int>(0)
  private(set) var allocations: UInt64 = 0
  private(set) var packets: Int64 = 0
  private let warmUp, count: Int

  init(_ loop: MediaLoop, warmUp: Int, count: Int) throws {
    (self.warmUp, self.count) = (warmUp, count)
    pc = try RTCPeerConnection(loop: loop, configuration: loopback())
    pc.delegate = self
  }

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    guard let sender = other?.pc else { return }
    sender.loop.post { sender.addRemoteCandidate(candidate) }
  }

  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) { receiver.wantsFrames = true }

  func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {
    guard receiver.kind == .video else { return }
    let number = frames.load(ordering: .relaxed) + 1
    if number == warmUp || number == count {
      let sum = pc.receivers.reduce(0) { $0 + $1.statistics.packets }
      // From the first of the two moments to the second.
      (packets, allocations) = (sum - packets, recbot_allocation_count() - allocations)
    }
    frames.store(number, ordering: .releasing)
  }
}

// Confined to the loop of its connection.
/// The end that sends.
private final class Sender: PeerConnectionDelegate, @unchecked Sendable {
  let pc: RTCPeerConnection
  weak var other: Receiver?
  private(set) var allocations: UInt64 = 0
  private let warmUp, count: Int
  private let video, audio: RTPSender
  private var timer: LoopTimer?
  private var sent = 0
  /// Frames on their way at most.
  private let window = 8
  private let picture: [UInt8] = Packets.picture
  private let sound: [UInt8] = [0xf8] + Array(repeating: 7, count: 80)

  init(_ loop: MediaLoop, warmUp: Int, count: Int) throws {
    (self.warmUp, self.count) = (warmUp, count)
    pc = try RTCPeerConnection(loop: loop, configuration: loopback())
    video = pc.addSender(kind: .video, codec: .vp8, streamID: "s", trackID: "video")
    audio = pc.addSender(kind: .audio, codec: .opus, streamID: "s", trackID: "audio")
    pc.delegate = self
  }

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    guard let receiver = other?.pc else { return }
    receiver.loop.post { receiver.addRemoteCandidate(candidate) }
  }

  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    guard state == .connected, timer == nil else { return }
    timer = pc.loop.timer(after: .milliseconds(1), repeats: true) { [unowned self] in send() }
  }

  private func send() {
    guard let other else { return }
    while sent < count, sent - other.frames.load(ordering: .acquiring) < window {
      let time = UInt32(truncatingIfNeeded: sent)
      let now = MonotonicClock.now
      // The connection is there a moment before media may flow.
      guard
        picture.withUnsafeBytes({ video.send(frame: $0, rtpTimestamp: time &* 3000, capturedAt: now) }),
        sound.withUnsafeBytes({
          audio.send(frame: $0, rtpTimestamp: time &* 1600, capturedAt: now, audioLevel: 30, isVoice: true)
        })
      else { return }
      sent += 1
      if sent == warmUp || sent == count { allocations = recbot_allocation_count() - allocations }
    }
    if sent == count { timer?.cancel() }
  }
}

extension Packets {
  /// A keyframe's header (RFC 6386 section 9.1), and filler: five packets.
  fileprivate static let picture: [UInt8] =
    [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 2, 0x68, 1] + (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
}

private func loopback() -> RTCPeerConnection.Configuration {
  var configuration = RTCPeerConnection.Configuration()
  configuration.localAddresses = ["127.0.0.1"]
  return configuration
}
