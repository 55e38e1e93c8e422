import MediaCore
import Session
import Signaling
import Transport

/// Descriptions, candidates, connection: what the two sides do until media flows, and when it does no longer.
extension PeerFlow {
  /// Goes on as far as the other side's data allow.
  mutating func follow(at now: Int64) {
    guard isSeated, let role else { return }
    if let exchange, let other, other.session != exchange.session {
      reset("Peer connection reset: the other side began anew", at: now)
    }
    switch role {
    case .host: followAsHost(at: now)
    case .guest: followAsGuest(at: now)
    }
    takeCandidates()
    if let stored = own, stored.id == local?.id, exchange?.stage == .exchanged { exchange?.exchangeDeadline = nil }
  }

  // MARK: Host

  private mutating func followAsHost(at now: Int64) {
    guard let other else { return }
    if let current = exchange { go(on: current, with: other, at: now) }
    if exchange == nil, now >= retryAt { begin(with: other, at: now) }
  }

  private mutating func go(on current: Exchange, with other: MailboxView.Seat, at now: Int64) {
    let answered = other.description?.answers
    switch current.stage {
    case .describing: break
    case .offered:
      if answered == current.offer, let answer = other.description {
        exchange?.stage = .exchanged
        if !isUp { exchange?.connectDeadline = now &+ Self.connectTime }
        log(.debug, "Remote SDP set; RTC exchanged")
        add(.perform(.accept(exchange: current.number, sdp: answer.sdp)))
      } else if let continues = current.continues, answered != continues {
        reset("Peer connection reset: the other side has given up", at: now)
      }
    case .exchanged:
      if answered != current.offer {
        reset("Peer connection reset: the other side has deleted its data", at: now)
      } else if !isUp, isLossNew {
        restart(current, with: other, at: now)
      }
    }
  }

  private mutating func begin(with other: MailboxView.Seat, at now: Int64) {
    exchanges += 1
    generation += 1
    exchange = Exchange(
      number: exchanges, offer: "\(settings.session)-\(exchanges)", session: other.session,
      exchangeDeadline: now &+ Self.exchangeTime)
    media = Media(generation: generation)
    attempt(at: now)
    add(.openMedia(generation: generation, MediaRequest(iceServers: iceServers, relayOnly: relayOnly, isOfferer: true)))
    add(.perform(.offer(exchange: exchanges, restartsICE: false)))
  }

  /// The connection is silent: offers it new ICE credentials. The old pair carries on meanwhile, if it can.
  private mutating func restart(_ current: Exchange, with other: MailboxView.Seat, at now: Int64) {
    isLossNew = false
    exchanges += 1
    exchange = Exchange(
      number: exchanges, offer: "\(settings.session)-\(exchanges)", continues: current.offer, session: other.session,
      exchangeDeadline: now &+ Self.exchangeTime, connectDeadline: current.connectDeadline)
    attempt(at: now)
    log(.info, "ICE restart")
    add(.perform(.offer(exchange: exchanges, restartsICE: true)))
  }

  // MARK: Guest

  private mutating func followAsGuest(at now: Int64) {
    guard let other else { return }
    if let current = exchange {
      guard let offer = other.description, offer.kind == .offer else {
        return reset("Peer connection reset: the other side has deleted its data", at: now)
      }
      guard offer.id != current.offer else { return }
      if offer.continues == current.offer, current.stage == .exchanged {
        exchanges += 1
        exchange = Exchange(
          number: exchanges, offer: offer.id, continues: current.offer, session: other.session,
          exchangeDeadline: now &+ Self.exchangeTime, connectDeadline: current.connectDeadline)
        attempt(at: now)
        add(.perform(.answer(exchange: exchanges, sdp: offer.sdp)))
        return
      }
      reset("Peer connection reset: the other side offers anew", at: now)
    }
    guard let offer = other.description, offer.kind == .offer, offer.id != spentOffer,
      offer.recipient ?? settings.session == settings.session
    else { return }
    guard offer.continues == nil else {
      // It goes on from a connection that isn't there any more; having no answer, the host will begin anew.
      spentOffer = offer.id
      return
    }
    exchanges += 1
    generation += 1
    exchange = Exchange(
      number: exchanges, offer: offer.id, session: other.session, exchangeDeadline: now &+ Self.exchangeTime)
    media = Media(generation: generation)
    attempt(at: now)
    add(.openMedia(generation: generation, MediaRequest(iceServers: iceServers, relayOnly: relayOnly)))
    add(.perform(.answer(exchange: exchanges, sdp: offer.sdp)))
  }

  // MARK: Both

  /// The local description is made: it is stored from now on, until it is replaced or deleted.
  mutating func described(_ sdp: String, at now: Int64) {
    guard let current = exchange else { return }
    switch role {
    case .host:
      local = MailboxDescription(
        id: current.offer, kind: .offer, sdp: sdp, recipient: current.session, continues: current.continues)
      exchange?.stage = .offered
      log(.debug, "SDP offer sent")
    case .guest:
      local = MailboxDescription(
        id: "\(settings.session)-\(current.number)", kind: .answer, sdp: sdp, answers: current.offer)
      exchange?.stage = .exchanged
      if !isUp { exchange?.connectDeadline = now &+ Self.connectTime }
      log(.debug, "SDP answer sent; RTC exchanged")
    case nil: break
    }
  }

