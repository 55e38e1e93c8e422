import MediaCore
import RTP
import SDP
import TestKit

@testable import PeerConnection

/// Two media engines with a seeded network between them, in manual time: no sockets, no threads, no waiting. What a
/// meeting of minutes comes to is known in milliseconds, and is the same on every machine.
final class EnginePair {
  /// What travels.
  enum Datagram {
    case rtp(MediaBuffer)
    case rtcp([UInt8])
  }

  /// Sends media.
  let near: EngineEnd
  /// Receives them.
  let far: EngineEnd
  private(set) var now = Instant.seconds(1)
  private(set) var network: SeededNetwork<Datagram>
  private var nextTick: Instant

  /// A pair over a network that behaves as a script says, from the beginning on.
  init(
    _ script: String, seed: UInt64, near configureNear: (inout RTCPeerConnection.Configuration) -> Void = { _ in },
    far configureFar: (inout RTCPeerConnection.Configuration) -> Void = { _ in }
  ) throws {
    near = EngineEnd(.up, seed: seed, configureNear)
    far = EngineEnd(.down, seed: seed + 1, configureFar)
    network = SeededNetwork(seed: seed)
    nextTick = now
    try schedule(script)
    for end in [near, far] { end.pair = self }
  }

  /// Lets the network behave as a script says, from now on.
  func schedule(_ script: String) throws { network.schedule(try NetworkScript(script), at: now) }

  /// Agrees on what the near end has to send, as descriptions travel: as text.
  func connect() throws {
    let offer = try near.negotiation.createOffer(near.transport).serialized()
    _ = try far.negotiation.setRemoteOffer(try SessionDescription(parsing: offer))
    let answer = try far.negotiation.createAnswer(far.transport).serialized()
    try near.negotiation.setRemoteAnswer(try SessionDescription(parsing: answer))
    for end in [near, far] {
      end.engine.applySenders(end.negotiation.media)
      end.engine.applyReceivers(end.negotiation.media, sections: Set(end.negotiation.sections.map(\.mid)))
      end.engine.setCanSend(true, isConnected: true, at: now)
    }
  }

  /// Lets time pass, 5 ms at a time: what is under way arrives, what is due happens; `each` is called with each of them.
  func run(for span: Duration, each: () -> Void = {}) {
    let end = now + span
    while now < end {
      let next = now + .milliseconds(5)
      while let due = network.deadline, due <= next {
        now = max(now, due)
        deliver()
      }
      now = next
      each()
      if now >= nextTick {
        nextTick += .milliseconds(20)
        for end in [near, far] { end.engine.tick(at: now) }
      }
    }
  }

  fileprivate func send(_ datagram: Datagram, count: Int, _ direction: TestKit.Direction) {
    network.send(datagram, count: count, direction, .udp, at: now)
  }

  private func deliver() {
    while let output = network.poll(at: now) {
      guard case .packet(let datagram, let direction, let corruption) = output else { continue }
      let engine = (direction == .up ? far : near).engine
      switch datagram {
      case .rtp(let buffer):
        let bytes = Self.damaged(Array(buffer.bytes), corruption)
        engine.receiveRTP(MediaBuffer(bytes), at: now)
      case .rtcp(let bytes): Self.damaged(bytes, corruption).withUnsafeBytes { engine.receiveRTCP($0, at: now) }
      }
    }
  }

  private static func damaged(_ bytes: [UInt8], _ corruption: UInt64?) -> [UInt8] {
    guard let corruption, !bytes.isEmpty else { return bytes }
    var bytes = bytes
    bytes[Int(corruption % UInt64(bytes.count))] ^= 1 << UInt8(corruption >> 32 & 7)
    return bytes
  }
}

/// One engine, and what it told.
final class EngineEnd: MediaEngineHost {
  let engine: MediaEngine
  var negotiation: Negotiation
  private(set) var frames: [EncodedFrame] = []
  /// When each of them was handed out.
  private(set) var frameTimes: [Instant] = []
  private(set) var packets: [(rid: RID?, packet: RTPPacket)] = []
  private(set) var keyframeWishes: [RID?] = []
  private(set) var reports: [(ntp: NTPTime, rtp: UInt32)] = []
  private(set) var forgotten: [SSRC] = []
  /// How many datagrams of RTCP it has sent.
  private(set) var sentRTCP = 0
  var wantsPackets = false
  fileprivate weak var pair: EnginePair?
  private let direction: TestKit.Direction

