import Logging
import MediaCore
import Session
import Signaling
import Transport

/// All decisions of one peer of a two-party room, without input and output: what happened goes in, what to do comes
/// out. Times are moments of one monotonic clock.
///
/// It is put together from machines that keep their own state, gives each its part of what happened, and puts what they
/// want in order.
///
/// | machine | decides |
/// | --- | --- |
/// | `MailboxLink` | the seat, what is seen from there, requests and their repetition |
/// | `PeerNegotiation` | offer, answer and candidates, exchange by exchange, and by when they must be there |
/// | `PeerMedia` | the peer connection: generations, signs of life, tracks |
/// | `PeerRecovery` | what is lost; attempts, pauses, relays, the end of patience |
/// | `PeerReport` | who sits opposite, and what the recording was told |
/// | `PeerSending` | what the bot sends itself, and whether it arrives |
/// | `PeerStatus` | what was told of where the connection stands |
///
/// ```
///          join             a view              leave
///   idle ──────► joining ──────────► running ──────────► leaving
///                   │ no seat in time   │ goodbye, evicted,  │ answered,
///                   ▼                   ▼ no patience left   ▼ or 1 s
///                 ended ◄───────────────┴────────────────────┘
/// ```
/// When a deadline passes, when the connection fails, or when the other side deletes or replaces its data, the whole flow
/// is reset: the connection is closed, what was stored is deleted, and the host offers anew. A connection that falls
/// silent is first given an ICE restart.
struct PeerFlow: Sendable {
  typealias Input = PeerInput
  typealias Action = RoomAction<PeerRequest>
  typealias Settings = PeerSettings

  /// Where the session stands.
  enum Phase: Hashable, Sendable {
    case idle
    /// The first seat is asked for, again until then.
    case joining(by: Instant)
    case running
    /// The farewell is being sent.
    case leaving(until: Instant)
    case ended
  }

  /// How long the farewell may take.
  static let leaveTime = Duration.seconds(1)

  private(set) var phase = Phase.idle
  /// Whether the first join succeeded.
  private(set) var hasJoined = false
  private(set) var mailbox: MailboxLink
  private(set) var negotiation: PeerNegotiation
  private(set) var media = PeerMedia()
  private(set) var recovery: PeerRecovery
  private var report = PeerReport()
  private var sending: PeerSending
  private var status = PeerStatus()
  private var actions: [Action] = []
  private let settings: Settings

  /// Makes a flow that waits for `join`.
  init(settings: Settings) {
    self.settings = settings
    mailbox = MailboxLink(settings: settings)
    negotiation = PeerNegotiation(session: settings.session)
    sending = PeerSending(settings.profile)
    recovery = PeerRecovery(settings: settings.reconnect, seed: settings.seed &+ 1)
  }

  /// When `timer` is wanted; nil for never.
  var nextDeadline: Instant? {
    switch phase {
    case .idle, .ended: return nil
    case .leaving(let until): return until
    case .joining, .running: break
    }
    let canOffer = mailbox.isSeated && mailbox.role == .host && mailbox.other != nil && negotiation.exchange == nil
    let mayDepart = report.person != nil && !media.isUp
    return [
      mailbox.retryAt, negotiation.nextDeadline, media.nextDeadline, recovery.nextDeadline,
      canOffer ? recovery.retryAt : nil, mayDepart ? mailbox.graceDeadline : nil,
    ].compactMap { $0 }.min()
  }

  /// Takes an input and returns what is to be done, in order.
  mutating func handle(_ input: Input, at now: Instant) -> [Action] {
    actions.removeAll(keepingCapacity: true)
    switch (phase, input) {
    case (.ended, _): break
    case (.leaving, .answered(let number, _)) where mailbox.isWrite(number): finish(.stopped, nil)
    case (.leaving(let until), .timer) where until <= now: finish(.stopped, nil)
    case (.leaving, _): break
    default:
      dispatch(input, at: now)
      follow(at: now)
      depart(at: now)
      if isLive {
        tell()
        for event in sending.news(isUp: media.isUp) { add(.perform(.tell(event))) }
        askMailbox()
      }
      if let news = status.news(phase, mailbox, negotiation, media, recovery, at: now) { add(.status(news)) }
    }
    return actions
  }

