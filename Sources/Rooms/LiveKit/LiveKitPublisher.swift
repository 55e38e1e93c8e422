import Logging
import MediaCore
import PeerConnection
import Platform
import Session
import Signaling
import Transport

// Sendable: the references are constants; everything mutable is touched on `loop` only.
/// A participant that only publishes: joins a LiveKit room, publishes tracks, mutes them and leaves. For the demo's
/// people and for tests. Public methods may be called on any thread, callbacks come on the loop's thread.
public final class LiveKitPublisher: @unchecked Sendable {
  /// One published track.
  public struct Publication: Sendable {
    /// The room's name of it.
    public var id: TrackID
    /// Where its media goes; to be used on the loop's thread only.
    public var sender: RTPSender
  }

  /// What a track says about itself when it is published.
  public struct TrackDescription: Sendable {
    /// The publisher's own name of it, unique among its tracks.
    public var name: String
    /// Camera, microphone, screen…
    public var source: TrackSource
    /// Columns of the pictures; zero for sound.
    public var width: Int
    /// Rows of the pictures; zero for sound.
    public var height: Int

    /// Makes a description; see the properties.
    public init(name: String, source: TrackSource, width: Int = 0, height: Int = 0) {
      self.name = name
      self.source = source
      self.width = width
      self.height = height
    }

    fileprivate var isAudio: Bool { source == .microphone || source == .screenShareAudio }
  }

  private enum Work {
    case publish(TrackDescription, @Sendable (Publication?) -> Void)
    case unpublish(TrackID)
  }

  private let url: String
  private let token: Redacted<String>
  private let loop: MediaLoop
  private let logger: Logger
  private let patience: Duration
  private let onKeyframeRequest: @Sendable (TrackID) -> Void

  // On the loop from here on.
  private var socket: SignalSocket?
  private var media: RTCPeerConnection?
  private var pingTimer: LoopTimer?
  /// Runs while the server owes an answer.
  private var deadline: LoopTimer?
  private var onJoin: (@Sendable (RoomError?) -> Void)?
  private var publications: [TrackID: RTPSender] = [:]
  private var waiting: [Work] = []
  private var current: (track: TrackDescription, done: @Sendable (Publication?) -> Void)?
  private var published: Publication?
  private var isNegotiating = false
  private var isClosed = false

  /// Makes a participant that does nothing yet. `patience`: how long an answer of the server is waited for.
  /// `onKeyframeRequest` is called when somebody needs a keyframe.
  public init(
    url: String, token: String, loop: MediaLoop, logger: Logger, patience: Duration = .seconds(10),
    onKeyframeRequest: @escaping @Sendable (TrackID) -> Void = { _ in }
  ) {
    self.url = url
    self.token = Redacted(token)
    self.loop = loop
    self.logger = logger
    self.patience = patience
    self.onKeyframeRequest = onKeyframeRequest
  }

  /// Joins; returns when the server has taken the participant in.
  public func join() async throws(RoomError) {
    let error = await withCheckedContinuation { continuation in
      loop.post { [self] in connect { continuation.resume(returning: $0) } }
    }
    if let error { throw error }
  }

  /// Publishes a track; returns when it is negotiated. Throws `.connectionLost` when the connection ends before.
  public func publish(_ track: TrackDescription) async throws(RoomError) -> Publication {
    let publication = await withCheckedContinuation { (continuation: CheckedContinuation<Publication?, Never>) in
      loop.post { [self] in
        if isClosed { return continuation.resume(returning: nil) }
        waiting.append(.publish(track) { continuation.resume(returning: $0) })
        next()
      }
    }
    guard let publication else { throw RoomError(.connectionLost, "the track \(track.name) was not published") }
    return publication
  }

  /// Withdraws a track.
  public func unpublish(_ track: TrackID) {
    loop.post { [self] in
      waiting.append(.unpublish(track))
      next()
    }
  }

  /// Tells the room that a track is disabled or enabled. Sending is the caller's to stop.
  public func setMuted(_ track: TrackID, _ isMuted: Bool) {
    loop.post { [self] in
      send(.mute(.with { ($0.sid, $0.muted) = (track.rawValue, isMuted) }))
    }
  }

  /// Leaves the room and closes everything.
  public func leave() {
    loop.post { [self] in
      send(.leave(.with { ($0.reason, $0.action) = (.clientInitiated, .disconnect) }))
      close()
    }
  }

  // MARK: On the loop

  private func connect(_ completion: @escaping @Sendable (RoomError?) -> Void) {
    onJoin = completion
    awaitAnswer(to: "the join")
    do {
      var query = SignalQuery()
      query.protocolVersion = 16
      query.autoSubscribe = false
      let request = SignalSocket.Request(
        url: try SignalURL(url), query: query, token: token.wrappedValue, tlsCAFile: nil, connectTimeout: patience)
      socket = SignalSocket(request) { [self] event in
        loop.post { [self] in heard(event) }
      }
    } catch {
      joined(RoomError(.invalidURL, "\(error)"))
    }
  }

  private func joined(_ error: RoomError?) {
    guard let onJoin else { return }
    self.onJoin = nil
    deadline?.cancel()
    onJoin(error)
  }

  /// Ends everything when the server says nothing in time.
  private func awaitAnswer(to what: String) {
    deadline?.cancel()
    deadline = loop.timer(after: patience) { [weak self] in
      guard let self else { return }
      if onJoin == nil { logger.error("the room server does not answer \(what)") }
      joined(RoomError(.timeout, "no answer to \(what)"))
      close()
    }
  }

