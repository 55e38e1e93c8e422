import Logging
import MediaCore
import PeerConnection
import Session
import Signaling
import Transport

// Sendable: the references that change hands are constants; everything mutable is touched on `loop` only.
/// A recording's connection to one two-party room: the bot is one of two peers, receives what the other one sends, and
/// puts room events and encoded frames into a sink. It comes back by itself when the connection is lost, and ends when
/// the other side says goodbye.
///
/// The decisions are `PeerFlow`'s; this class carries them out with a mailbox and a peer connection. Public methods may
/// be called on any thread.
public final class PeerRoomClient: RoomClient, @unchecked Sendable {
  private let options: RoomOptions
  private let loop: MediaLoop
  private let sink: any SessionSink
  private let mailbox: any Mailbox
  let logger: Logger
  private let onStatus: @Sendable (RoomStatus) -> Void
  private let onEnd: @Sendable (SessionEnd, RoomError?) -> Void
  /// Called on the loop with each new connection before it is used; for tests that send as well.
  private let prepare: @Sendable (PeerConnection) -> Void

  // On the loop from here on.
  private(set) var flow: PeerFlow
  private var isHandling = false
  private var waitingInputs: [PeerFlow.Input] = []
  private var timer: LoopTimer?
  private var timerAt: Int64?
  private var hearing: LoopTimer?
  private var heardPackets: UInt64 = 0
  private var toldPath: NetworkPath?
  private var network: NetworkWatcher?
  private var onJoin: (@Sendable (RoomError?) -> Void)?
  private(set) var media: PeerConnection?
  private(set) var generation = 0
  private var routes: [MID: TrackID] = [:]

  /// How often is looked whether something has come, nanoseconds.
  private static let hearingInterval: Int64 = 400_000_000

  /// Makes a client that does nothing yet, with the mailbox of the room server that the options name. `room` is the
  /// room's name; `role` nil takes the seat that is free. Throws when the address is none. For the rest see
  /// `RoomOptions.makeClient`.
  public convenience init(
    room: String, role: PeerRole?, options: RoomOptions, loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) throws(RoomError) {
    let mailbox = try HTTPMailbox(
      url: options.url, room: room, tokens: options.tokens, tlsCAFile: options.tlsCAFile,
      connectTimeout: min(options.connectTimeout, 3_000_000_000))
    self.init(
      room: room, role: role, mailbox: mailbox, options: options, loop: loop, sink: sink, logger: logger,
      onStatus: onStatus, onEnd: onEnd)
  }

  /// Makes a client for any mailbox.
  public init(
    room: String, role: PeerRole?, mailbox: any Mailbox, options: RoomOptions, loop: MediaLoop, sink: any SessionSink,
    logger: Logger, prepare: @escaping @Sendable (PeerConnection) -> Void = { _ in },
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) {
    self.options = options
    self.loop = loop
    self.sink = sink
    self.mailbox = mailbox
    self.logger = logger
    self.prepare = prepare
    self.onStatus = onStatus
    self.onEnd = onEnd
    var system = SystemRandomNumberGenerator()
    flow = PeerFlow(
      settings: .init(
        room: room, role: role, name: "recbot", session: String(system.next(), radix: 36),
        reconnect: options.reconnect,
        hasRelays: options.iceServers.contains { $0.urls.contains { $0.hasPrefix("turn:") } },
        canRenewToken: options.tokens.canRenew, seed: options.seed))
  }

