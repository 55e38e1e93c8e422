import MediaCore
import Session
import Signaling
import Transport

/// Joining, losing, coming back, leaving.
extension LiveKitSession {
  /// The version of the signalling protocol that is spoken here.
  static let protocolVersion = 16

  /// Does what the policy says.
  mutating func follow(_ decision: ReconnectPolicy.Decision, at now: Int64) {
    switch decision {
    case .none: break
    case .attempt(let attempt): begin(attempt, at: now)
    case .finish(let error):
      tellStatus(at: now)
      finish(Self.end(for: error, policy.action), policy.action == .complete ? nil : error)
    }
  }

  private static func end(for error: RoomError, _ action: RoomError.Action) -> SessionEnd {
    if action == .complete { return .roomEnded }
    return switch error.kind {
    case .evicted: .evicted
    case .removed: .removed
    default: .connectionLost(error.summary)
    }
  }

  private mutating func begin(_ kind: ReconnectPolicy.Attempt, at now: Int64) {
    if phase != .idle && phase != .closed { closeSignal() }
    attempt += 1
    phase = .connecting(kind)
    connectDeadline = now &+ (hasJoined ? min(settings.connectTimeout, Self.reachTime) : settings.connectTimeout)
    // A new session has new media; the old one may carry on until then.
    if kind != .resume { mediaDeadline = nil }
    var query = SignalQuery()
    query.protocolVersion = Self.protocolVersion
    query.autoSubscribe = subscribesByItself
    if kind == .resume {
      query.reconnect = true
      query.participantSID = participantSID
      query.reconnectReason = reconnectReason
    }
    do {
      let token = try settings.tokens.token(
        now: (now &+ settings.wallClockOffset) / 1_000_000_000, refreshed: refreshedToken)
      add(.openSocket(attempt: attempt, query, token: Redacted(token)))
    } catch {
      phase = .closed
      follow(policy.handle(.failed(error), at: now), at: now)
    }
  }

  /// Gives up signalling; media may live on. What comes from it afterwards is of an older attempt.
  mutating func closeSignal() {
    add(.closeSocket)
    attempt += 1
    phase = .closed
    (connectDeadline, pingAt, silenceDeadline, mediaDeadline, disconnectedDeadline) = (nil, nil, nil, nil, nil)
  }

  mutating func attemptFailed(_ error: RoomError, at now: Int64) {
    connectDeadline = nil
    phase = .closed
    // Who waits for a room hears the same each second.
    log(policy.error == error ? .debug : .notice, "could not join: \(error.summary)")
    follow(policy.handle(.failed(error), at: now), at: now)
  }

  mutating func socketClosed(_ text: String, at now: Int64) {
    switch phase {
    case .connecting:
      attemptFailed(RoomError(.protocolError, "closed before the first message: \(text)"), at: now)
    case .open: lost(.signalLost, text, canResume: true, reason: .rrSignalDisconnected, at: now)
    case .idle, .closed, .leaving, .ended: break
    }
  }

  /// Either connection is lost: gives up signalling (media may live on) and comes back.
  mutating func lost(
    _ kind: RoomError.Kind, _ text: String, canResume: Bool, reason: Livekit_ReconnectReason, at now: Int64
  ) {
    let error = RoomError(kind, text)
    log(.notice, "\(error.summary)")
    closeSignal()
    lossText = error.summary
    reconnectReason = reason
    follow(policy.handle(.lost(error, canResume: canResume), at: now), at: now)
  }

  // MARK: First messages

  mutating func receiveFirst(
    _ message: Livekit_SignalResponse, _ kind: ReconnectPolicy.Attempt, at now: Int64
  ) {
    connectDeadline = nil
    switch message.message {
    case .join(let join): joined(join, kind, at: now)
    case .reconnect(let response) where kind == .resume: resumed(response, at: now)
    case .leave(let leave): sentAway(leave, kind, at: now)
    default:
      add(.closeSocket)
      attemptFailed(RoomError(.protocolError, "the first message is not a join response"), at: now)
    }
  }

