import Logging
import MediaCore
import Session
import Signaling
import Transport

/// All decisions of a LiveKit subscriber in the classic mode (the server offers, we answer), without input and
/// output: what happened goes in, what to do comes out. Times are moments of one monotonic clock.
///
/// It is put together from machines that keep their own state, gives each its part of what happened, and puts what they
/// want in order. Two connections live side by side, and either can be lost while the other lives on.
///
/// | machine | decides |
/// | --- | --- |
/// | `ReconnectPolicy` | when to join, to resume, to wait, to give up |
/// | `SignalLink` | the WebSocket: attempts, first message, pings, farewell |
/// | `MediaLink` | the peer connection: generations, offer and answer, signs of life |
/// | `LiveKitRoom` | who and what is there, what is asked for, and what the recording was told of it |
/// | `Publishing` | the second peer connection, for what the bot publishes itself: tracks, offers |
/// | `OutageWatch` | whether what is shown is still true |
/// | `RoomPoll` | whether a room that is waited for has begun |
///
/// Large: joining, losing and coming back each touch all of them, and in which order is what is decided here.
struct LiveKitSession: Sendable {
  typealias Input = LiveKitInput
  typealias Action = RoomAction<LiveKitRequest>
  typealias Settings = LiveKitSettings

  /// Whether the bot is in the room: outside → (held →) inside, and never back.
  private enum Presence: Equatable {
    case outside
    /// In the room of this name, but nothing may be received yet.
    case held(room: String)
    case inside
  }

  /// When coming back: the time for media. Every fourth attempt gets the long time of the first join, for slow
  /// networks; the short one makes sure that checks never pause for long.
  static let returnMediaTime = Duration.seconds(4)

  var policy: ReconnectPolicy
  var signal: SignalLink
  var media = MediaLink()
  var room: LiveKitRoom
  var outage = OutageWatch()
  var publishing: Publishing
  private var poll: RoomPoll
  private var presence = Presence.outside
  private var status = StatusReport()
  var actions: [Action] = []
  let settings: Settings

  /// Makes a session that waits for `connect`.
  init(settings: Settings, policy: ReconnectPolicy) {
    self.settings = settings
    self.policy = policy
    self.policy.canRenewToken = settings.tokens.canRenew
    signal = SignalLink(settings: settings)
    room = LiveKitRoom(settings: settings)
    publishing = Publishing(isEncrypted: settings.keys != nil)
    poll = RoomPoll(settings: settings)
  }

  /// What is known of the media connection's traffic; to be set before each input.
  var traffic: MediaTraffic {
    get { media.traffic }
    set { media.traffic = newValue }
  }

  /// Whether the bot has been in the room.
  var hasJoined: Bool { presence == .inside }

  /// When `timer` must be handled; nil for never.
  var nextDeadline: Instant? {
    guard signal.isLive else { return signal.nextDeadline }
    return [
      signal.nextDeadline, media.nextDeadline, outage.nextDeadline, policy.nextDeadline, poll.nextDeadline,
      publishing.nextDeadline,
    ].compactMap { $0 }.min()
  }

  /// Takes an input and returns what is to be done, in order.
  mutating func handle(_ input: Input, at now: Instant) -> [Action] {
    actions.removeAll(keepingCapacity: true)
    guard signal.isLive else {
      switch input {
      case .left,
        .timer where signal.hasLeft(at: now):
        if signal.phase != .ended { finish(.stopped, nil) }
      default: break
      }
      return actions
    }
    policy.mediaHeardAt = media.traffic.newestAt
    dispatch(input, at: now)
    if let text = publishing.takeFailure(), signal.isOpen {
      lost(.init(kind: .mediaLost, text: text, canResume: false, reason: .rrPublisherFailed), at: now)
    }
    if signal.phase != .ended {
      let isMissing = policy.error?.kind == .roomNotFound
      perform(poll.update(isWaiting: policy.state == .waitingForRoom, isMissing: isMissing, at: now))
    }
    look(at: now)
    tellStatus(at: now)
    return actions
  }