  /// Joins; returns when the bot has its seat. Cancelling the task leaves the room.
  public func join() async throws(RoomError) {
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<RoomError?, Never>) in
        loop.post { [self] in
          guard onJoin == nil, flow.phase == .idle else {
            continuation.resume(returning: RoomError(.leftAlready, "or joins already"))
            return
          }
          onJoin = { continuation.resume(returning: $0) }
          network = NetworkWatcher(loop: loop) { [weak self] in self?.handle(.networkChanged) }
          handle(.join)
        }
      }
    } onCancel: {
      leave()
    }
    if let error { throw error }
  }

  /// Asks the other side for a keyframe.
  public func requestKeyframe(_ track: TrackID) {
    loop.post { [self] in
      for receiver in media?.receivers ?? [] where receiver.isActive && routes[receiver.mid] == track {
        receiver.requestKeyframe()
      }
    }
  }

  /// Nothing to ask for: what the other side sends is received.
  public func subscribe(_ track: TrackID) {}

  /// Says goodbye and closes everything; `.ended(.stopped)` follows. Leaving twice is no fault.
  public func leave() {
    loop.post { [self] in handle(.leave) }
  }

  // MARK: On the loop

  /// Gives an input to the flow and does what it says. Inputs that come up while doing so wait their turn.
  func handle(_ input: PeerFlow.Input) {
    waitingInputs.append(input)
    guard !isHandling else { return }
    isHandling = true
    while !waitingInputs.isEmpty {
      let next = waitingInputs.removeFirst()
      for action in flow.handle(next, at: MediaLoop.now()) { perform(action) }
    }
    isHandling = false
    setTimer()
  }

  private func perform(_ action: PeerFlow.Action) {
    switch action {
    case .request(let number, let request):
      mailbox.perform(request) { [self] result in
        loop.post { [self] in handle(.answered(request: number, result)) }
      }
    case .openMedia(let number, let isHost, let relayOnly, let servers):
      openMedia(number, isHost, relayOnly: relayOnly, servers)
    case .offer(let number, let restartsICE):
      describe(number) { media throws(PeerConnectionError) in
        // One that was not answered makes room for the next.
        media.withdrawOffer()
        let sdp = try media.createOffer(iceRestart: restartsICE)
        handle(.described(exchange: number, sdp: sdp))
      }
    case .answer(let number, let sdp):
      describe(number) { media throws(PeerConnectionError) in
        try media.setRemoteOffer(sdp)
        handle(.described(exchange: number, sdp: try media.createAnswer()))
        handle(.applied(exchange: number, sections(of: media)))
      }
    case .accept(let number, let sdp):
      describe(number) { media throws(PeerConnectionError) in
        try media.setRemoteAnswer(sdp)
        handle(.applied(exchange: number, sections(of: media)))
      }
    case .addCandidate(let candidate): media?.addRemoteCandidate(candidate)
    case .closeMedia: closeMedia()
    case .say(let message): say(message)
    case .bind(let tracks): bind(tracks)
    case .emit(let event): sink.put(.room(event))
    case .status(let status): onStatus(status)
    case .joined: complete(nil)
    case .finished(let end, let error):
      network?.stop()
      network = nil
      complete(error ?? RoomError(.connectionLost, "stopped before the join was complete"))
      onEnd(end, error)
    case .log(let level, let text): logger.log(level: level, "\(text)")
    }
  }

  private func complete(_ error: RoomError?) {
    let completion = onJoin
    onJoin = nil
    completion?(error)
  }

  private func describe(_ exchange: Int, _ work: (PeerConnection) throws(PeerConnectionError) -> Void) {
    guard let media else { return }
    do throws(PeerConnectionError) {
      try work(media)
    } catch {
      handle(.unusable(exchange: exchange, error.description))
    }
  }

  private func sections(of media: PeerConnection) -> [MediaSection] {
    media.receivers.map {
      MediaSection(mid: $0.mid, kind: $0.kind, streamID: $0.streamID, trackID: $0.trackID, isActive: $0.isActive)
    }
  }

  private func openMedia(_ number: Int, _ isHost: Bool, relayOnly: Bool, _ servers: [ICEServer]) {
    closeMedia()
    generation = number
    var configuration = PeerConnection.Configuration()
    configuration.iceServers = servers + options.iceServers
    configuration.transportPolicy = relayOnly ? .relay : .all
    configuration.localAddresses = options.localAddresses
    configuration.portRange = options.portRange
    configuration.tlsAuthorities = options.tlsCAFile
    // A browser that hears nothing about the path goes on with the little that it began with.
    configuration.bandwidthFeedback = .transportWide
    do throws(PeerConnectionError) {
      let connection = try PeerConnection(loop: loop, configuration: configuration)
      connection.delegate = self
      media = connection
      prepare(connection)
      if isHost {
        if connection.senders.isEmpty {
          connection.addReceiver(kind: .audio)
          connection.addReceiver(kind: .video)
        }
        connection.openDataChannel(label: PeerMessage.channel)
      }
    } catch {
      logger.error("no peer connection", metadata: ["reason": "\(error)"])
    }
    heardPackets = 0
    hearing = loop.timer(after: Self.hearingInterval, repeats: true) { [weak self] in self?.listen() }
  }

  /// Tells the flow when something has come since the last time.
  private func listen() {
    guard let count = media?.transportCounters?.packetsReceived, count != heardPackets else { return }
    heardPackets = count
    handle(.heard(generation: generation))
    if let path = media?.path, path != toldPath {
      toldPath = path
      sink.put(.room(.network(NetworkReport(path: path))))
    }
  }

  /// Closes the peer connection. We may be in one of its own calls to us: it is let go only after that.
  private func closeMedia() {
    hearing?.cancel()
    hearing = nil
    guard let closing = media else { return }
    closing.releaseFrames()
    closing.delegate = nil
    closing.close()
    (media, routes) = (nil, [:])
    loop.timer(after: 0) { _ = closing }
  }

  private func say(_ message: PeerMessage) {
    let bytes = MailboxCoding.encode(message)
    bytes.withUnsafeBytes { _ = media?.sendData(label: PeerMessage.channel, $0, isText: true) }
  }

  /// From now on frames belong to these tracks. Pictures that came before were not passed on: asks for a keyframe, so
  /// that no track begins in the middle.
  private func bind(_ tracks: [MID: TrackID]) {
    let old = routes
    routes = tracks
    for receiver in media?.receivers ?? [] where receiver.kind == .video && receiver.isActive {
      if let track = tracks[receiver.mid], track != old[receiver.mid] { receiver.requestKeyframe() }
    }
  }

  private func setTimer() {
    let wanted = flow.nextDeadline
    guard wanted != timerAt else { return }
    timer?.cancel()
    (timer, timerAt) = (nil, wanted)
    guard let wanted else { return }
    timer = loop.timer(after: max(1_000_000, wanted &- MediaLoop.now())) { [weak self] in
      guard let self else { return }
      timerAt = nil
      handle(.timer)
    }
  }
}

