import FrameEncryption
import Glibc
import Logging
import MediaCore
import PeerConnection
import Session
import Signaling
import Transport

// Sendable: the two references that change hands are constants; everything mutable is touched on `loop` only.
/// A recording's connection to one LiveKit room: joins as a subscriber, receives every track, and puts room events
/// and encoded frames into a sink. It comes back by itself when the connection is lost.
///
/// The decisions are `LiveKitSession`'s; this class carries them out with a WebSocket and a peer connection.
/// Public methods may be called on any thread.
public final class LiveKitRoomClient: RoomClient, @unchecked Sendable {
  private let options: RoomOptions
  let loop: MediaLoop
  private let sink: any SessionSink
  let logger: Logger
  private let onStatus: @Sendable (RoomStatus) -> Void
  private let onEnd: @Sendable (SessionEnd, RoomError?) -> Void

  // On the loop from here on.
  private(set) var session: LiveKitSession
  private var url: SignalURL?
  private var socket: SignalSocket?
  private var isHandling = false
  private var waitingInputs: [LiveKitSession.Input] = []
  private var timer: LoopTimer?
  private var timerAt: Int64?
  private var onConnect: (@Sendable (RoomError?) -> Void)?
  private(set) var media: PeerConnection?
  private(set) var generation = 0
  var routes: [MID: Route] = [:]
  private var malformedMessages = 0
  /// Time that the server's messages have taken since it was last let go on, ns.
  private var spent: Int64 = 0
  var reception: LoopTimer?
  private var addresses: ServerAddresses?
  private var network: NetworkWatcher?
  private var lookout: RoomLookout?
  var decryption: FrameDecryption?

  /// Where the frames of an m-line belong.
  struct Route {
    var track: TrackID
    var filter = BlankFrameFilter()
    /// Of what comes encrypted.
    var readability = Readability()
    /// True when what came last could not be decrypted.
    var hasMissed = false
  }

  /// Makes a client that does nothing yet. Events and frames go to `sink` on the loop's thread. `onStatus` is called
  /// there when the connection stands otherwise than before, or an error came up; `onEnd` exactly once when the session
  /// is over, with the reason and, when it is a fault, the error.
  public init(
    options: RoomOptions, loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) {
    self.options = options
    self.loop = loop
    self.sink = sink
    self.logger = logger
    self.onStatus = onStatus
    self.onEnd = onEnd
    let settings = LiveKitSession.Settings(
      tokens: options.tokens, connectTimeout: options.connectTimeout,
      mediaTimeout: options.mediaTimeout, iceServers: options.iceServers,
      wallClockOffset: Self.wallClock() &- MediaLoop.now(), receivesMedia: options.receivesMedia,
      selection: options.selection, keys: options.keys)
    decryption = options.keys.map { FrameDecryption(keys: $0) }
    session = LiveKitSession(
      settings: settings, policy: ReconnectPolicy(settings: options.reconnect, seed: options.seed))
  }

  /// Begins to join. `completion` is called once on the loop's thread: with nil after `.joined` was put into the sink,
  /// with the error when the room could not be joined (nothing but `.ended` was put then). A second call, and one
  /// after `leave`, completes with an error.
  public func connect(_ completion: @escaping @Sendable (RoomError?) -> Void = { _ in }) {
    loop.post { [self] in
      guard onConnect == nil, session.signal.phase == .idle else {
        completion(RoomError(.leftAlready, "or joins already"))
        return
      }
      onConnect = completion
      do {
        let url = try SignalURL(options.url)
        self.url = url
        addresses = ServerAddresses(host: url.host, loop: loop)
      } catch {
        handle(.unusable(RoomError(.invalidURL, "\(error)")))
        return
      }
      deriveKeys()
      network = NetworkWatcher(loop: loop) { [weak self] in self?.handle(.networkChanged) }
      handle(.connect)
    }
  }