  private mutating func dispatch(_ input: Input, at now: Instant) {
    switch input {
    case .connect: if signal.phase == .idle { follow(.start, at: now) }
    case .unusable(let error): if signal.phase == .idle { finish(.connectionLost(error.summary), error) }
    case .reached(let number): if number == signal.attempt { signal.reached(isReturn: hasJoined, at: now) }
    case .message(let number, let message): if number == signal.attempt { receive(message, at: now) }
    case .socketFailed(let number, let error):
      if number == signal.attempt, signal.attempted != nil { attemptFailed(error, at: now) }
    case .socketClosed(let number, let text): if number == signal.attempt { socketClosed(text, at: now) }
    case .transport(let number, let state):
      if number == media.generation {
        transportChanged(media.changed(state, isSignalOpen: signal.isOpen, at: now), at: now)
      }
    case .gathered(let number, let candidate): if number == media.generation { send(candidate) }
    case .answered(let number, let offer, let sdp, let sections):
      guard number == media.generation else { return }
      let answer = media.answered(offer, sdp)
      if signal.isOpen { send { $0.answer = answer } }
      actions += room.bind(sections, trackOfMID: media.offer?.midToTrackID ?? [:], tells: isTelling)
    case .offerFailed(let number, let text):
      if number == media.generation { mediaFailed("the server's offer could not be used: \(text)", at: now) }
    case .subscribe(let track): if signal.isOpen { actions += room.subscribe(track, at: now) }
    case .receive(let wishes): for wish in wishes { actions += room.receive(wish, isOpen: signal.isOpen) }
    case .view(let tracks): actions += room.view(tracks, isOpen: signal.isOpen, at: now)
    case .data(let number, let bytes, let isReliable):
      if number == media.generation, hasJoined { actions += room.receive(bytes, isReliable: isReliable, at: now) }
    case .unreadable(let track, let reason): actions += room.setUnreadable(track, reason, tells: isTelling)
    case .decrypted(let number, let content, let sender):
      if number == media.generation { actions += room.decrypted(content, from: sender, at: now) }
    case .network(let number, var report):
      guard number == media.generation, media.isFlowing, isTelling else { return }
      report.quality = room.quality
      add(.emit(.network(report)))
    case .networkChanged: networkChanged(at: now)
    case .roomListed(let isThere):
      poll.answered(isThere)
      if isThere == true { follow(.roomSeen, at: now) }
    case .roomBegan: follow(.roomSeen, at: now)
    case .publishing(let input): actions += published(input, at: now)
    case .leave: leave(at: now)
    case .left: break
    case .timer: timer(at: now)
    }
  }

  private mutating func timer(at now: Instant) {
    if signal.isOverdue(at: now) {
      perform(.closeSocket)
      attemptFailed(RoomError(.timeout), at: now)
    }
    if signal.isServerSilent(at: now) {
      lost(.init(kind: .serverSilent, reason: .rrSignalDisconnected), at: now)
    }
    if media.isRecoveryOver(at: now) {
      media.stopRecovering()
      if signal.isOpen {
        let canResume = !media.traffic.isBeyondRestart
        lost(.init(kind: .mediaLost, text: outage.text, canResume: canResume, reason: .rrSubscriberFailed), at: now)
      }
    }
    if media.isOverdue(at: now) { mediaFailed("nothing was connected in time", at: now) }
    actions += publishing.timer(at: now)
    if signal.isPingDue(at: now) { perform(.send(signal.ping(at: now))) }
    if let deadline = policy.nextDeadline, deadline <= now { follow(.timer, at: now) }
  }

  mutating func add(_ action: Action) { actions.append(action) }

  mutating func perform(_ request: LiveKitRequest?) {
    if let request { actions.append(.perform(request)) }
  }

  mutating func log(_ level: Logger.Level, _ text: String) { actions.append(.log(level, text)) }

  private mutating func send(_ build: (inout Livekit_SignalRequest) -> Void) { perform(.send(.with(build))) }
}

// MARK: - Connections

extension LiveKitSession {
  /// Asks the policy, and does what it says.
  mutating func follow(_ event: ReconnectPolicy.Event, at now: Instant) {
    follow(policy.handle(event, at: now), at: now)
  }

  private mutating func follow(_ decision: ReconnectPolicy.Decision, at now: Instant) {
    switch decision {
    case .none: break
    case .attempt(let attempt): begin(attempt, at: now)
    case .finish(let error):
      tellStatus(at: now)
      finish(error.end(policy.action), policy.action == .complete ? nil : error)
    }
  }

