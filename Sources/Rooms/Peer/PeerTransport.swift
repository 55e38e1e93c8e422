import Logging
import MediaCore
import PeerConnection
import Session
import Signaling
import Transport

/// A bot's connection to one two-party room: it is one of two peers, sends what it is given, receives what the other one sends, and
/// puts room events and encoded frames into a sink. It comes back by itself when the connection is lost, and ends when
/// the other side says goodbye. The decisions are `PeerFlow`'s.
typealias PeerRoomClient = RoomConnection<PeerTransport>

extension RoomConnection where Link == PeerTransport {
  /// Makes a client that does nothing yet, with the mailbox of the room server that the options name. `room` is the
  /// room's name; `role` nil takes the seat that is free. Throws when the address is none. For the rest see
  /// `RoomOptions.makeClient`.
  convenience init(
    room: String, role: PeerRole?, profile: PeerProfile = .recorder, options: RoomOptions, loop: MediaLoop,
    sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) throws(RoomError) {
    if let fault = profile.fault { throw RoomError(.rejected, fault) }
    let mailbox = try HTTPMailbox(
      url: options.url, room: room, tokens: options.tokens, tlsCAFile: options.tlsCAFile)
    self.init(
      room: room, role: role, profile: profile, mailbox: mailbox, options: options, loop: loop, sink: sink,
      logger: logger, onStatus: onStatus, onPublishing: onPublishing, onEnd: onEnd)
  }

  /// Makes a client for any mailbox, of a profile without fault.
  convenience init(
    room: String, role: PeerRole?, profile: PeerProfile = .recorder, mailbox: any Mailbox, options: RoomOptions,
    loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) {
    var system = SystemRandomNumberGenerator()
    let flow = PeerFlow(
      settings: .init(
        room: room, role: role, profile: profile, session: String(system.next(), radix: 36),
        reconnect: options.reconnect,
        hasRelays: options.iceServers.contains { $0.urls.contains { $0.hasPrefix("turn:") } },
        canRenewToken: options.tokens.canRenew, seed: options.seed))
    self.init(
      machine: flow,
      transport: PeerTransport(
        mailbox: mailbox, iceServers: options.iceServers, sending: profile, onPublishing: onPublishing),
      options: options, loop: loop, sink: sink, logger: logger, onStatus: onStatus, onEnd: onEnd)
  }
}

/// What carries out what only two-party rooms know: the mailbox, both sides of an exchange, and the data channel on which
/// peers say how they are. Confined to the connection's loop.
final class PeerTransport: RoomTransport {
  typealias Machine = PeerFlow
  typealias Connection = RoomConnection<PeerTransport>

  /// How often is looked whether something has come.
  static let samplingInterval = Duration.milliseconds(400)

  private let mailbox: any Mailbox
  private let iceServers: [ICEServer]
  private let profile: PeerProfile
  private let onPublishing: @Sendable (PublishingEvent) -> Void
  private var senders: [LocalTrackID: RTPSender] = [:]
  private var heardPackets: UInt64 = 0
  private var toldPath: NetworkPath?

  init(
    mailbox: any Mailbox, iceServers: [ICEServer], sending profile: PeerProfile,
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void
  ) {
    self.mailbox = mailbox
    self.iceServers = iceServers
    self.profile = profile
    self.onPublishing = onPublishing
  }

  func start(_ connection: Connection) -> PeerFlow.Input { .join }

  func perform(_ request: PeerRequest, for connection: Connection) {
    switch request {
    case .request(let number, let request):
      mailbox.perform(request) { result in
        connection.loop.post { connection.handle(.answered(request: number, result)) }
      }
    case .offer(let number, let restartsICE):
      describe(number, for: connection) { media throws(PeerConnectionError) in
        // One that was not answered makes room for the next.
        media.withdrawOffer()
        let sdp = try media.createOffer(iceRestart: restartsICE)
        connection.handle(.described(exchange: number, sdp: sdp))
      }
    case .answer(let number, let sdp):
      describe(number, for: connection) { media throws(PeerConnectionError) in
        try media.setRemoteOffer(sdp)
        connection.handle(.described(exchange: number, sdp: try media.createAnswer()))
        applied(number, media, for: connection)
      }
    case .accept(let number, let sdp):
      describe(number, for: connection) { media throws(PeerConnectionError) in
        try media.setRemoteAnswer(sdp)
        applied(number, media, for: connection)
      }
    case .say(let message):
      let bytes = MailboxCoding.encode(message)
      bytes.withUnsafeBytes { _ = connection.media?.sendData(label: PeerMessage.channel, $0, isText: true) }
    case .tell(let event): onPublishing(event)
    }
  }

