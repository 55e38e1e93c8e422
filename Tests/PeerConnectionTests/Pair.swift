import MediaCore
import RTP
import Synchronization
import Testing
import Transport

@testable import PeerConnection

// Confined to the loop of its connection; tests read `log` after the loop has been asked to answer.
/// One end of a connection that writes down what happens.
final class End: PeerConnectionDelegate, @unchecked Sendable {
  let pc: RTCPeerConnection
  weak var other: End?
  var frames: [(mid: MID, frame: EncodedFrame)] = []
  var packets: [(rid: RID?, packet: RTPPacket)] = []
  var messages: [String] = []
  var opened: [String] = []
  var added: [String] = []
  var keyframeWishes: [RID?] = []
  var reports: [(ntp: NTPTime, rtp: UInt32)] = []
  var states: [TransportState] = []
  var wantsPackets = false
  /// Called after every event, on the loop.
  var onEvent: (() -> Void)?

  init(_ loop: MediaLoop, _ configure: (inout RTCPeerConnection.Configuration) -> Void = { _ in }) throws {
    var configuration = RTCPeerConnection.Configuration()
    configuration.localAddresses = ["127.0.0.1"]
    configuration.wallClock = Self.wallClock
    configure(&configuration)
    pc = try RTCPeerConnection(loop: loop, configuration: configuration)
    pc.delegate = self
  }

  /// A wall clock that can't drift from the loop's: reading two clocks takes as long as the scheduler likes.
  static func wallClock(at now: Instant) -> NTPTime {
    NTPTime(nanoseconds: 3_900_000_000_000_000_000 + now.nanoseconds)
  }

  /// Offers everything, takes the other's answer.
  func offer(iceRestart: Bool = false) throws {
    guard let other else { return }
    try other.pc.setRemoteOffer(try pc.createOffer(iceRestart: iceRestart))
    try pc.setRemoteAnswer(try other.pc.createAnswer())
  }

  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    other?.pc.addRemoteCandidate(candidate)
  }
  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    states.append(state)
    onEvent?()
  }
  func peerConnection(_ pc: RTCPeerConnection, receiverAdded receiver: RTPReceiver) {
    receiver.wantsFrames = !wantsPackets
    receiver.wantsPackets = wantsPackets
    added.append("+\(receiver.mid) \(receiver.trackID ?? "-")")
  }
  func peerConnection(_ pc: RTCPeerConnection, receiverChanged receiver: RTPReceiver) {
    added.append("~\(receiver.mid) \(receiver.trackID ?? "-")")
  }
  func peerConnection(_ pc: RTCPeerConnection, receiverRemoved receiver: RTPReceiver) {
    added.append("-\(receiver.mid)")
  }
  func peerConnection(_ pc: RTCPeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {
    frames.append((receiver.mid, frame))
    onEvent?()
  }
  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, received packet: RTPPacket, rid: RID?, at now: Instant
  ) {
    packets.append((rid, packet))
    onEvent?()
  }
  func peerConnection(
    _ pc: RTCPeerConnection, receiver: RTPReceiver, rid: RID?, senderReport ntp: NTPTime, rtpTimestamp: UInt32,
    at now: Instant
  ) {
    reports.append((ntp, rtpTimestamp))
    onEvent?()
  }
  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    keyframeWishes.append(rid)
    onEvent?()
  }
  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {
    opened.append(label)
    onEvent?()
  }
  func peerConnection(
    _ pc: RTCPeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    messages.append("\(label): \(String(decoding: bytes, as: UTF8.self))")
    onEvent?()
  }
}

/// Two ends on one loop, and a way to wait for what they do.
struct Pair: Sendable {
  let loop: MediaLoop
  let left: End
  let right: End

  init(
    _ name: String, left configureLeft: @escaping @Sendable (inout RTCPeerConnection.Configuration) -> Void = { _ in },
    right configureRight: @escaping @Sendable (inout RTCPeerConnection.Configuration) -> Void = { _ in }
  ) throws {
    let loop = MediaLoop(name: name)
    self.loop = loop
    (left, right) = try loop.sync { () throws -> (End, End) in
      let left = try End(loop, configureLeft)
      let right = try End(loop, configureRight)
      left.other = right
      right.other = left
      return (left, right)
    }
  }

  /// Runs on the loop.
  func on<T: Sendable>(_ work: @escaping @Sendable (End, End) throws -> T) throws -> T {
    try loop.sync { () throws -> T in try work(left, right) }
  }

  /// Waits until a condition, looked at after every event, holds; fails the test after `seconds`.
  func wait(
    _ what: String, seconds: Int64 = 30, until condition: @escaping @Sendable (End, End) -> Bool,
    each: (@Sendable (End, End) -> Void)? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let holds = await withCheckedContinuation { continuation in
      loop.post {
        let once = Once(continuation)
        let look = { if condition(left, right) { once.finish(true) } }
        left.onEvent = look
        right.onEvent = look
        once.timers.append(loop.timer(after: .seconds(seconds)) { once.finish(false) })
        // What happens by time alone, such as sending frames.
        once.timers.append(
          loop.timer(after: .milliseconds(10), repeats: true) {
            each?(left, right)
            look()
          })
        look()
      }
    }
    #expect(holds, "\(what) did not happen in \(seconds) s", sourceLocation: sourceLocation)
  }

  func close() {
    loop.sync {
      left.onEvent = nil
      right.onEvent = nil
      left.pc.close()
      right.pc.close()
    }
    loop.stop()
  }
}

/// Resumes a continuation once and cancels its timers. Confined to the loop.
private final class Once {
  var timers: [LoopTimer] = []
  private var continuation: CheckedContinuation<Bool, Never>?
  init(_ continuation: CheckedContinuation<Bool, Never>) { self.continuation = continuation }
  func finish(_ value: Bool) {
    continuation?.resume(returning: value)
    continuation = nil
    for timer in timers { timer.cancel() }
    timers = []
  }
}

/// Bytes that pass for a VP8 frame: a keyframe header of RFC 6386 section 9.1 or an interframe tag, then filler.
func vp8Frame(keyframe: Bool, count: Int, width: UInt16 = 640, height: UInt16 = 360, number: UInt8 = 0) -> [UInt8] {
  var bytes: [UInt8] =
    keyframe
    ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, UInt8(width & 0xff), UInt8(width >> 8), UInt8(height & 0xff), UInt8(height >> 8)]
    : [0x11, 0, 0]
  while bytes.count < count { bytes.append(number &+ UInt8(truncatingIfNeeded: bytes.count)) }
  return bytes
}
