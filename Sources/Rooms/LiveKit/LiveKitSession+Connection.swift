import MediaCore
import Session
import Signaling
import Transport

/// Joining, losing, coming back, leaving.
extension LiveKitSession {
  /// The version of the signalling protocol that is spoken here.
  static let protocolVersion = 16

  mutating func begin(_ kind: Attempt, at now: Int64) {
    attempt += 1
    phase = .connecting(kind)
    connectDeadline = now &+ settings.connectTimeout
    var query = SignalQuery()
    query.protocolVersion = Self.protocolVersion
    query.autoSubscribe = settings.receivesMedia
    if kind == .resume {
      query.reconnect = true
      query.participantSID = participantSID
      query.reconnectReason = reconnectReason
    }
    do {
      let token = try settings.tokens.token(
        now: (now &+ settings.wallClockOffset) / 1_000_000_000, refreshed: refreshedToken)
      add(.openSocket(attempt: attempt, query, token: token))
    } catch {
      finish(.connectionLost(error.summary), error)
    }
  }

  mutating func attemptFailed(_ error: RoomError, at now: Int64) {
    connectDeadline = nil
    if hasJoined && error.kind == .roomNotFound {
      // It was there: while we were away, everybody left and the server closed it.
      finish(.roomEnded, nil)
      return
    }
    if !hasJoined || error.isFinal {
      finish(.connectionLost(error.summary), error)
      return
    }
    log(.notice, "could not come back yet: \(error.summary)")
    lastFailure = error.summary
    scheduleAttempt(at: now)
  }

  mutating func socketClosed(_ text: String, at now: Int64) {
    switch phase {
    case .connecting:
      attemptFailed(RoomError(.protocolError, "closed before the first message: \(text)"), at: now)
    case .open:
      lost(
        "the signal connection was closed: \(text)", resumable: true, reason: .rrSignalDisconnected,
        at: now)
    case .idle, .waiting, .leaving, .ended: break
    }
  }

  /// Either connection is lost: gives up signalling (media may live on) and comes back.
  mutating func lost(
    _ text: String, resumable: Bool, reason: Livekit_ReconnectReason, at now: Int64
  ) {
    log(.notice, "connection lost: \(text)")
    add(.closeSocket)
    attempt += 1
    (connectDeadline, pingAt, silenceDeadline, mediaDeadline, disconnectedDeadline) = (nil, nil, nil, nil, nil)
    lossText = text
    reconnectReason = reason
    isLost = true
    policy.lost(at: now, canResume: resumable)
    if !resumable { policy.refusedResume() }
    if resumable && hasMedia {
      tellLossAt = tellLossAt ?? now &+ Self.signalQuietTime
    } else {
      tellLoss()
    }
    scheduleAttempt(at: now)
  }

  mutating func scheduleAttempt(at now: Int64) {
    guard let step = policy.next(at: now) else {
      let error = RoomError(.connectionLost, lastFailure.isEmpty ? lossText : lastFailure)
      finish(.connectionLost(error.summary), error)
      return
    }
    if !step.resumes { tellLoss() }
    if step.delay == 0 {
      begin(step.resumes ? .resume : .rejoin, at: now)
    } else {
      phase = .waiting(until: now &+ step.delay, resumes: step.resumes)
    }
  }

  mutating func tellLoss() {
    tellLossAt = nil
    guard !isLossTold, hasJoined else { return }
    isLost = true
    isLossTold = true
    add(.emit(.connectionLost(lossText)))
  }

  /// Both connections are there again.
  mutating func restored() {
    policy.restored()
    isLost = false
    tellLossAt = nil
    mediaDeadline = nil
    guard isLossTold else {
      tell()
      return
    }
    isLossTold = false
    add(.emit(.connectionRestored))
    let state = current
    for event in state.events(since: announced, tellsAll: true) { add(.emit(event)) }
    announced = state
    rebind(state)
    add(.emit(.synchronized))
  }

  // MARK: First messages

  mutating func receiveFirst(_ message: Livekit_SignalResponse, _ kind: Attempt, at now: Int64) {
    connectDeadline = nil
    switch message.message {
    case .join(let join): joined(join, at: now)
    case .reconnect(let response) where kind == .resume: resumed(response, at: now)
    case .leave(let leave): sentAway(leave, kind, at: now)
    default:
      add(.closeSocket)
      attemptFailed(RoomError(.protocolError, "the first message is not a join response"), at: now)
    }
  }