  private mutating func begin(_ kind: ReconnectPolicy.Attempt, at now: Instant) {
    if signal.isInUse { closeSignal() }
    // A new session has new media; the old one may carry on until then.
    if kind != .resume { media.stopExpecting() }
    do {
      let (query, token) = try signal.connect(
        kind, isReturn: hasJoined, autoSubscribe: room.subscriptions.isAutomatic, at: now)
      perform(.openSocket(attempt: signal.attempt, query, token: token))
    } catch {
      follow(.failed(error), at: now)
    }
  }

  /// Gives up signalling; media may live on.
  private mutating func closeSignal() {
    perform(.closeSocket)
    signal.close()
    actions += publishing.lost()
    media.stopExpecting()
    media.stopRecovering()
  }

  private mutating func attemptFailed(_ error: RoomError, at now: Instant) {
    signal.failed()
    // Who waits for a room hears the same each second.
    log(policy.error == error ? .debug : .notice, "could not join: \(error.summary)")
    follow(.failed(error), at: now)
  }

  private mutating func socketClosed(_ text: String, at now: Instant) {
    if signal.attempted != nil {
      attemptFailed(RoomError(.protocolError, "closed before the first message: \(text)"), at: now)
    } else if signal.isOpen {
      lost(.init(kind: .signalLost, text: text, reason: .rrSignalDisconnected), at: now)
    }
  }

  /// Either connection is lost: gives up signalling (media may live on) and comes back.
  mutating func lost(_ loss: OutageWatch.Loss, at now: Instant) {
    let error = RoomError(loss.kind, loss.text)
    log(.notice, error.summary)
    closeSignal()
    outage.explain(error.summary)
    signal.note(loss.reason)
    follow(.lost(error, canResume: loss.canResume), at: now)
  }

  mutating func transportChanged(_ change: MediaLink.Change, at now: Instant) {
    switch change {
    case .none: break
    case .connected: if signal.isOpen { follow(.connected, at: now) }
    case .interrupted(let text):
      outage.explain(text)
      tellLoss(at: now)
    case .closing(let text): outage.explain(text)
    case .failed(let text): mediaFailed(text, at: now)
    }
  }

  /// Media did not come about after a join or a resume. The policy knows what may help.
  private mutating func mediaFailed(_ text: String, at now: Instant) {
    if signal.isOpen { closeSignal() }
    media.stopExpecting()
    outage.explain(text)
    signal.note(.rrSubscriberFailed)
    log(.notice, "no media connection: \(text)")
    tellLoss(at: now)
    follow(.mediaFailed(RoomError(.mediaFailed, text)), at: now)
  }

  /// Media is needed from now on: it is there, or has so long to be connected.
  private mutating func needMedia(within time: Duration, at now: Instant) {
    if media.isFlowing { follow(.connected, at: now) } else { media.expect(within: time, at: now) }
  }

  /// How long media may take to be connected by the present attempt.
  private var mediaTime: Duration {
    guard hasJoined, policy.isLost, policy.attempts % 4 != 0 else { return settings.mediaTimeout }
    return min(settings.mediaTimeout, Self.returnMediaTime * (policy.state == .relaying ? 2 : 1))
  }

  // MARK: Joining

  private mutating func receiveFirst(
    _ message: Livekit_SignalResponse, _ kind: ReconnectPolicy.Attempt, at now: Instant
  ) {
    signal.answered()
    switch message.message {
    case .join(let join): joined(join, kind, at: now)
    case .reconnect(let response) where kind == .resume: resumed(response, at: now)
    case .leave(let leave): sentAway(leave, kind, at: now)
    default: misunderstood("the first message is not a join response", at: now)
    }
  }

  private mutating func misunderstood(_ text: String, at now: Instant) {
    perform(.closeSocket)
    attemptFailed(RoomError(.protocolError, text), at: now)
  }