  /// Joins; returns when the bot is in the room. Cancelling the task leaves the room.
  public func join() async throws(RoomError) {
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        connect { continuation.resume(returning: $0) }
      }
    } onCancel: {
      leave()
    }
    if let error { throw error }
  }

  /// Asks the publisher of a video track for a keyframe.
  public func requestKeyframe(_ track: TrackID) {
    loop.post { [self] in
      guard let media else { return }
      for receiver in media.receivers
      where receiver.isActive && routes[receiver.mid]?.track == track {
        receiver.requestKeyframe()
      }
    }
  }

  /// Asks the server again to send a track.
  public func subscribe(_ track: TrackID) {
    loop.post { [self] in handle(.subscribe(track)) }
  }

  /// Says what is wanted of some video tracks; remembered across reconnects.
  public func receive(_ wishes: [ReceptionWish]) {
    loop.post { [self] in handle(.receive(wishes)) }
  }

  /// Says which video tracks are in view; remembered across reconnects.
  public func view(_ tracks: Set<TrackID>) {
    loop.post { [self] in handle(.view(tracks)) }
  }

  /// The room may have begun: when it is waited for, it is tried at once.
  public func roomMayHaveBegun() {
    loop.post { [self] in handle(.roomBegan) }
  }

  /// Leaves the room and closes everything; `.ended(.stopped)` follows. Leaving twice is no fault.
  public func leave() {
    loop.post { [self] in handle(.leave) }
  }

  // MARK: On the loop

  /// Gives an input to the session and does what it says. Inputs that come up while doing so wait their turn.
  func handle(_ input: LiveKitSession.Input) {
    waitingInputs.append(input)
    guard !isHandling else { return }
    isHandling = true
    while !waitingInputs.isEmpty {
      let next = waitingInputs.removeFirst()
      let now = MediaLoop.now()
      session.traffic = MediaTraffic(
        lastPacketAt: media?.lastPacketAt, heardAt: media?.heardAt(now: now),
        isBeyondRestart: media?.isBeyondRestart ?? false)
      for action in session.handle(next, at: now) { perform(action) }
    }
    isHandling = false
    setTimer()
  }

  private func perform(_ action: LiveKitSession.Action) {
    switch action {
    case .perform(let request): perform(request)
    case .openMedia(let number, let request): openMedia(number, request)
    case .updateMedia(let servers, let relayOnly):
      media?.setICEServers(servers)
      if relayOnly { media?.setRelayOnly(true) }
    case .addCandidate(let candidate): media?.addRemoteCandidate(candidate)
    case .closeMedia:
      closeMedia()
    case .probeMedia: media?.probe()
    case .requestKeyframes:
      for receiver in media?.receivers ?? [] where receiver.isActive && receiver.kind == .video {
        receiver.requestKeyframe()
      }
    case .bind(let tracks): bind(tracks)
    case .emit(let event): sink.put(.room(event))
    case .joined: complete(nil)
    case .status(let status): onStatus(status)
    case .finished(let end, let error):
      network?.stop()
      network = nil
      complete(error ?? RoomError(.connectionLost, "stopped before the join was complete"))
      onEnd(end, error)
    case .log(let level, let text): logger.log(level: level, "\(text)")
    }
  }

  private func perform(_ request: LiveKitRequest) {
    switch request {
    case .openSocket(let attempt, let query, let token): openSocket(attempt, query, token.wrappedValue)
    case .send(let request): socket?.send(request)
    case .closeSocket:
      socket?.close()
      socket = nil
    case .closeSocketGently:
      socket?.close { [self] in
        loop.post { [self] in handle(.left) }
      }
    case .lookForRoom(let room, let token): look(for: room, token)
    case .endLookout:
      lookout?.close()
      lookout = nil
    case .applyOffer(let number, let id, let sdp): apply(number, id, sdp)
    case .decrypt(let message): decrypt(message)
    case .setServerTrailer(let bytes): decryption?.serverTrailer = bytes
    }
  }

  private func complete(_ error: RoomError?) {
    let completion = onConnect
    onConnect = nil
    completion?(error)
  }

  private func openSocket(_ attempt: Int, _ query: SignalQuery, _ token: String) {
    guard let url else { return }
    let request = SignalSocket.Request(
      url: url, query: query, token: token, tlsCAFile: options.tlsCAFile,
      connectTimeout: options.connectTimeout, address: session.hasJoined ? addresses?.next() : nil)
    socket = SignalSocket(request) { [self] event in
      loop.post { [self] in heard(event, attempt) }
    }
  }

  private func look(for room: String, _ token: String) {
    guard let url else { return }
    let lookout = lookout ?? RoomLookout(url: url, tlsCAFile: options.tlsCAFile)
    self.lookout = lookout
    lookout.ask(for: room, token: token) { [self] isThere in
      loop.post { [self] in handle(.roomListed(isThere)) }
    }
  }

  private func heard(_ event: SignalSocket.Event, _ attempt: Int) {
    switch event {
    case .reached(let address):
      if let address { addresses?.reached(address) }
      handle(.reached(attempt: attempt))
    case .opened: logger.debug("the signal connection is open")
    case .message(let message):
      let start = MediaLoop.now()
      handle(.message(attempt: attempt, message))
      spent &+= MediaLoop.now() &- start
    case .malformed(let text):
      malformedMessages += 1
      logger.notice(
        "malformed message of the server dropped: \(text)",
        metadata: ["count": "\(malformedMessages)"])
    case .readComplete: readMore(of: attempt)
    case .failed(let error): handle(.socketFailed(attempt: attempt, error))
    case .closed(let text): handle(.socketClosed(attempt: attempt, RoomError.oneLine(text)))
    }
  }

  /// Lets the socket read on. A server that talks much waits as long as it took to listen to it, so that at least half
  /// of the loop's time is left for media; and until the recording has taken what it has, when that is much.
  private func readMore(of attempt: Int) {
    guard attempt == session.signal.attempt else { return }
    let pause = sink.isCrowded ? Self.crowdPause : spent < 1_000_000 ? 0 : spent
    spent = 0
    guard pause > 0 else {
      socket?.readMore()
      return
    }
    loop.timer(after: pause) { [weak self] in self?.readMore(of: attempt) }
  }

  private func openMedia(_ number: Int, _ request: MediaRequest) {
    generation = number
    var configuration = PeerConnection.Configuration()
    configuration.iceServers = request.iceServers
    configuration.transportPolicy = request.relayOnly ? .relay : .all
    configuration.localAddresses = options.localAddresses
    configuration.portRange = options.portRange
    configuration.tlsAuthorities = options.tlsCAFile
    // What can't be decoded, too: what one subscriber refuses a server takes away from all.
    configuration.codecs = CodecTable.rows.map(\.codec)
    configuration.bandwidthFeedback = options.bandwidthFeedback
    do {
      let connection = try PeerConnection(loop: loop, configuration: configuration)
      connection.delegate = self
      media = connection
      watchReception()
    } catch {
      handle(.offerFailed(generation: number, error.description))
    }
  }

  /// Closes the peer connection. We may be in one of its own calls to us: it is let go only after that.
  private func closeMedia() {
    guard let closing = media else { return }
    // What came belongs to the recording, also when it is the last that comes.
    closing.releaseFrames()
    closing.delegate = nil
    closing.close()
    (media, routes) = (nil, [:])
    reception?.cancel()
    reception = nil
    loop.timer(after: 0) { _ = closing }
  }

  private func apply(_ number: Int, _ id: UInt32, _ sdp: String) {
    guard number == generation, let media else { return }
    do {
      try media.setRemoteOffer(sdp)
      let answer = try media.createAnswer()
      let sections = media.receivers.map {
        MediaSection(
          mid: $0.mid, kind: $0.kind, streamID: $0.streamID, trackID: $0.trackID,
          isActive: $0.isActive)
      }
      handle(.answered(generation: number, offer: id, sdp: answer, sections: sections))
    } catch {
      handle(.offerFailed(generation: number, error.description))
    }
  }

  /// From now on frames belong to these tracks. A picture that came before its track was known was not passed on: asks
  /// for a keyframe, so that the track doesn't begin in the middle.
  private func bind(_ tracks: [MID: TrackID]) {
    let old = routes
    routes = tracks.reduce(into: [:]) { routes, pair in
      let known = old[pair.key]
      routes[pair.key] = known?.track == pair.value ? known : Route(track: pair.value)
    }
    for receiver in media?.receivers ?? [] where receiver.kind == .video && receiver.isActive {
      if let route = routes[receiver.mid], old[receiver.mid]?.track != route.track {
        receiver.requestKeyframe()
      }
    }
  }

  private func setTimer() {
    let wanted = session.nextDeadline
    guard wanted != timerAt else { return }
    timer?.cancel()
    (timer, timerAt) = (nil, wanted)
    guard let wanted else { return }
    timer = loop.timer(after: max(1_000_000, wanted &- MediaLoop.now()), repeats: false) {
      [weak self] in
      guard let self else { return }
      timerAt = nil
      handle(.timer)
    }
  }

  /// Passes one frame on, if it belongs to a track of the recording.
  func received(_ frame: EncodedFrame, in mid: MID) {
    guard let route = routes[mid], var frame = decrypted(frame, of: route.track, in: mid) else { return }
    frame.readContent()
    if frame.codec.kind == .video {
      let passes =
        routes[mid]?.filter.accepts(
          isKeyframe: frame.isKeyframe, width: frame.width, height: frame.height) ?? false
      guard passes else { return }
    }
    sink.put(.frame(frame, of: route.track))
  }

  /// How long the server waits before it is looked again whether the recording has taken what came.
  private static let crowdPause: Int64 = 20_000_000

  /// Nanoseconds since 1970.
  private static func wallClock() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