  private mutating func joined(_ join: Livekit_JoinResponse, at now: Int64) {
    guard join.hasParticipant, !join.participant.sid.isEmpty, join.hasRoom else {
      add(.closeSocket)
      attemptFailed(
        RoomError(.protocolError, "the join response has no participant or no room"), at: now)
      return
    }
    if join.participant.hasPermission && !join.participant.permission.canSubscribe {
      let error = RoomError(.notPermitted, "canSubscribe is false")
      finish(.connectionLost(error.summary), error)
      return
    }
    participantSID = join.participant.sid
    roster.reset(own: join.participant, others: join.otherParticipants)
    (bindings, paused, refused) = (TrackBindings(), [], [])
    quality = .unknown
    (lastOffer, lastAnswer, waitingCandidates) = (nil, nil, [])
    if hasJoined { tellLoss() }
    bound = [:]
    add(.bind(bound))
    // The server leaves both at 0 only by mistake.
    pingInterval = Self.seconds(join.pingInterval, default: 5)
    pingTimeout = max(Self.seconds(join.pingTimeout, default: 15), pingInterval &+ 1_000_000_000)
    opened(at: now)
    sendWishes()
    if generation > 0 { add(.closeMedia) }
    generation += 1
    hasMedia = false
    mediaDeadline = now &+ settings.mediaTimeout
    let servers = join.iceServers.map {
      ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential)
    }
    let relayOnly = settings.relayOnly || join.clientConfiguration.forceRelay == .enabled
    add(.openMedia(generation: generation, servers + settings.iceServers, relayOnly: relayOnly))
    let version = RoomError.oneLine(join.serverInfo.version)
    log(
      .info, "joined \(RoomError.oneLine(join.room.name)) as \(participantSID), server \(version)")
    guard !hasJoined else { return }
    hasJoined = true
    add(.joined)
    add(.emit(.joined(room: join.room.name)))
    tell()
    add(.emit(.synchronized))
  }

  private mutating func resumed(_ response: Livekit_ReconnectResponse, at now: Int64) {
    opened(at: now)
    let (answer, offer, settings, data) = (lastAnswer, lastOffer, settings, data)
    let disabled = wishes.values.filter { $0.reception != .wanted }.map(\.track.rawValue).sorted()
    send {
      $0.syncState = .with { state in
        if let answer { state.answer = answer }
        if let offer { state.offer = offer }
        // Every wish is what `auto_subscribe` does already: nothing to list.
        state.subscription = .with { $0.subscribe = !settings.receivesMedia }
        state.trackSidsDisabled = disabled
        state.datachannelReceiveStates = data.receiveStates
      }
    }
    sendWishes()
    for candidate in waitingCandidates { sendCandidate(candidate) }
    waitingCandidates = []
    if hasMedia {
      restored()
    } else {
      mediaDeadline = now &+ settings.mediaTimeout
    }
  }

  private mutating func opened(at now: Int64) {
    phase = .open
    pingAt = now &+ pingInterval
    silenceDeadline = now &+ pingTimeout
  }

  /// The server answered an attempt with `leave`.
  private mutating func sentAway(_ leave: Livekit_LeaveRequest, _ kind: Attempt, at now: Int64) {
    add(.closeSocket)
    attempt += 1
    if leave.effectiveAction == .disconnect, let (end, error) = leave.end {
      if hasJoined {
        finish(end, error)
      } else {
        let fault = error ?? RoomError(.roomEnded)
        finish(.connectionLost(fault.summary), fault)
      }
      return
    }
    if kind == .resume { policy.refusedResume() }
    attemptFailed(RoomError(.busy, "the server sent the bot away: \(leave.reason.text)"), at: now)
  }

  // MARK: Ends

  /// `leave` in the middle of a session.
  mutating func receiveLeave(_ leave: Livekit_LeaveRequest, at now: Int64) {
    let text = "the server asks to reconnect: \(leave.reason.text)"
    switch leave.effectiveAction {
    case .resume: lost(text, resumable: true, reason: .rrUnknown, at: now)
    case .reconnect: lost(text, resumable: false, reason: .rrUnknown, at: now)
    case .disconnect, .UNRECOGNIZED:
      if let (end, error) = leave.end {
        finish(end, error)
      } else {
        lost(
          "the server ended the session: \(leave.reason.text)", resumable: false,
          reason: .rrUnknown, at: now)
      }
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

  /// How a session ends for this reason; nil when coming back is right.
  var end: (SessionEnd, RoomError?)? {
    switch reason {
    case .clientInitiated: (.stopped, nil)
    case .roomClosed, .roomDeleted: (.roomEnded, nil)
    case .duplicateIdentity: (.evicted, RoomError(.evicted))
    case .participantRemoved: (.removed, RoomError(.removed))
    default: nil
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