  private mutating func joined(_ join: Livekit_JoinResponse, _ kind: ReconnectPolicy.Attempt, at now: Instant) {
    guard join.hasParticipant, !join.participant.sid.isEmpty, join.hasRoom else {
      return misunderstood("the join response has no participant or no room", at: now)
    }
    signal.joined(as: join.participant.sid, pingInterval: join.pingInterval, pingTimeout: join.pingTimeout)
    if let crowd = room.join(join) {
      log(.notice, crowd)
      return begin(kind, at: now)
    }
    if settings.keys != nil { perform(.beginEncryption(join.participant.identity, trailer: Array(join.sifTrailer))) }
    if outage.text.isEmpty { outage.explain("joined anew") }
    tellLoss(at: now)
    signal.open(at: now)
    actions += room.begin()
    let servers = iceServers(join.iceServers)
    let isHeld =
      settings.receivesMedia && !hasJoined && join.participant.hasPermission
      && !join.participant.permission.canSubscribe
    let decision = policy.handle(isHeld ? .held : .joined, at: now)
    guard policy.state != .ended else { return follow(decision, at: now) }
    let relayOnly = kind.isRelayOnly || join.clientConfiguration.forceRelay == .enabled
    openMedia(servers, relayOnly: relayOnly, at: now)
    beginPublishing(
      MediaRequest(iceServers: servers, relayOnly: relayOnly), isPrimary: !join.subscriberPrimary, at: now)
    let version = RoomError.oneLine(join.serverInfo.version)
    log(.info, "joined \(RoomError.oneLine(join.room.name)) as \(signal.participantSID), server \(version)")
    guard signal.isOpen else { return }
    guard isHeld else { return enter(join.room.name) }
    presence = .held(room: join.room.name)
    media.stopExpecting()
    log(.notice, "in the room; waiting to be let in")
  }

