import FrameEncryption
import Logging
import MediaCore
import PeerConnection
import Platform
import Session
import Signaling
import Transport

/// A recording's connection to one LiveKit room: joins as a subscriber, receives every track, and puts room events
/// and encoded frames into a sink. It comes back by itself when the connection is lost. The decisions are
/// `LiveKitSession`'s.
typealias LiveKitRoomClient = RoomConnection<LiveKitTransport>

extension RoomConnection where Link == LiveKitTransport {
  /// Makes a client that does nothing yet. For the parameters see `RoomOptions.makeClient`.
  convenience init(
    options: RoomOptions, loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) {
    let settings = LiveKitSettings(
      tokens: options.tokens, connectTimeout: options.connectTimeout,
      mediaTimeout: options.mediaTimeout, iceServers: options.iceServers,
      wallClockOffset: WallClock.nanoseconds &- MonotonicClock.now.nanoseconds, receivesMedia: options.receivesMedia,
      autoSubscribe: options.autoSubscribe, selection: options.selection, keys: options.keys)
    let policy = ReconnectPolicy(settings: options.reconnect, seed: options.seed)
    self.init(
      machine: LiveKitSession(settings: settings, policy: policy),
      transport: LiveKitTransport(options: options, onPublishing: onPublishing),
      options: options, loop: loop, sink: sink, logger: logger, onStatus: onStatus, onEnd: onEnd)
  }

  /// Takes what a WebSocket says.
  fileprivate func hear(_ event: SignalSocket.Event, _ attempt: Int) { transport.heard(event, attempt, for: self) }
}

// Sendable: everything mutable is touched on the loop only.
/// What carries out what only LiveKit rooms know: the WebSocket, the list of rooms, what is encrypted end to end, and what
/// the server makes itself. Confined to the connection's loop.
final class LiveKitTransport: RoomTransport, @unchecked Sendable {
  typealias Machine = LiveKitSession
  typealias Connection = RoomConnection<LiveKitTransport>

  /// What is known of the frames of an m-line.
  struct Route {
    var track: TrackID
    var filter = BlankFrameFilter()
    /// Of what comes encrypted.
    var readability = Readability()
    /// True when what came last could not be decrypted.
    var hasMissed = false
  }

  static let samplingInterval = Duration.seconds(1)
  /// How long the server waits before it is looked again whether the recording has taken what came.
  private static let crowdPause = Duration.milliseconds(20)

  var routes: [MID: Route] = [:]
  var cryptor: FrameCryptor?
  /// What the bot publishes goes through it; nil before the first.
  private(set) var publisher: PublisherMedia?
  private let options: RoomOptions
  private let onPublishing: @Sendable (PublishingEvent) -> Void
  private var url: SignalURL?
  private var socket: SignalSocket?
  private var addresses: ServerAddresses?
  private var lookout: RoomLookout?
  private var malformedMessages = 0
  /// Time that the server's messages have taken since it was last let go on.
  private var spent = Duration.zero
  private var sampledAt = Instant.distantPast

  init(options: RoomOptions, onPublishing: @escaping @Sendable (PublishingEvent) -> Void) {
    self.options = options
    self.onPublishing = onPublishing
    cryptor = options.keys.map { keys in
      var random = SystemRandomNumberGenerator()
      return FrameCryptor(keys: keys, nonceSeed: random.next())
    }
  }

  func start(_ connection: Connection) -> LiveKitInput {
    do {
      let url = try SignalURL(options.url)
      self.url = url
      addresses = ServerAddresses(host: url.host, loop: connection.loop)
    } catch {
      return .unusable(RoomError(.invalidURL, "\(error)"))
    }
    deriveKeys(for: connection)
    return .connect
  }

