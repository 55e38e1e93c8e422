import MediaCore
import Signaling
import Transport

/// The bot's place in a mailbox: its seat, what it sees from there, and the requests that are under way. A pure value;
/// times are moments of one monotonic clock.
///
/// ```
///          ask                  view
///   free ──────► asked(request) ────► taken(since)
///    ▲             │ any fault          │ noSeat, occupied
///    └─────────────┴────────────────────┘
/// ```
/// What should stand in the mailbox is known to `PeerNegotiation`, what does stand there is `own`; the difference is
/// written again and again until it is gone. So a mailbox that fails, or forgets everything, needs no states of its own.
/// At most one request of a kind (seat, watch, write) is open, and no request begins before `retryAt`.
struct MailboxLink: Sendable {
  /// What an answer comes to.
  enum Answer: Hashable, Sendable {
    /// Nobody waits for it any more.
    case ignored
    /// The mailbox is there, and says nothing new.
    case old
    /// The room is seen as it is now.
    case seen(Change)
    /// The request failed.
    case fault(MailboxFault)
  }

  /// What is otherwise than in the view before.
  struct Change: Hashable, Sendable {
    /// The seat is another one, or the first.
    var hasNewRole: Bool
    /// The session of the peer that said goodbye.
    var goodbye: String?
  }

  private enum Place: Hashable, Sendable {
    case free
    case asked(request: Int)
    /// `hasSeenOther`: somebody was seen opposite since.
    case taken(since: Instant, hasSeenOther: Bool)
  }

  /// How long the other side has to take its seat again in a mailbox that forgot everybody.
  static let seatGrace = Duration.seconds(10)
  /// The least pause before a request that failed is made again.
  static let pause = Duration.milliseconds(50)

  /// Which seat is the bot's; nil before the first view.
  private(set) var role: PeerRole?
  /// Who sits opposite, and has not said goodbye.
  private(set) var other: MailboxView.Seat?
  /// The servers that the mailbox names.
  private(set) var iceServers: [ICEServer] = []
  /// False from when it could not be reached until it answers.
  private(set) var isReachable = true
  /// Failures since the last success; requests that were under way together count once.
  private(set) var failures = 0
  /// Until when nothing is asked; nil when it may be.
  private(set) var retryAt: Instant?
  private var place = Place.free
  private var revision: UInt64 = 0
  private var own: MailboxView.Own?
  private var requests = 0
  private var watch: Int?
  private var write: Int?
  /// True when the role that was held could not be had again.
  private var mayChangeRole = false
  private var backOff: BackOff
  private let settings: PeerSettings

  /// Without a seat.
  init(settings: PeerSettings) {
    self.settings = settings
    backOff = BackOff(seed: settings.seed)
  }

  /// Whether the bot has a seat.
  var isSeated: Bool { if case .taken = place { true } else { false } }

  /// The id of the bot's description that the mailbox holds.
  var stored: String? { own?.id }

  /// Whether one of the servers that the mailbox names is a relay.
  var namesRelays: Bool { iceServers.contains { $0.urls.contains { $0.hasPrefix("turn:") } } }

  // MARK: Asking

  /// Asks for what is missing: the seat, that the mailbox holds what it should (`description`), and the next change.
  /// `isDescribing`: another description is being made. `keepsRole`: there is a connection, whose role must stay.
  mutating func ask(storing description: MailboxDescription?, isDescribing: Bool, keepsRole: Bool) -> [PeerRequest] {
    guard retryAt == nil else { return [] }
    switch place {
    case .asked: return []
    case .free:
      let wanted = keepsRole && !mayChangeRole ? role ?? settings.role : settings.role
      let seat = SeatRequest(
        session: settings.session, role: wanted, name: settings.profile.name, description: description)
      let request = number(.takeSeat(seat))
      place = .asked(request: requests)
      return [request]
    case .taken:
      var wanted: [PeerRequest] = []
      if write == nil, let next = nextWrite(description, isDescribing: isDescribing) {
        wanted.append(number(next))
        write = requests
      }
      if watch == nil {
        wanted.append(number(.watch(session: settings.session, after: revision)))
        watch = requests
      }
      return wanted
    }
  }

  /// Says goodbye; nil without a seat.
  mutating func leave() -> PeerRequest? {
    guard isSeated else { return nil }
    let request = number(.leave(session: settings.session))
    write = requests
    return request
  }

  /// Whether this was the answer to what was written last; after `leave`, to the farewell.
  func isWrite(_ request: Int) -> Bool { request == write }

  /// Watches anew at once: the request that waits may hang in a connection that is cut off.
  mutating func watchAnew() { watch = nil }

