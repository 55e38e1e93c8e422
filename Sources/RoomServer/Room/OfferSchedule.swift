import MediaCore

/// When the server may offer on a subscriber's connection (RFC 8829 section 3.2: one exchange at a time).
///
/// Changes are gathered for a moment, so that a participant with three tracks costs one exchange. While an offer
/// waits for its answer no other is made; changes meanwhile lead to one more afterwards. Pure: times are arguments.
struct OfferSchedule {
  /// What the owner has to do now.
  enum Action: Hashable, Sendable {
    /// Nothing before this time; nil: nothing at all.
    case wait(until: Instant?)
    /// Make and send an offer; the schedule counts it as sent.
    case offer
    /// The answer hasn't come in time: the connection can't go on.
    case giveUp
  }

  /// How long changes are gathered.
  static let debounce = Duration.milliseconds(100)
  /// How long the first offer waits; a joining client waits for it.
  static let firstDebounce = Duration.milliseconds(10)
  /// How long a client may take to answer.
  static let answerTimeout = Duration.seconds(15)

  private enum State {
    case idle
    case gathering(until: Instant)
    case offered(at: Instant, again: Bool)
    case failed
  }

  private var state = State.idle
  private var hasOffered = false

  /// A schedule in which nothing has been offered.
  init() {}

  /// True from an offer until its answer.
  var isAwaitingAnswer: Bool {
    if case .offered = state { return true }
    return false
  }

  /// Something changed that needs an offer.
  mutating func request(now: Instant) {
    switch state {
    case .idle: state = .gathering(until: now + (hasOffered ? Self.debounce : Self.firstDebounce))
    case .offered(let at, _): state = .offered(at: at, again: true)
    case .gathering, .failed: break
    }
  }

  /// The answer came. False when none was awaited: it must not be applied.
  mutating func answered(now: Instant) -> Bool {
    guard case .offered(_, let again) = state else { return false }
    state = .idle
    if again { request(now: now) }
    return true
  }

  /// The offer that was sent, if any, will not be answered; another one is due.
  mutating func withdrawn(now: Instant) {
    guard case .offered = state else { return }
    state = .idle
    request(now: now)
  }

  /// Says what is to be done; call it after every change and at the time that it names.
  mutating func next(now: Instant) -> Action {
    switch state {
    case .idle, .failed: return .wait(until: nil)
    case .gathering(let until):
      guard now >= until else { return .wait(until: until) }
      hasOffered = true
      state = .offered(at: now, again: false)
      return .offer
    case .offered(let at, _):
      guard now >= at + Self.answerTimeout else { return .wait(until: at + Self.answerTimeout) }
      state = .failed
      return .giveUp
    }
  }
}