  private mutating func joined(
    _ join: Livekit_JoinResponse, _ kind: ReconnectPolicy.Attempt, at now: Int64
  ) {
    guard join.hasParticipant, !join.participant.sid.isEmpty, join.hasRoom else {
      add(.closeSocket)
      attemptFailed(
        RoomError(.protocolError, "the join response has no participant or no room"), at: now)
      return
    }
    participantSID = join.participant.sid
    if !join.room.sid.isEmpty { roomSID = RoomError.oneLine(join.room.sid) }
    roster.reset(own: join.participant, others: join.otherParticipants)
    guard !needsAnotherJoin() else {
      begin(kind, at: now)
      return
    }
    isAlone = roster.isEmpty
    (bindings, paused, refused) = (TrackBindings(), [], [])
    if settings.keys != nil { add(.setServerTrailer(Array(join.sifTrailer))) }
    quality = .unknown
    (lastOffer, lastAnswer, waitingCandidates) = (nil, nil, [])
    lossText = lossText.isEmpty ? "joined anew" : lossText
    tellLoss(at: now)
    bound = [:]
    add(.bind(bound))
    // The server leaves both at 0 only by mistake.
    pingInterval = Self.seconds(join.pingInterval, default: 5)
    pingTimeout = max(Self.seconds(join.pingTimeout, default: 15), pingInterval &+ 1_000_000_000)
    opened(at: now)
    pictures = SubscriptionBudget(isAutomatic: subscribesByItself, inView: pictures.inView)
    sounds = SubscriptionBudget(isAutomatic: subscribesByItself)
    subscribeSelected()
    sendWishes()
    let servers = iceServers(join.iceServers)
    let isHeld = !hasJoined && join.participant.hasPermission && !join.participant.permission.canSubscribe
    let decision = policy.handle(isHeld ? .held : .joined, at: now)
    guard policy.state != .ended else {
      follow(decision, at: now)
      return
    }
    openMedia(servers, relayOnly: kind.isRelayOnly || join.clientConfiguration.forceRelay == .enabled, at: now)
    let version = RoomError.oneLine(join.serverInfo.version)
    log(
      .info, "joined \(RoomError.oneLine(join.room.name)) as \(participantSID), server \(version)")
    guard phase == .open else { return }
    if isHeld {
      heldRoom = join.room.name
      mediaDeadline = nil
      log(.notice, "in the room; waiting to be let in")
    } else {
      enter(join.room.name, at: now)
    }
  }

  /// What TURN and STUN servers there are.
  private mutating func iceServers(_ named: [Livekit_ICEServer]) -> [ICEServer] {
    let servers =
      named.map { ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential) } + settings.iceServers
    policy.hasRelays = servers.contains { $0.urls.contains { $0.hasPrefix("turn") } }
    return servers
  }

  private mutating func openMedia(_ servers: [ICEServer], relayOnly: Bool, at now: Int64) {
    if generation > 0 { add(.closeMedia) }
    generation += 1
    (isTransportUp, isPathDead) = (false, false)
    (lastPacketAt, mediaHeardAt, watch.probedAt) = (nil, nil, nil)
    watch.connectedAt = nil
    mediaDeadline = now &+ mediaTime
    add(.openMedia(generation: generation, servers, relayOnly: relayOnly))
    if relayOnly && !policy.hasRelays {
      mediaFailed("only relays may be used, and no TURN server is known", at: now)
    }
  }

  /// How long media may take to be connected by the present attempt.
  private var mediaTime: Int64 {
    guard hasJoined, policy.isLost, policy.attempts % 4 != 0 else { return settings.mediaTimeout }
    return min(settings.mediaTimeout, Self.returnMediaTime * (policy.state == .relaying ? 2 : 1))
  }

  /// The bot is in the room and may receive: the recording begins.
  private mutating func enter(_ room: String, at now: Int64) {
    guard !hasJoined else { return }
    hasJoined = true
    heldRoom = nil
    add(.emit(.joined(room: room)))
    tell()
    add(.emit(.synchronized))
    // Last: whoever waits for it finds the room's people told.
    add(.joined)
  }

  /// The server changed what the bot may do.
  mutating func permissionChanged(_ permission: Livekit_ParticipantPermission, at now: Int64) {
    guard let room = heldRoom else {
      if !permission.canSubscribe { log(.notice, "the bot may not receive anything any more") }
      return
    }
    guard permission.canSubscribe else { return }
    log(.notice, "let into the room")
    _ = policy.handle(.admitted, at: now)
    enter(room, at: now)
    if hasMedia {
      follow(policy.handle(.connected, at: now), at: now)
    } else {
      mediaDeadline = now &+ settings.mediaTimeout
    }
  }

  private mutating func resumed(_ response: Livekit_ReconnectResponse, at now: Int64) {
    opened(at: now)
    _ = policy.handle(.joined, at: now)
    // Credentials of TURN servers are short-lived; the restart of ICE that follows uses the new ones.
    if !response.iceServers.isEmpty || response.hasClientConfiguration {
      add(
        .updateMedia(
          iceServers(response.iceServers), relayOnly: response.clientConfiguration.forceRelay == .enabled))
    }
    let (answer, offer, data) = (lastAnswer, lastOffer, data)
    // Only what differs from what `auto_subscribe` does already is listed: wishes don't.
    let listed = subscribesByItself ? pictures.omitted.union(sounds.omitted) : receivedTracks
    let subscription = Livekit_UpdateSubscription.with {
      $0.subscribe = !subscribesByItself
      $0.trackSids = listed.map(\.rawValue).sorted()
    }
    let disabled = wishes.values.filter { $0.reception != .wanted }.map(\.track.rawValue).sorted()
    send {
      $0.syncState = .with { state in
        if let answer { state.answer = answer }
        if let offer { state.offer = offer }
        state.subscription = subscription
        state.trackSidsDisabled = disabled
        state.datachannelReceiveStates = data.receiveStates
      }
    }
    sendWishes()
    for candidate in waitingCandidates { sendCandidate(candidate) }
    waitingCandidates = []
    log(.info, "the session goes on")
    if hasMedia {
      follow(policy.handle(.connected, at: now), at: now)
    } else {
      mediaDeadline = now &+ mediaTime
    }
  }

  private mutating func opened(at now: Int64) {
    phase = .open
    pingAt = now &+ pingInterval
    watch.openedAt = now
    heard(at: now)
  }

  /// The server answered an attempt with `leave`.
  private mutating func sentAway(
    _ leave: Livekit_LeaveRequest, _ kind: ReconnectPolicy.Attempt, at now: Int64
  ) {
    add(.closeSocket)
    attempt += 1
    phase = .closed
    let error = leave.error
    if leave.effectiveAction == .disconnect, leave.isFinal {
      let isOver = hasJoined || error.action(hasJoined: false) == .fail
      follow(policy.handle(isOver ? .over(error) : .failed(error), at: now), at: now)
    } else if kind == .resume {
      log(.notice, "the server does not take the session up again: \(leave.reason.text)")
      follow(policy.handle(.refused(error), at: now), at: now)
    } else {
      attemptFailed(error, at: now)
    }
  }

  // MARK: Ends

  /// `leave` in the middle of a session.
  mutating func receiveLeave(_ leave: Livekit_LeaveRequest, at now: Int64) {
    let error = leave.error
    if leave.reason == .clientInitiated {
      finish(.stopped, nil)
    } else if leave.effectiveAction == .disconnect, leave.isFinal {
      log(.notice, "\(error.summary)")
      closeSignal()
      follow(policy.handle(.over(error), at: now), at: now)
    } else {
      lost(
        error.kind, error.detail, canResume: leave.effectiveAction == .resume, reason: .rrUnknown, at: now)
    }
  }

  /// We go: tells the server, so that it doesn't keep the participant for the time of a resume.
  mutating func leave(at now: Int64) {
    guard phase == .open else {
      finish(.stopped, nil)
      return
    }
    send {
      $0.leave = .with {
        $0.reason = .clientInitiated
        $0.action = .disconnect
      }
    }
    phase = .leaving(until: now &+ Self.leaveTime)
    add(.closeSocketGently)
  }

  static func seconds(_ value: Int32, default fallback: Int64) -> Int64 {
    let seconds = value > 0 ? min(Int64(value), 3600) : fallback
    return seconds &* 1_000_000_000
  }
}