  private func applied(_ exchange: Int, _ media: RTCPeerConnection, for connection: Connection) {
    let taken = senders.filter { $0.value.payloadType != nil }.keys
    connection.handle(.agreed(exchange: exchange, Set(taken)))
    connection.handle(.applied(exchange: exchange, connection.sections(of: media)))
  }

  private func describe(
    _ exchange: Int, for connection: Connection, _ work: (RTCPeerConnection) throws(PeerConnectionError) -> Void
  ) {
    guard let media = connection.media else { return }
    do throws(PeerConnectionError) {
      try work(media)
    } catch {
      connection.handle(.unusable(exchange: exchange, error.description))
    }
  }

  func configure(_ configuration: inout RTCPeerConnection.Configuration) {
    configuration.iceServers += iceServers
    // A browser that hears nothing about the path goes on with the little that it began with.
    configuration.bandwidthFeedback = .transportWide
  }

  func opened(_ media: RTCPeerConnection, _ request: MediaRequest) {
    heardPackets = 0
    senders = [:]
    for (id, track) in profile.ordered {
      senders[id] = media.addSender(
        kind: track.codec.kind, codec: track.codec, streamID: "recbot", trackID: id.cid,
        alsoReceives: request.isOfferer)
    }
    guard request.isOfferer else { return }
    for kind in [MediaKind.audio, .video] where !profile.tracks.contains(where: { $0.codec.kind == kind }) {
      media.addReceiver(kind: kind)
    }
    media.openDataChannel(label: PeerMessage.channel)
  }

  /// Tells the flow when something has come since the last time.
  func sample(_ media: RTCPeerConnection, for connection: Connection) {
    guard let count = media.transportCounters?.packetsReceived, count != heardPackets else { return }
    heardPackets = count
    connection.handle(.heard(generation: connection.generation))
    if let path = connection.media?.path, path != toldPath {
      toldPath = path
      connection.sink.put(.room(.network(NetworkReport(path: path))))
    }
  }

  func sender(of track: LocalTrackID) -> RTPSender? { senders[track] }

  func wantsKeyframe(of sender: RTPSender) {
    guard let id = senders.first(where: { $0.value === sender })?.key else { return }
    onPublishing(.keyframeWanted(id, layer: nil))
  }

  func passed(
    _ frame: EncodedFrame, of track: TrackID, in mid: MID, for connection: Connection
  ) -> EncodedFrame? {
    var frame = frame
    frame.readContent()
    return frame
  }

  /// The channel can be used: the first word is ours.
  func opened(channel label: String, for connection: Connection) {
    if label == PeerMessage.channel { connection.handle(.channelOpened(generation: connection.generation)) }
  }

  /// Takes what the other side says of itself; what can't be read is dropped.
  func received(_ bytes: UnsafeRawBufferPointer, on label: String, for connection: Connection) {
    guard label == PeerMessage.channel, bytes.count <= PeerMessage.maximumSize,
      let message = MailboxCoding.decode(PeerMessage.self, from: Array(bytes))
    else { return }
    connection.handle(.message(generation: connection.generation, message))
  }
}

extension PeerInput: RoomInput {
  static func mute(_ track: LocalTrackID, _ isMuted: Bool) -> PeerInput? { .muted(track, isMuted) }

  static func candidate(generation: Int, _ candidate: String, mid: MID, index: Int) -> PeerInput {
    .gathered(generation: generation, candidate)
  }
}