  private func heard(_ event: SignalSocket.Event) {
    switch event {
    case .reached, .opened, .malformed: break
    case .message(let message): take(message)
    case .readComplete: socket?.readMore()
    case .failed(let error): joined(error)
    case .closed(let text):
      joined(RoomError(.connectionLost, text))
      close()
    }
  }

  private func take(_ response: Livekit_SignalResponse) {
    switch response.message {
    case .join(let join):
      openMedia()
      let interval = Duration.seconds(max(1, join.pingInterval))
      pingTimer = loop.timer(after: interval, repeats: true) { [weak self] in
        self?.send(.pingReq(.with { $0.timestamp = MonotonicClock.now.nanoseconds / 1_000_000 }))
      }
      joined(nil)
      next()
    case .trackPublished(let message): negotiate(message)
    case .answer(let description): apply(description.sdp)
    case .trickle(let trickle) where trickle.target == .publisher:
      if let candidate = TrickleCandidate(json: trickle.candidateInit) {
        media?.addRemoteCandidate(candidate.candidate)
      }
    case .leave: close()
    default: break
    }
  }

  private func openMedia() {
    do {
      let connection = try RTCPeerConnection(loop: loop, configuration: RTCPeerConnection.Configuration())
      connection.delegate = self
      media = connection
    } catch {
      logger.error("no peer connection for a publisher", metadata: ["reason": "\(error)"])
    }
  }

  /// Begins the next piece of work: one negotiation at a time.
  private func next() {
    guard !isNegotiating, current == nil, media != nil, !waiting.isEmpty else { return }
    switch waiting.removeFirst() {
    case .publish(let track, let done):
      current = (track, done)
      awaitAnswer(to: "the track \(track.name)")
      send(
        .addTrack(
          .with {
            $0.cid = track.name
            $0.name = track.name
            $0.type = track.isAudio ? .audio : .video
            $0.source = track.source.wire
            $0.width = UInt32(clamping: track.width)
            $0.height = UInt32(clamping: track.height)
            $0.disableRed = true
          }))
    case .unpublish(let id):
      guard let sender = publications.removeValue(forKey: id) else { return next() }
      media?.removeSender(sender)
      offer()
    }
  }

  private func negotiate(_ message: Livekit_TrackPublishedResponse) {
    guard let current, message.cid == current.track.name, let media else { return }
    let isAudio = current.track.isAudio
    let sender = media.addSender(
      kind: isAudio ? .audio : .video, codec: isAudio ? .opus : .vp8, streamID: "recbot",
      trackID: current.track.name)
    let id = TrackID(message.track.sid)
    publications[id] = sender
    published = Publication(id: id, sender: sender)
    offer()
  }

  private func offer() {
    guard let media else { return }
    do {
      let sdp = try media.createOffer()
      isNegotiating = true
      awaitAnswer(to: "an offer")
      send(.offer(.with { ($0.type, $0.sdp) = ("offer", sdp) }))
    } catch {
      logger.error("no offer could be made", metadata: ["reason": "\(error)"])
    }
  }

  private func apply(_ sdp: String) {
    do {
      try media?.setRemoteAnswer(sdp)
    } catch {
      logger.error("the room server's answer cannot be used", metadata: ["reason": "\(error)"])
    }
    isNegotiating = false
    deadline?.cancel()
    if let published { current?.done(published) }
    (current, published) = (nil, nil)
    next()
  }

  private func send(_ message: Livekit_SignalRequest.OneOf_Message) {
    socket?.send(.with { $0.message = message })
  }

  private func close() {
    isClosed = true
    joined(RoomError(.connectionLost, "the connection ended before the join"))
    // Nobody waits for ever for a track that cannot come any more.
    current?.done(nil)
    for case .publish(_, let done) in waiting { done(nil) }
    (current, published, waiting) = (nil, nil, [])
    pingTimer?.cancel()
    deadline?.cancel()
    (pingTimer, deadline) = (nil, nil)
    media?.delegate = nil
    media?.close()
    media = nil
    socket?.close()
    socket = nil
  }
}

extension LiveKitPublisher: PeerConnectionDelegate {
  /// Sends a local candidate to the server.
  public func peerConnection(_ pc: RTCPeerConnection, didGather candidate: String, mid: MID, mLineIndex: Int) {
    let json = TrickleCandidate(candidate: candidate, sdpMid: mid.rawValue, sdpMLineIndex: mLineIndex).json
    send(.trickle(.with { ($0.candidateInit, $0.target) = (json, .publisher) }))
  }

  /// Notes the state of the connection.
  public func peerConnection(_ pc: RTCPeerConnection, stateChanged state: TransportState) {
    logger.debug("media transport of a publisher", metadata: ["state": "\(state)"])
  }

  /// Passes the wish for a keyframe on.
  public func peerConnection(_ pc: RTCPeerConnection, senderWantsKeyframe sender: RTPSender, rid: RID?) {
    for (id, own) in publications where own === sender { onKeyframeRequest(id) }
  }
}

extension TrackSource {
  /// The wire's name for it.
  fileprivate var wire: Livekit_TrackSource {
    switch self {
    case .unknown: .unknown
    case .camera: .camera
    case .microphone: .microphone
    case .screenShare: .screenShare
    case .screenShareAudio: .screenShareAudio
    }
  }
}