  func perform(_ request: LiveKitRequest, for connection: Connection) {
    switch request {
    case .openSocket(let attempt, let query, let token):
      openSocket(attempt, query, token.wrappedValue, for: connection)
    case .send(let request): socket?.send(request)
    case .closeSocket:
      socket?.close()
      socket = nil
    case .closeSocketGently:
      socket?.close {
        connection.loop.post { connection.handle(.left) }
      }
    case .lookForRoom(let room, let token): look(for: room, token, for: connection)
    case .endLookout:
      lookout?.close()
      lookout = nil
    case .applyOffer(let number, let id, let sdp): apply(number, id, sdp, for: connection)
    case .decrypt(let message): decrypt(message, for: connection)
    case .beginEncryption(let identity, let trailer):
      cryptor?.serverTrailer = trailer
      cryptor?.send(as: identity)
      deriveKeys(for: connection)
    case .openPublisher(let number, let media): openPublisher(number, media, for: connection)
    case .closePublisher:
      publisher?.close()
      publisher = nil
    case .addSender(let id, let track): publisher?.add(id, track)
    case .removeSender(let id): publisher?.remove(id)
    case .makeOffer(let number, let restartsICE): publisher?.makeOffer(number, restartsICE: restartsICE)
    case .withdrawOffer: publisher?.withdrawOffer()
    case .applyPublisherAnswer(let number, let sdp): publisher?.apply(sdp, number)
    case .addPublisherCandidate(let candidate): publisher?.add(candidate)
    case .tell(let event): onPublishing(event)
    }
  }

  // MARK: Signalling

  private func openSocket(_ attempt: Int, _ query: SignalQuery, _ token: String, for connection: Connection) {
    guard let url else { return }
    let request = SignalSocket.Request(
      url: url, query: query, token: token, tlsCAFile: options.tlsCAFile, connectTimeout: options.connectTimeout,
      address: connection.machine.hasJoined ? addresses?.next() : nil)
    socket = SignalSocket(request) { event in
      connection.loop.post { connection.hear(event, attempt) }
    }
  }

  private func look(for room: String, _ token: String, for connection: Connection) {
    guard let url else { return }
    let lookout = lookout ?? RoomLookout(url: url, tlsCAFile: options.tlsCAFile)
    self.lookout = lookout
    lookout.ask(for: room, token: token) { isThere in
      connection.loop.post { connection.handle(.roomListed(isThere)) }
    }
  }

  fileprivate func heard(_ event: SignalSocket.Event, _ attempt: Int, for connection: Connection) {
    switch event {
    case .reached(let address):
      if let address { addresses?.reached(address) }
      connection.handle(.reached(attempt: attempt))
    case .opened: connection.logger.debug("the signal connection is open")
    case .message(let message):
      let start = MonotonicClock.now
      connection.handle(.message(attempt: attempt, message))
      spent += MonotonicClock.now - start
    case .malformed(let text):
      malformedMessages += 1
      connection.logger.notice(
        "malformed message of the server dropped: \(text)", metadata: ["count": "\(malformedMessages)"])
    case .readComplete: readMore(of: attempt, for: connection)
    case .failed(let error): connection.handle(.socketFailed(attempt: attempt, error))
    case .closed(let text): connection.handle(.socketClosed(attempt: attempt, RoomError.oneLine(text)))
    }
  }

  /// Lets the socket read on. A server that talks much waits as long as it took to listen to it, so that at least half
  /// of the loop's time is left for media; and until the recording has taken what it has, when that is much.
  private func readMore(of attempt: Int, for connection: Connection) {
    guard attempt == connection.machine.signal.attempt else { return }
    let pause = connection.sink.isCrowded ? Self.crowdPause : spent < .milliseconds(1) ? .zero : spent
    spent = .zero
    guard pause > .zero else {
      socket?.readMore()
      return
    }
    connection.loop.timer(after: pause) { [weak self, weak connection] in
      guard let self, let connection else { return }
      readMore(of: attempt, for: connection)
    }
  }

  // MARK: Media

  func configure(_ configuration: inout RTCPeerConnection.Configuration) {
    // What can't be decoded, too: what one subscriber refuses a server takes away from all.
    configuration.codecs = CodecTable.rows.map(\.codec)
    configuration.bandwidthFeedback = options.bandwidthFeedback
  }

