import Logging
import MediaCore
import PeerConnection
import Signaling
import Transport

// Sendable by confinement: made and used on its connection's loop only.
/// The peer connection of what a bot publishes to a LiveKit room: senders, and the two data channels. `Publishing` decides.
final class PublisherMedia: @unchecked Sendable {
  /// The label of the data channel for what is sent again when it is lost, and of the other.
  private static let channels = (reliable: "_reliable", lossy: "_lossy")
  /// The most bytes that wait for a channel.
  private static let waitingLimit = 1 << 20

  /// Encrypts a frame; nil when it cannot be, and must not be sent.
  typealias Seal = (UnsafeRawBufferPointer, Codec) -> MediaBuffer?

  private struct Waiting {
    var label: String
    var packets: [[UInt8]]
    var completion: (RoomError?) -> Void
  }

  private let generation: Int
  private let seal: Seal?
  private let onInput: (PublishingInput) -> Void
  private let onKeyframe: (LocalTrackID, Int?) -> Void
  private var media: RTCPeerConnection?
  private var senders: [LocalTrackID: RTPSender] = [:]
  private var waiting: [Waiting] = []

  /// Makes the connection, with its data channels. When that fails, `onInput` hears it later. `onKeyframe` is called when
  /// somebody needs a keyframe. `seal`: in a room that is encrypted end to end.
  init(
    _ configuration: RTCPeerConnection.Configuration, generation: Int, sealing seal: Seal?, loop: MediaLoop,
    logger: Logger,
    onInput: @escaping (PublishingInput) -> Void, onKeyframe: @escaping (LocalTrackID, Int?) -> Void
  ) {
    self.generation = generation
    self.seal = seal
    self.onInput = onInput
    self.onKeyframe = onKeyframe
    do throws(PeerConnectionError) {
      let media = try RTCPeerConnection(loop: loop, configuration: configuration)
      media.delegate = self
      media.openDataChannel(label: Self.channels.reliable)
      media.openDataChannel(label: Self.channels.lossy, ordered: false, maxRetransmits: 0)
      self.media = media
    } catch {
      onInput(.failed(generation: generation, error.description))
    }
  }

  /// Who lets it go without closing it may be on any thread; the connection ends on the loop's.
  deinit {
    if let media { media.loop.sync { media.close() } }
  }

  /// Closes everything; what waits is told that. We may be in one of the connection's own calls to us: it is let go later.
  func close() {
    guard let closing = media else { return }
    media = nil
    senders = [:]
    closing.delegate = nil
    closing.close()
    closing.loop.timer(after: .zero) { _ = closing }
    let failed = waiting
    waiting = []
    for message in failed { message.completion(RoomError(.connectionLost, "the message was not sent")) }
  }

  // MARK: Tracks

  /// Adds a sender; it is in the next offer.
  func add(_ id: LocalTrackID, _ track: LocalTrackDescription) {
    let sender = media?.addSender(
      kind: track.codec.kind, codec: track.codec, streamID: "recbot", trackID: id.cid, layers: track.rids)
    if let seal { sender?.transform = { seal($0, track.codec) } }
    senders[id] = sender
  }

  /// Says that keyframes of all pictures are needed: what came before could not be encrypted.
  func wantKeyframes() {
    for (id, sender) in senders where sender.kind == .video { onKeyframe(id, nil) }
  }

  /// Removes a sender.
  func remove(_ id: LocalTrackID) {
    if let sender = senders.removeValue(forKey: id) { media?.removeSender(sender) }
  }

  /// The sender of a track; nil while it has none.
  func sender(of id: LocalTrackID) -> RTPSender? { senders[id] }

  // MARK: Descriptions

  /// Makes an offer, of which `onInput` hears.
  func makeOffer(_ number: Int, restartsICE: Bool) {
    guard number == generation, let media else { return }
    do {
      onInput(.offered(generation: number, sdp: try media.createOffer(iceRestart: restartsICE)))
    } catch {
      onInput(.failed(generation: number, "no offer could be made: \(error)"))
    }
  }

  /// Takes the answer, of which `onInput` hears.
  func apply(_ sdp: String, _ number: Int) {
    guard number == generation, let media else { return }
    do {
      try media.setRemoteAnswer(sdp)
      onInput(.applied(generation: number, error: nil))
    } catch {
      onInput(.applied(generation: number, error: error.description))
    }
  }

  /// Gives up the last offer.
  func withdrawOffer() { media?.withdrawOffer() }

  /// Takes a candidate of the server.
  func add(_ candidate: String) { if !candidate.isEmpty { media?.addRemoteCandidate(candidate) } }

  // MARK: Messages

  /// Sends packets one after another, as soon as the channel is there. `completion` hears whether they are on their way.
  func send(_ packets: [[UInt8]], isReliable: Bool, completion: @escaping (RoomError?) -> Void) {
    let label = isReliable ? Self.channels.reliable : Self.channels.lossy
    guard let media else { return completion(RoomError(.connectionLost, "the message was not sent")) }
    if media.isDataChannelOpen(label: label), !waiting.contains(where: { $0.label == label }) {
      return completion(transmit(packets, label))
    }
    let size = (waiting.flatMap(\.packets) + packets).reduce(0) { $0 + $1.count }
    guard size <= Self.waitingLimit else {
      return completion(RoomError(.busy, "more than \(Self.waitingLimit) bytes of messages wait to be sent"))
    }
    waiting.append(Waiting(label: label, packets: packets, completion: completion))
  }

  private func transmit(_ packets: [[UInt8]], _ label: String) -> RoomError? {
    for packet in packets {
      guard packet.withUnsafeBytes({ media?.sendData(label: label, $0) ?? false }) else {
        return RoomError(.busy, "too much waits to be sent on the data channel")
      }
    }
    return nil
  }
}

extension PublisherMedia: PeerConnectionDelegate {
  func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let candidate = TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex)
    if pc === media { onInput(.gathered(generation: generation, candidate)) }
  }

  func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    if pc === media { onInput(.transport(generation: generation, state)) }
  }

  func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    guard let id = senders.first(where: { $0.value === sender })?.key else { return }
    onKeyframe(id, rid.flatMap { sender.layers.firstIndex(of: $0) })
  }

  func peerConnection(_ pc: RTCPeerConnection, dataChannelOpened label: String) {
    let ready = waiting.filter { $0.label == label }
    waiting.removeAll { $0.label == label }
    for message in ready { message.completion(transmit(message.packets, label)) }
  }
}