  private mutating func dispatch(_ input: Input, at now: Instant) {
    switch input {
    case .join: if phase == .idle { phase = .joining(by: now + settings.reconnect.waitForRoom) }
    case .answered(let number, let result): answered(number, result, at: now)
    case .described(let number, let sdp): if isCurrent(number) { described(sdp, at: now) }
    case .applied(let number, let sections): if isCurrent(number) { media.applied(sections) }
    case .agreed(let number, let taken):
      guard isCurrent(number) else { break }
      for name in sending.agreed(taken) { log(.notice, "the other side does not take the track \(name)") }
    case .unusable(let number, let text): if isCurrent(number) { reset("Connection failed: \(text)", at: now) }
    case .gathered(let number, let candidate): if media.isCurrent(number) { negotiation.gathered(candidate) }
    case .transport(let number, let state):
      if media.isCurrent(number) { transportChanged(media.changed(state, at: now), at: now) }
    case .heard(let number): if media.isCurrent(number) { heard(at: now) }
    case .channelOpened(let number):
      if media.isCurrent(number) {
        media.channelOpened(at: now)
        say(at: now)
      }
    case .message(let number, let message):
      if media.isCurrent(number) {
        heard(at: now)
        media.take(message)
        if let name = message.name { report.rename(name) }
      }
    case .muted(let id, let isMuted):
      if sending.mute(id, isMuted) {
        media.sayNow(at: now)
        say(at: now)
      }
    case .networkChanged: networkChanged(at: now)
    case .leave: leave(at: now)
    case .timer: timer(at: now)
    }
  }

  private mutating func timer(at now: Instant) {
    mailbox.timer(at: now)
    if let overdue = negotiation.overdue(at: now) { late(overdue, at: now) }
    if isLive, media.isQuiet(at: now) { lost(RoomError(.mediaLost, "nothing comes from the other side"), at: now) }
    guard isLive else { return }
    say(at: now)
    if recovery.isOver(at: now) { fail(RoomError(.reconnectTimeout, recovery.text)) }
  }

  /// Whether the session goes on.
  private var isLive: Bool {
    switch phase {
    case .joining, .running: true
    case .idle, .leaving, .ended: false
    }
  }

  private func isCurrent(_ exchange: Int) -> Bool { exchange == negotiation.exchange?.number }

  private mutating func add(_ action: Action) { actions.append(action) }

  private mutating func log(_ level: Logger.Level, _ text: String) { actions.append(.log(level, text)) }
}

extension PeerFlow: ConnectionMachine {
  typealias Request = PeerRequest

  var isIdle: Bool { phase == .idle }
}

// MARK: - Mailbox

extension PeerFlow {
  /// Asks for what is missing there.
  private mutating func askMailbox() {
    let requests = mailbox.ask(
      storing: negotiation.description, isDescribing: negotiation.isDescribing,
      keepsRole: negotiation.exchange != nil)
    for request in requests { add(.perform(request)) }
  }

  private mutating func answered(_ number: Int, _ result: Result<MailboxView, MailboxFault>, at now: Instant) {
    switch mailbox.answered(number, result, at: now) {
    case .ignored: break
    case .old: reached()
    case .seen(let change):
      reached()
      take(change, at: now)
    case .fault(let fault): failed(fault, at: now)
    }
  }

  /// The mailbox answers. With nobody opposite, nothing else can be lost.
  private mutating func reached() {
    guard report.person == nil else { return }
    recovery.reached()
    if report.isLossTold { actions += report.tellRestored(media) }
  }

  private mutating func take(_ change: MailboxLink.Change, at now: Instant) {
    if change.hasNewRole, let role = mailbox.role {
      reset("Peer connection reset: the roles have changed", at: now)
      log(.info, "two-party room \(settings.room): the bot is the \(role.rawValue)")
      guard isLive else { return }
    }
    if let session = change.goodbye, session == report.person?.session { return saidGoodbye() }
    if let other = mailbox.other { report.sees(other) }
    guard case .joining = phase else { return }
    phase = .running
    hasJoined = true
    add(.emit(.joined(room: settings.room)))
    tell()
    add(.emit(.synchronized))
    add(.joined)
  }