  private func openPublisher(_ number: Int, _ request: MediaRequest, for connection: Connection) {
    publisher?.close()
    let seal: PublisherMedia.Seal = { [weak self] frame, codec in self?.cryptor?.seal(frame, codec: codec) }
    publisher = PublisherMedia(
      options.configuration(request), generation: number, sealing: cryptor == nil ? nil : seal, loop: connection.loop,
      logger: connection.logger
    ) { [weak connection] in
      connection?.handle(.publishing($0))
    } onKeyframe: { [onPublishing] in
      onPublishing(.keyframeWanted($0, layer: $1))
    }
  }

  func opened(_ media: RTCPeerConnection, _ request: MediaRequest) { sampledAt = MonotonicClock.now }

  private func apply(_ number: Int, _ id: UInt32, _ sdp: String, for connection: Connection) {
    guard number == connection.generation, let media = connection.media else { return }
    do {
      try media.setRemoteOffer(sdp)
      let answer = try media.createAnswer()
      connection.handle(
        .answered(generation: number, offer: id, sdp: answer, sections: connection.sections(of: media)))
    } catch {
      connection.handle(.offerFailed(generation: number, error.description))
    }
  }

  func bound(_ tracks: [MID: TrackID]) {
    let old = routes
    routes = tracks.reduce(into: [:]) { routes, pair in
      let known = old[pair.key]
      routes[pair.key] = known?.track == pair.value ? known : Route(track: pair.value)
    }
  }

  /// Tells how the connection does, each second.
  func sample(_ media: RTCPeerConnection, for connection: Connection) {
    let now = MonotonicClock.now
    let milliseconds = max(1, (now - sampledAt).milliseconds)
    sampledAt = now
    let sample = media.sampleReception()
    func rate(_ bytes: Int64) -> Int64 { bytes &* 8_000 / milliseconds }
    connection.handle(
      .network(
        generation: connection.generation,
        NetworkReport(
          incoming: rate(sample.bytes), incomingAudio: rate(sample.audioBytes),
          incomingVideo: rate(sample.videoBytes), flowingVideos: sample.flowingVideos,
          lossPerMille: sample.lossPerMille, queueDelay: sample.queueDelay,
          estimate: sample.estimate.map { Int64(clamping: $0) }, path: media.path)))
  }

  func passed(
    _ frame: EncodedFrame, of track: TrackID, in mid: MID, for connection: Connection
  ) -> EncodedFrame? {
    guard var frame = decrypted(frame, of: track, in: mid, for: connection) else { return nil }
    frame.readContent()
    guard frame.codec.kind == .video else { return frame }
    let passes =
      routes[mid]?.filter.accepts(isKeyframe: frame.isKeyframe, width: frame.width, height: frame.height) ?? false
    return passes ? frame : nil
  }

  func sender(of track: LocalTrackID) -> RTPSender? { publisher?.sender(of: track) }

  func opened(channel label: String, for connection: Connection) {}

  func received(_ bytes: UnsafeRawBufferPointer, on label: String, for connection: Connection) {
    guard label == "_reliable" || label == "_lossy" else { return }
    connection.handle(
      .data(generation: connection.generation, Array(bytes), isReliable: label == "_reliable"))
  }

  func pathFailed(_ reason: String, for connection: Connection) {
    connection.logger.warning(
      "a way to the room server cannot be used; the others are tried", metadata: ["way": "\(reason)"])
  }
}

extension LiveKitSession: ConnectionMachine {
  typealias Request = LiveKitRequest

  var isIdle: Bool { signal.phase == .idle }

  mutating func observe(_ traffic: MediaTraffic) { self.traffic = traffic }
}

extension LiveKitInput: RoomInput {
  static func candidate(generation: Int, _ candidate: String, mid: MID, index: Int) -> LiveKitInput {
    .gathered(
      generation: generation, TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: index))
  }

  static func noMedia(generation: Int, _ reason: String) -> LiveKitInput? {
    .offerFailed(generation: generation, reason)
  }

  static func mute(_ track: LocalTrackID, _ isMuted: Bool) -> LiveKitInput? { .publishing(.mute(track, isMuted)) }

  static func wish(_ wish: RoomWish) -> LiveKitInput? {
    switch wish {
    case .subscribe(let track): .subscribe(track)
    case .receive(let wishes): .receive(wishes)
    case .view(let tracks): .view(tracks)
    case .roomBegan: .roomBegan
    }
  }
}