  private mutating func number(_ request: MailboxRequest) -> PeerRequest {
    requests += 1
    return .request(requests, request)
  }

  /// The difference between what should be stored and what is.
  private func nextWrite(_ description: MailboxDescription?, isDescribing: Bool) -> MailboxRequest? {
    guard let description else {
      // What is being made will take the place of what is stored.
      return own == nil || isDescribing ? nil : .clear(session: settings.session)
    }
    guard let own, own.id == description.id else { return .put(session: settings.session, description) }
    guard own.candidates < description.candidates.count else { return nil }
    let more = Array(description.candidates[max(0, own.candidates)...])
    return .add(session: settings.session, MailboxCandidates(id: description.id, candidates: more))
  }

  // MARK: Answers

  /// Takes the answer to a request.
  mutating func answered(_ request: Int, _ result: Result<MailboxView, MailboxFault>, at now: Instant) -> Answer {
    let isSeat = place == .asked(request: request)
    if isSeat {
      place = .free
    } else if request == watch {
      watch = nil
    } else if request == write {
      write = nil
    } else {
      return .ignored
    }
    switch result {
    case .success(let view):
      isReachable = true
      failures = 0
      if isSeat { seated(at: now) }
      guard isSeat || isSeated && view.revision >= revision else { return .old }
      return .seen(take(view))
    case .failure(let fault):
      take(fault)
      return .fault(fault)
    }
  }

  private mutating func seated(at now: Instant) {
    place = .taken(since: now, hasSeenOther: false)
    mayChangeRole = false
    // Requests of the seat before don't count any more.
    (watch, write) = (nil, nil)
  }

  private mutating func take(_ view: MailboxView) -> Change {
    revision = view.revision
    own = view.own
    if let servers = view.iceServers {
      iceServers = servers.map { ICEServer(urls: $0.urls, username: $0.username, credential: $0.credential) }
    }
    let hasNewRole = view.role != role
    role = view.role
    guard let seat = view.other, !seat.hasLeft else {
      other = nil
      return Change(hasNewRole: hasNewRole, goodbye: view.other?.session)
    }
    other = seat
    if case .taken(let since, _) = place { place = .taken(since: since, hasSeenOther: true) }
    return Change(hasNewRole: hasNewRole)
  }

  private mutating func take(_ fault: MailboxFault) {
    switch fault {
    case .noSeat:
      giveUpSeat()
      own = nil
      (watch, write) = (nil, nil)
    case .occupied:
      giveUpSeat()
      mayChangeRole = true
    case .stale: own = nil
    case .failed, .replaced: break
    }
  }

  /// A seat that is asked for already may still be had.
  private mutating func giveUpSeat() {
    if isSeated { place = .free }
  }

  // MARK: Asking again

  /// It cannot be reached. False when that is no news.
  mutating func missed() -> Bool {
    defer { isReachable = false }
    return isReachable
  }

  /// The first seat was not to be had: it is asked for again by then.
  mutating func retryJoin(by end: Instant, at now: Instant) {
    failures += 1
    // At least each second: until then nothing is recorded of what begins.
    let pause = backOff.pause(before: failures, base: ReconnectPolicy.base, cap: ReconnectPolicy.cap)
    retryAt = min(now + max(ReconnectPolicy.spacing, pause), end)
  }

  /// Asks again after a pause; false when that was done often enough. Requests that were under way together fail together:
  /// they count once. `isUp`: there is no hurry, since media flows.
  mutating func retry(isUp: Bool, at now: Instant) -> Bool {
    guard retryAt == nil else { return true }
    failures += 1
    guard case .fixed(let most, let interval) = settings.reconnect.rule, !isUp, failures > 1 else {
      let pause = backOff.pause(before: failures, base: .milliseconds(300), cap: .milliseconds(1500))
      retryAt = now + Self.pause + pause
      return true
    }
    guard failures <= max(1, most) else { return false }
    retryAt = now + interval
    return true
  }

  /// Asks at once.
  mutating func stopWaiting() { retryAt = nil }

  /// The pause may be over.
  mutating func timer(at now: Instant) {
    if let retryAt, retryAt <= now { self.retryAt = nil }
  }

  // MARK: Who is gone

  /// Whether nobody sits opposite, as far as can be known: a mailbox that forgot everybody gives them time to come back.
  func isOtherGone(at now: Instant) -> Bool {
    guard case .taken(let since, let hasSeenOther) = place, other == nil, isReachable else { return false }
    return hasSeenOther || since + Self.seatGrace <= now
  }

  /// When somebody who did not take the seat again will be gone; nil for never, or already.
  var graceDeadline: Instant? {
    guard case .taken(let since, false) = place, other == nil, isReachable else { return nil }
    return since + Self.seatGrace
  }
}