  private mutating func failed(_ fault: MailboxFault, at now: Instant) {
    switch fault {
    case .noSeat, .stale: break
    case .replaced: finish(.evicted, RoomError(.evicted))
    case .occupied(let text):
      if hasJoined { retry(at: now) } else { joinFailed(RoomError(.roomFull, text), at: now) }
    case .failed(let error):
      if hasJoined { unreachable(error, at: now) } else { joinFailed(error, at: now) }
    }
  }

  /// The first seat was not to be had: asks again, when that is wanted and may help.
  private mutating func joinFailed(_ error: RoomError, at now: Instant) {
    let action = error.action(hasJoined: false)
    guard case .joining(let end) = phase, now < end, action == .retry || action == .wait else { return fail(error) }
    recovery.joinFailed(error)
    mailbox.retryJoin(by: end, at: now)
  }

  /// A request failed. While media flows that is no loss.
  private mutating func unreachable(_ error: RoomError, at now: Instant) {
    let isHopeless = error.action(hasJoined: true) == .fail || error.kind == .tokenExpired && !settings.canRenewToken
    guard media.isUp || !isHopeless else { return fail(error) }
    if mailbox.missed() { log(.notice, "the mailbox cannot be reached: \(error.summary)") }
    if !media.isUp {
      let mustTell = recovery.unreachable(error, at: now)
      guard settings.reconnect.allowsReconnect else { return fail(error) }
      if mustTell { tellLoss() }
    }
    retry(at: now)
  }

  private mutating func retry(at now: Instant) {
    guard !mailbox.retry(isUp: media.isUp, at: now) else { return }
    fail(RoomError(.connectionLost, recovery.text))
  }

  /// What is waiting is tried at once.
  private mutating func networkChanged(at now: Instant) {
    mailbox.stopWaiting()
    mailbox.watchAnew()
    let canRestart = negotiation.exchange?.stage == .exchanged
    recovery.networkChanged(isUp: media.isUp, canRestart: canRestart, at: now)
  }
}

// MARK: - Connection

extension PeerFlow {
  /// Goes on as far as the other side's data allow.
  private mutating func follow(at now: Instant) {
    guard phase == .running, mailbox.isSeated, let role = mailbox.role else { return }
    if let other = mailbox.other {
      let wantsRestart = recovery.wantsRestart
      perform(negotiation.goOn(as: role, with: other, isUp: media.isUp, wantsRestart: wantsRestart, at: now), at: now)
      guard phase == .running else { return }
      perform(negotiation.begin(as: role, with: other, mayOffer: recovery.retryAt <= now, at: now), at: now)
      let candidates = negotiation.takeCandidates(of: other)
      for candidate in candidates { add(.addCandidate(candidate)) }
      if !candidates.isEmpty { log(.debug, "Candidates set") }
    }
    negotiation.stored(mailbox.stored)
  }

  private mutating func perform(_ step: PeerNegotiation.Step, at now: Instant) {
    switch step {
    case .wait: break
    case .apply(let request):
      log(.debug, "Remote SDP set; RTC exchanged")
      add(.perform(request))
    case .restart(let request):
      recovery.began(at: now)
      if mailbox.role == .host { log(.info, "ICE restart") }
      add(.perform(request))
    case .open(let request):
      recovery.began(at: now)
      media.open()
      let wanted = MediaRequest(
        iceServers: mailbox.iceServers, relayOnly: recovery.relayOnly, isOfferer: mailbox.role == .host)
      add(.openMedia(generation: media.generation, wanted))
      add(.perform(request))
    case .reset(let text): reset("Peer connection reset: \(text)", at: now)
    }
  }

  /// The local description is made.
  private mutating func described(_ sdp: String, at now: Instant) {
    guard let role = mailbox.role else { return }
    negotiation.described(sdp, as: role, isUp: media.isUp, at: now)
    log(.debug, role == .host ? "SDP offer sent" : "SDP answer sent; RTC exchanged")
  }