  /// What TURN and STUN servers there are.
  private mutating func iceServers(_ named: [Livekit_ICEServer]) -> [ICEServer] {
    let servers =
      named.map { ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential) } + settings.iceServers
    policy.hasRelays = servers.contains { $0.urls.contains { $0.hasPrefix("turn") } }
    return servers
  }

  private mutating func openMedia(_ servers: [ICEServer], relayOnly: Bool, at now: Instant) {
    if media.generation > 0 { add(.closeMedia) }
    media.open(within: mediaTime, at: now)
    add(.openMedia(generation: media.generation, MediaRequest(iceServers: servers, relayOnly: relayOnly)))
    if relayOnly && !policy.hasRelays {
      mediaFailed("only relays may be used, and no TURN server is known", at: now)
    }
  }

  /// The bot is in the room and may receive: the recording begins.
  private mutating func enter(_ name: String) {
    guard !hasJoined else { return }
    presence = .inside
    add(.emit(.joined(room: name)))
    actions += room.tell(isTelling)
    add(.emit(.synchronized))
    // Last: whoever waits for it finds the room's people told.
    add(.joined)
  }

  /// The server changed what the bot may do.
  private mutating func permissionChanged(_ permission: Livekit_ParticipantPermission, at now: Instant) {
    guard case .held(let name) = presence else {
      if !permission.canSubscribe { log(.notice, "the bot may not receive anything any more") }
      return
    }
    guard permission.canSubscribe else { return }
    log(.notice, "let into the room")
    _ = policy.handle(.admitted, at: now)
    enter(name)
    needMedia(within: settings.mediaTimeout, at: now)
  }

  private mutating func resumed(_ response: Livekit_ReconnectResponse, at now: Instant) {
    signal.open(at: now)
    _ = policy.handle(.joined, at: now)
    // Credentials of TURN servers are short-lived; the restart of ICE that follows uses the new ones.
    if !response.iceServers.isEmpty || response.hasClientConfiguration {
      let relayOnly = response.clientConfiguration.forceRelay == .enabled
      add(.updateMedia(iceServers(response.iceServers), relayOnly: relayOnly))
    }
    perform(.send(room.syncState(media, published: publishing.published)))
    actions += room.repeatWishes()
    for candidate in media.takeCandidates() { send(candidate) }
    actions += publishing.resumed(at: now)
    log(.info, "the session goes on")
    needMedia(within: mediaTime, at: now)
  }

  /// The server answered an attempt with `leave`.
  private mutating func sentAway(_ leave: Livekit_LeaveRequest, _ kind: ReconnectPolicy.Attempt, at now: Instant) {
    perform(.closeSocket)
    signal.refused()
    let error = leave.error
    if leave.effectiveAction == .disconnect, leave.isFinal {
      let isOver = hasJoined || error.action(hasJoined: false) == .fail
      follow(isOver ? .over(error) : .failed(error), at: now)
    } else if kind == .resume {
      log(.notice, "the server does not take the session up again: \(leave.reason.text)")
      follow(.refused(error), at: now)
    } else {
      attemptFailed(error, at: now)
    }
  }

  // MARK: Ends

  /// `leave` in the middle of a session.
  private mutating func receiveLeave(_ leave: Livekit_LeaveRequest, at now: Instant) {
    let error = leave.error
    if leave.reason == .clientInitiated {
      finish(.stopped, nil)
    } else if leave.effectiveAction == .disconnect, leave.isFinal {
      log(.notice, error.summary)
      closeSignal()
      follow(.over(error), at: now)
    } else {
      let canResume = leave.effectiveAction == .resume
      lost(.init(kind: error.kind, text: error.detail, canResume: canResume, reason: .rrUnknown), at: now)
    }
  }

  /// We go: tells the server, so that it doesn't keep the participant for the time of a resume.
  private mutating func leave(at now: Instant) {
    guard signal.isOpen else { return finish(.stopped, nil) }
    send { $0.leave = .with { ($0.reason, $0.action) = (.clientInitiated, .disconnect) } }
    signal.leave(at: now)
    perform(.closeSocketGently)
  }

  private mutating func finish(_ end: SessionEnd, _ error: RoomError?) {
    signal.end()
    actions += publishing.end()
    perform(poll.end())
    perform(.closeSocket)
    add(.finished(end, error))
  }

  // MARK: Messages

  private mutating func receive(_ message: Livekit_SignalResponse, at now: Instant) {
    if let kind = signal.attempted { return receiveFirst(message, kind, at: now) }
    guard signal.isOpen else { return }
    signal.heard(at: now)
    if let message = message.message, let answer = publishing.receive(message, at: now) {
      actions += answer
      return
    }
    switch message.message {
    case .offer(let offer):
      media.take(offer)
      perform(.applyOffer(generation: media.generation, id: offer.id, sdp: offer.sdp))
    case .trickle(let trickle) where trickle.target == .subscriber: receive(trickle)
    case .update(let update):
      for info in update.participants {
        room.apply(info)
        if info.sid == signal.participantSID, info.hasPermission { permissionChanged(info.permission, at: now) }
      }
      actions += room.update(tells: isTelling)
    case .refreshToken(let token): signal.refresh(token)
    case .pongResp(let pong): signal.ponged(pong.lastPingTimestamp, at: now)
    case .leave(let leave): receiveLeave(leave, at: now)
    case .roomMoved(let moved): receive(moved)
    case .requestResponse(let response):
      if response.reason != .ok { log(.info, "the server refused a request: \(RoomError.oneLine(response.message))") }
    case .join, .reconnect: log(.notice, "a second join response is ignored")
    case let message?: actions += room.receive(message, own: signal.participantSID, tells: isTelling, at: now)
    case nil: break
    }
  }

  private mutating func receive(_ trickle: Livekit_TrickleRequest) {
    guard let candidate = TrickleCandidate(json: trickle.candidateInit) else {
      return log(.notice, "a candidate of the server is malformed and ignored")
    }
    if !candidate.candidate.isEmpty { add(.addCandidate(candidate.candidate)) }
  }

  private mutating func receive(_ moved: Livekit_RoomMovedResponse) {
    log(.notice, "moved to room \(RoomError.oneLine(moved.room.name))")
    signal.refresh(moved.token)
    guard moved.hasParticipant, !moved.participant.sid.isEmpty else { return }
    signal.moved(to: moved.participant.sid)
    actions += room.move(moved, tells: isTelling)
  }

  private mutating func send(_ candidate: TrickleCandidate) {
    guard signal.isOpen else { return media.keep(candidate) }
    send { $0.trickle = .with { ($0.candidateInit, $0.target) = (candidate.json, .subscriber) } }
  }

  /// Tells where the connection stands, when that is news.
  private mutating func tellStatus(at now: Instant) {
    if let status = status.news(of: policy, in: room, at: now) { add(.status(status)) }
  }
}