  fileprivate init(
    _ direction: TestKit.Direction, seed: UInt64, _ configure: (inout RTCPeerConnection.Configuration) -> Void
  ) {
    self.direction = direction
    var configuration = RTCPeerConnection.Configuration()
    configure(&configuration)
    negotiation = Negotiation(policy: NegotiationPolicy(configuration), seed: seed)
    engine = MediaEngine(configuration, cname: negotiation.cname, seed: seed)
    engine.host = self
  }

  /// Its end of a transport that nobody looks at.
  fileprivate var transport: Negotiation.LocalTransport {
    .init(
      ufrag: direction == .up ? "near" : "away", password: "0123456789abcdefghijkl",
      fingerprint: .init(algorithm: "sha-256", value: direction == .up ? "AA:BB" : "CC:DD"))
  }

  /// Adds a track to send.
  func add(_ codec: Codec, layers: [RID] = []) -> RTPSender {
    engine.addSender(
      negotiation.addTrack(
        codec: codec, stream: .init(stream: "s", track: "t"), layers: layers, alsoReceives: false))
  }

  var now: Instant { pair?.now ?? .zero }

  func wallClock(at now: Instant) -> NTPTime { NTPTime(nanoseconds: 3_900_000_000_000_000_000 + now.nanoseconds) }

  func send(rtp packet: MediaBuffer) -> Bool {
    // The engine may use the buffer again; on the way it is somebody else's.
    pair?.send(.rtp(MediaBuffer(Array(packet.bytes))), count: packet.count, direction)
    return true
  }

  func send(rtcp datagram: UnsafeRawBufferPointer) {
    sentRTCP += 1
    pair?.send(.rtcp(Array(datagram)), count: datagram.count, direction)
  }

  func forget(_ ssrc: SSRC) { forgotten.append(ssrc) }

  func receive(_ packet: RTPPacket, of stream: ReceiveStream, at now: Instant) { packets.append((stream.rid, packet)) }

  func receive(_ frame: EncodedFrame, of stream: ReceiveStream) {
    frames.append(frame)
    frameTimes.append(now)
  }

  func hear(_ event: MediaEvent) {
    switch event {
    case .receiverAdded(let receiver):
      receiver.wantsFrames = !wantsPackets
      receiver.wantsPackets = wantsPackets
    case .senderReport(_, _, let ntp, let rtpTimestamp, _): reports.append((ntp, rtpTimestamp))
    case .keyframeWanted(_, let rid): keyframeWishes.append(rid)
    case .receiverChanged, .receiverRemoved, .bitrateEstimate: break
    }
  }
}

/// A camera of 25 pictures a second that makes a keyframe when it is asked for one, as an encoder does.
struct MadeCamera {
  /// Bytes of each frame.
  static let frameSize = 5000
  let sender: RTPSender
  /// When the first one was made.
  private(set) var startedAt = Instant.zero
  private var number: UInt32 = 0
  private var nextAt = Instant.zero
  private var answeredWishes = 0

  init(_ sender: RTPSender) { self.sender = sender }

  /// Frames made so far.
  var count: Int { Int(number) }

  /// Sends the frame that is due at the end's time; each says by its filler which one it is.
  mutating func step(_ end: EngineEnd, layers: Int = 1) {
    guard end.now >= nextAt else { return }
    nextAt = end.now + .milliseconds(40)
    if number == 0 { startedAt = end.now }
    let isKeyframe = number == 0 || end.keyframeWishes.count > answeredWishes
    answeredWishes = end.keyframeWishes.count
    let frame = vp8Frame(keyframe: isKeyframe, count: Self.frameSize, number: UInt8(truncatingIfNeeded: number))
    for layer in 0..<layers {
      _ = frame.withUnsafeBytes {
        sender.send(frame: $0, rtpTimestamp: number &* 3600, capturedAt: end.now, layer: layer)
      }
    }
    number += 1
  }
}

/// A microphone with a packet of 20 ms each 20 ms.
struct MadeMicrophone {
  let sender: RTPSender
  private var number: UInt32 = 0
  private var nextAt = Instant.zero

  init(_ sender: RTPSender) { self.sender = sender }

  /// Packets made so far.
  var count: Int { Int(number) }

  /// Sends the packet that is due at the end's time.
  mutating func step(_ end: EngineEnd) {
    guard end.now >= nextAt else { return }
    nextAt = end.now + .milliseconds(20)
    // Configuration 31 with one frame: 20 ms of full-band CELT (RFC 6716 section 3.1).
    let packet: [UInt8] = [0xf8] + Array(repeating: UInt8(truncatingIfNeeded: number), count: 60)
    _ = packet.withUnsafeBytes {
      sender.send(frame: $0, rtpTimestamp: number &* 960, capturedAt: end.now, audioLevel: 33, isVoice: true)
    }
    number += 1
  }
}