extension PeerRoomClient: PeerConnectionDelegate {
  /// Leaves a local candidate for the other side.
  public func peerConnection(_ pc: PeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    guard pc === media else { return }
    handle(.gathered(generation: generation, candidate))
  }

  /// Tells the flow how media stands.
  public func peerConnection(_ pc: PeerConnection, stateChanged state: TransportState) {
    guard pc === media else { return }
    logger.debug("media transport", metadata: ["state": "\(state)"])
    handle(.transport(generation: generation, state))
  }

  /// Wants complete frames of every receiver.
  public func peerConnection(_ pc: PeerConnection, receiverAdded receiver: RTPReceiver) {
    receiver.wantsFrames = true
  }

  /// Passes a frame on, if it belongs to a track of the recording.
  public func peerConnection(_ pc: PeerConnection, receiver: RTPReceiver, received frame: EncodedFrame) {
    guard let track = routes[receiver.mid] else { return }
    var frame = frame
    frame.readContent()
    sink.put(.frame(frame, of: track))
  }

  /// The channel can be used: the first word is ours.
  public func peerConnection(_ pc: PeerConnection, dataChannelOpened label: String) {
    guard pc === media, label == PeerMessage.channel else { return }
    handle(.channelOpened(generation: generation))
  }

  /// Takes what the other side says of itself; what can't be read is dropped.
  public func peerConnection(
    _ pc: PeerConnection, dataChannel label: String, received bytes: UnsafeRawBufferPointer, isText: Bool
  ) {
    guard pc === media, label == PeerMessage.channel, bytes.count <= PeerMessage.maximumSize,
      let message = MailboxCoding.decode(PeerMessage.self, from: Array(bytes))
    else { return }
    handle(.message(generation: generation, message))
  }
}