  private mutating func takeCandidates() {
    guard let current = exchange, current.stage == .exchanged, let description = other?.description,
      description.id == current.offer || description.answers == current.offer
    else { return }
    guard description.candidates.count > current.candidates else { return }
    for candidate in description.candidates[current.candidates...] { add(.addCandidate(candidate)) }
    exchange?.candidates = description.candidates.count
    log(.debug, "Candidates set")
  }

  mutating func transportChanged(_ state: TransportState, at now: Int64) {
    media?.state = state
    switch state {
    case .connected:
      media?.heardAt = now
      connected()
    case .disconnected: lost(RoomError(.mediaLost, "the other side does not answer"), at: now)
    case .failed: reset("Connection failed", isMediaFailure: !isUp, at: now)
    case .new, .connecting, .closed: break
    }
  }

  mutating func heard(at now: Int64) {
    media?.heardAt = now
    if !isUp, media?.state == .connected { connected() }
  }

  private mutating func connected() {
    (resets, attempts) = (0, 0)
    exchange?.connectDeadline = nil
    isUp = true
    isLossNew = false
    lostAt = nil
    loss = nil
    restored()
  }

  /// Nothing comes any more over a connection that stood.
  mutating func lost(_ error: RoomError, at now: Int64) {
    guard isUp else { return }
    isUp = false
    isLossNew = true
    lostAt = lostAt ?? now
    loss = error
    exchange?.connectDeadline = now &+ Self.connectTime
    log(.notice, "connection lost: \(lossText)")
    guard settings.reconnect.allowsReconnect else { return fail(error) }
    tellLoss()
    watchAnew()
  }

  /// An exchange begins. While media is lost, it is an attempt to come back.
  private mutating func attempt(at now: Int64) {
    guard lostAt != nil else { return }
    attempts += 1
    attemptAt = now
  }

  /// Whether the next connection goes over relays only: as wanted, or because there was none without them.
  private var relayOnly: Bool { settings.reconnect.relayOnly || prefersRelay }

  /// Whether there is a TURN server to go over.
  private var hasRelays: Bool {
    settings.hasRelays || iceServers.contains { $0.urls.contains { $0.hasPrefix("turn:") } }
  }

  /// Starts the whole flow over. `isMediaFailure`: the descriptions were exchanged, and no connection came of it.
  mutating func reset(_ text: String, isMediaFailure: Bool = false, at now: Int64) {
    guard let current = exchange else { return }
    let isMediaFailure = isMediaFailure || hasWaited(current, at: now)
    log(resets == 0 && !isUp ? .info : .notice, text)
    let error = RoomError(.mediaLost, text)
    lost(error, at: now)
    guard phase == .running else { return }
    if isMediaFailure { prefersRelay = hasRelays && !prefersRelay && !settings.reconnect.relayOnly }
    loss = error
    spentOffer = current.offer
    exchange = nil
    local = nil
    media = nil
    add(.closeMedia)
    rebind(RoomState())
    isLossNew = false
    resets += 1
    guard case .fixed(let most, let interval) = settings.reconnect.rule, lostAt != nil else {
      retryAt = now &+ backOff(resets, base: 250_000_000, cap: 2_000_000_000)
      return
    }
    guard attempts < max(1, most) else { return fail(RoomError(.connectionLost, text)) }
    retryAt = attempts == 0 ? now : max(now, attemptAt &+ interval)
  }

  /// Whether a connection was waited for so long that it is no accident when the other side gives up: its time runs
  /// out a moment before ours when it answers.
  private func hasWaited(_ exchange: Exchange, at now: Int64) -> Bool {
    guard exchange.stage == .exchanged, !isUp, let deadline = exchange.connectDeadline else { return false }
    return deadline &- now <= Self.connectTime / 2
  }

  /// The other side is gone: it has no seat any more, and no media comes.
  mutating func depart(at now: Int64) {
    guard person != nil, other == nil, !isUp, isSeated, isReachable,
      hasSeenOther || seatedAt &+ Self.seatGrace <= now
    else { return }
    if exchange != nil { reset("Peer connection reset: the other side is gone", at: now) }
    (resets, attempts) = (0, 0)
    person = nil
    lostAt = nil
    log(.info, "the other side is gone")
    restored()
  }

  // MARK: Data channel

  mutating func say(at now: Int64) {
    media?.sayAt = now &+ Self.heartbeat
    add(.perform(.say(PeerMessage(name: settings.name, recording: true))))
  }

  mutating func said(_ message: PeerMessage, at now: Int64) {
    media?.hasHeartbeat = true
    heard(at: now)
    if let isOn = message.camera { media?.isCameraOn = isOn }
    if let isOn = message.microphone { media?.isMicrophoneOn = isOn }
    if let name = message.name, !name.isEmpty, name.utf8.count <= 256 { person?.name = name }
  }
}