  private mutating func transportChanged(_ change: PeerMedia.Change, at now: Instant) {
    switch change {
    case .none: break
    case .connected: connected()
    case .interrupted: lost(RoomError(.mediaLost, "the other side does not answer"), at: now)
    case .failed: reset("Connection failed", isMediaFailure: !media.isUp, at: now)
    }
  }

  private mutating func heard(at now: Instant) {
    if media.heard(at: now) { connected() }
  }

  private mutating func connected() {
    recovery.connected()
    negotiation.connected()
    actions += report.tellRestored(media)
  }

  /// Nothing comes any more over a connection that stood.
  private mutating func lost(_ error: RoomError, at now: Instant) {
    guard media.goDown() else { return }
    negotiation.lost(at: now)
    recovery.lost(error, at: now)
    log(.notice, "connection lost: \(recovery.text)")
    guard settings.reconnect.allowsReconnect else { return fail(error) }
    tellLoss()
    mailbox.watchAnew()
  }

  /// Something did not come in time. That counts only while the other side could do its part, and never against a
  /// connection that works.
  private mutating func late(_ overdue: PeerNegotiation.Overdue, at now: Instant) {
    guard mailbox.isReachable, mailbox.isSeated, mailbox.other != nil, !media.isUp else {
      return negotiation.extend(at: now)
    }
    switch overdue {
    case .description: reset("Connection timeout: no session description in time", at: now)
    case .connection: reset("Connection timeout", isMediaFailure: true, at: now)
    }
  }

  /// Starts the whole flow over. `isMediaFailure`: the descriptions were exchanged, and no connection came of it.
  private mutating func reset(_ text: String, isMediaFailure: Bool = false, at now: Instant) {
    guard negotiation.exchange != nil else { return }
    let isMediaFailure = isMediaFailure || !media.isUp && negotiation.hasWaited(at: now)
    log(recovery.resets == 0 && !media.isUp ? .info : .notice, text)
    let error = RoomError(.mediaLost, text)
    lost(error, at: now)
    guard phase == .running else { return }
    negotiation.reset()
    media.close()
    add(.closeMedia)
    actions += report.bind(media)
    let hasRelays = settings.hasRelays || mailbox.namesRelays
    guard !recovery.reset(error, isMediaFailure: isMediaFailure, hasRelays: hasRelays, at: now) else { return }
    fail(RoomError(.connectionLost, text))
  }

  /// The other side is gone: it has no seat any more, and no media comes.
  private mutating func depart(at now: Instant) {
    guard phase == .running, report.person != nil, !media.isUp, mailbox.isOtherGone(at: now) else { return }
    reset("Peer connection reset: the other side is gone", at: now)
    guard phase == .running else { return }
    recovery.departed()
    report.forget()
    log(.info, "the other side is gone")
    actions += report.tellRestored(media)
  }

  private mutating func say(at now: Instant) {
    guard media.mustSay(at: now) else { return }
    let profile = settings.profile
    add(
      .perform(
        .say(
          PeerMessage(
            name: profile.name, camera: sending.isOn(.camera), microphone: sending.isOn(.microphone),
            recording: profile.isRecording ? true : nil))))
  }
}

// MARK: - What is told, and ends

extension PeerFlow {
  private mutating func tell() {
    if hasJoined { actions += report.tell(media) }
  }

  private mutating func tellLoss() { actions += report.tellLoss(recovery.text) }

  /// The other side said goodbye: what was to be recorded is recorded.
  private mutating func saidGoodbye() {
    log(.info, "the other side said goodbye")
    actions += report.tellGoodbye()
    finish(.roomEnded, nil)
  }

  private mutating func leave(at now: Instant) {
    guard phase == .running, let farewell = mailbox.leave() else { return finish(.stopped, nil) }
    phase = .leaving(until: now + Self.leaveTime)
    add(.perform(farewell))
  }

  /// A fault ends the session.
  private mutating func fail(_ error: RoomError) { finish(.connectionLost(error.summary), error) }

  private mutating func finish(_ end: SessionEnd, _ error: RoomError?) {
    guard phase != .ended else { return }
    phase = .ended
    add(.status(PeerStatus.end(error)))
    add(.finished(end, error))
  }
}
