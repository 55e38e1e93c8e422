import Session
import Signaling
import Transport

/// The seat, what is watched, and what is written.
extension PeerFlow {
  /// Asks for what is missing: the seat, the next change, and that the mailbox holds what it should.
  mutating func askMailbox(at now: Int64) {
    guard mailboxRetryAt == nil else { return }
    guard isSeated else {
      guard seatRequest == nil else { return }
      // With a connection that stands, the role must stay what it is.
      let wanted = exchange != nil && !mayChangeRole ? role ?? settings.role : settings.role
      seatRequest = ask(
        .takeSeat(SeatRequest(session: settings.session, role: wanted, name: settings.name, description: local)))
      return
    }
    if writeRequest == nil, let write = nextWrite { writeRequest = ask(write) }
    if watchRequest == nil { watchRequest = ask(.watch(session: settings.session, after: revision)) }
  }

  private mutating func ask(_ request: MailboxRequest) -> Int {
    requests += 1
    add(.perform(.request(requests, request)))
    return requests
  }

  /// The difference between what should be stored and what is.
  private var nextWrite: MailboxRequest? {
    guard let local else {
      // What is being made will take the place of what is stored.
      return own == nil || exchange?.stage == .describing ? nil : .clear(session: settings.session)
    }
    guard let own, own.id == local.id else { return .put(session: settings.session, local) }
    guard own.candidates < local.candidates.count else { return nil }
    let more = Array(local.candidates[own.candidates...])
    return .add(session: settings.session, MailboxCandidates(id: local.id, candidates: more))
  }

  mutating func answered(_ number: Int, _ result: Result<MailboxView, MailboxFault>, at now: Int64) {
    let isSeat = number == seatRequest
    switch number {
    case seatRequest: seatRequest = nil
    case watchRequest: watchRequest = nil
    case writeRequest: writeRequest = nil
    default: return
    }
    switch result {
    case .success(let view):
      isReachable = true
      failures = 0
      if person == nil {
        lostAt = nil
        if isLossTold { restored() }
      }
      if isSeat {
        seated(at: now)
      } else if !isSeated || view.revision < revision {
        return
      }
      take(view, at: now)
    case .failure(let fault): failed(fault, at: now)
    }
  }

  private mutating func seated(at now: Int64) {
    isSeated = true
    mayChangeRole = false
    seatedAt = now
    hasSeenOther = false
    // Requests of the seat before don't count any more.
    (watchRequest, writeRequest) = (nil, nil)
  }

  private mutating func take(_ view: MailboxView, at now: Int64) {
    revision = view.revision
    own = view.own
    if let servers = view.iceServers {
      iceServers = servers.map { ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential) }
    }
    if view.role != role {
      if exchange != nil { reset("Peer connection reset: the roles have changed", at: now) }
      role = view.role
      log(.info, "two-party room \(settings.room): the bot is the \(view.role.rawValue)")
    }
    if let seat = view.other, seat.hasLeft {
      other = nil
      if seat.session == person?.session { saidGoodbye() }
    } else {
      other = view.other
    }
    if let other {
      hasSeenOther = true
      person = Person(identity: other.identity, name: other.name, session: other.session)
    }
    if phase == .joining {
      phase = .running
      hasJoined = true
      add(.emit(.joined(room: settings.room)))
      tell()
      add(.emit(.synchronized))
      add(.joined)
    }
  }

  private mutating func failed(_ fault: MailboxFault, at now: Int64) {
    switch fault {
    case .noSeat:
      isSeated = false
      own = nil
      (watchRequest, writeRequest) = (nil, nil)
    case .replaced: finish(.evicted, RoomError(.evicted))
    case .stale: own = nil
    case .occupied(let text):
      guard hasJoined else { return joinFailed(RoomError(.roomFull, text), at: now) }
      isSeated = false
      mayChangeRole = true
      retry(at: now)
    case .failed(let error):
      guard hasJoined else { return joinFailed(error, at: now) }
      let isHopeless = error.action(hasJoined: true) == .fail || error.kind == .tokenExpired && !settings.canRenewToken
      if isHopeless, !isUp { return fail(error) }
      if isReachable { log(.notice, "the mailbox cannot be reached: \(error.summary)") }
      isReachable = false
      if !isUp {
        loss = error
        guard settings.reconnect.allowsReconnect else { return fail(error) }
        let since = lostAt ?? now
        lostAt = since
        if now &- since >= Self.unreachableTime { tellLoss() }
      }
      retry(at: now)
    }
  }

  /// The first seat was not to be had: asks again, when that is wanted and may help.
  private mutating func joinFailed(_ error: RoomError, at now: Int64) {
    let action = error.action(hasJoined: false)
    guard action == .retry || action == .wait, now < joinBy else { return fail(error) }
    loss = error
    failures += 1
    // At least each second: until then nothing is recorded of what begins.
    let pause = backOff(failures, base: ReconnectPolicy.base, cap: ReconnectPolicy.cap)
    mailboxRetryAt = min(now &+ max(ReconnectPolicy.spacing, pause), joinBy)
  }

  /// Asks again after a pause. Requests that were under way together fail together: they count once.
  private mutating func retry(at now: Int64) {
    guard mailboxRetryAt == nil else { return }
    failures += 1
    guard case .fixed(let most, let interval) = settings.reconnect.rule, !isUp, failures > 1 else {
      mailboxRetryAt = now &+ 50_000_000 &+ backOff(failures, base: 300_000_000, cap: 1_500_000_000)
      return
    }
    guard failures <= max(1, most) else { return fail(RoomError(.connectionLost, lossText)) }
    mailboxRetryAt = now &+ interval
  }

  /// Watches anew at once: the request that waits may hang in a connection that is cut off.
  mutating func watchAnew() { watchRequest = nil }

  /// What is waiting is tried at once.
  mutating func networkChanged(at now: Int64) {
    mailboxRetryAt = nil
    retryAt = now
    prefersRelay = false
    watchAnew()
    guard !isUp, lostAt != nil else { return }
    loss = RoomError(.networkChanged)
    if exchange?.stage == .exchanged { isLossNew = true }
  }

  // MARK: Ends

  /// The other side said goodbye: what was to be recorded is recorded.
  private mutating func saidGoodbye() {
    log(.info, "the other side said goodbye")
    if isLossTold {
      isLossTold = false
      add(.emit(.connectionRestored))
    }
    person = nil
    media = nil
    exchange = nil
    tell()
    finish(.roomEnded, nil)
  }

  mutating func leave(at now: Int64) {
    guard phase == .running, isSeated else { return finish(.stopped, nil) }
    phase = .leaving(until: now &+ Self.leaveTime)
    writeRequest = ask(.leave(session: settings.session))
  }
}