extension Livekit_LeaveRequest {
  /// `action`, or for old servers what `can_reconnect` says.
  var effectiveAction: Livekit_LeaveRequest.Action {
    action == .disconnect && canReconnect ? .reconnect : action
  }

  /// Whether the session is over for good.
  var isFinal: Bool {
    switch reason {
    case .roomClosed, .roomDeleted, .duplicateIdentity, .participantRemoved: true
    default: false
    }
  }

  /// The row of the table that the reason belongs to.
  var error: RoomError {
    switch reason {
    case .roomClosed, .roomDeleted: RoomError(.roomEnded, reason.text)
    case .duplicateIdentity: RoomError(.evicted)
    case .participantRemoved: RoomError(.removed)
    case .serverShutdown, .migration: RoomError(.serverLeaves, reason.text)
    case .stateMismatch: RoomError(.sessionUnknown)
    case .connectionTimeout, .mediaFailure: RoomError(.mediaLost, reason.text)
    case .joinFailure: RoomError(.mediaFailed, reason.text)
    case .signalClose: RoomError(.signalLost, reason.text)
    default: RoomError(.serverLeaves, reason.text)
    }
  }
}

extension ReconnectPolicy.Attempt {
  /// Whether only relayed candidates are used.
  var isRelayOnly: Bool {
    switch self {
    case .resume: false
    case .join(let relayOnly): relayOnly
    }
  }
}

extension Livekit_DisconnectReason {
  /// The reason in words.
  var text: String {
    switch self {
    case .clientInitiated: "asked by the client"
    case .duplicateIdentity: "the same identity joined again"
    case .serverShutdown: "the server shuts down"
    case .participantRemoved: "removed from the room"
    case .roomDeleted: "the room was deleted"
    case .stateMismatch: "the server no longer knows the bot"
    case .joinFailure: "the join was not completed"
    case .migration: "the session moves to another server"
    case .signalClose: "the signal connection was closed"
    case .roomClosed: "the room was closed"
    case .connectionTimeout: "media was cut off for too long"
    case .mediaFailure: "media failed"
    case .unknownReason: "no reason given"
    default: "reason \(rawValue)"
    }
  }
}
