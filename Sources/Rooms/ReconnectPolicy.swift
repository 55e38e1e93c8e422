import MediaCore

/// When to join, to wait, to resume, to join anew, to use relays only, and when to give up: one state machine over
/// events and deadlines for every kind of room connection.
///
/// A pure value: times (moments of one monotonic clock) are arguments, randomness comes from the seed. Which state
/// follows which is the table in `ReconnectPolicy+Table.swift`, from which the documentation is made too.
///
/// Large: its table of states and events is half of it, and each clock that runs in a state has a property.
public struct ReconnectPolicy: Sendable {
  /// How pauses between attempts are made after a loss.
  public enum Rule: Hashable, Sendable {
    /// Pauses double from `base` to `cap`, each random between half and all of its span.
    case backOff
    /// EnableX's rule: so many attempts (`number_of_attempts`, at least 1), and always the same time between them
    /// (`timeout_interval`).
    case fixed(attempts: Int, interval: Duration)
  }

  /// The numbers.
  public struct Settings: Hashable, Sendable {
    /// Whether a lost connection is restored at all (EnableX's `allow_reconnect`).
    public var allowsReconnect = true
    /// How attempts follow each other.
    public var rule = Rule.backOff
    /// For how long a connection may be down; nil for as long as the recording lasts. That is right for a
    /// recorder: it is told when to stop.
    public var limit: Duration?
    /// For how long the first join is tried again while there is no such room, no place, or no server.
    public var waitForRoom = Duration.zero
    /// For how long the bot stays in the room without being let in; nil: not at all.
    public var waitForAdmission: Duration?
    /// Whether only relayed candidates are ever used (EnableX's `forceTurn`).
    public var relayOnly = false

    /// The defaults.
    public init() {}
  }

  /// Longest pause before the second attempt; it doubles with each further one. So it is before the first join too,
  /// for as long as the room is waited for: how long a room that begins is not recorded is what matters then.
  public static let base = Duration.milliseconds(300)
  /// Upper end of the pause: an outage ends at any time, and a second is what may be lost of a recording then.
  public static let cap = Duration.seconds(1)
  /// The upper end when the loss is older than `patienceAfter`.
  public static let patientCap = Duration.seconds(5)
  /// When pauses begin to be longer, so long after the loss.
  public static let patienceAfter = Duration.seconds(600)
  /// Pauses of a session that comes back while the server or the room has no place: they double from the one to the
  /// other.
  public static let slowBase = Duration.seconds(2)
  /// See `slowBase`.
  public static let slowCap = Duration.seconds(30)
  /// No two attempts begin within this; only the join after a refused resume follows at once, once a loss.
  public static let spacing = Duration.milliseconds(200)
  /// For how long without media attempts resume the old session before they join anew. A resume keeps media
  /// flowing, and a server that doesn't know the session any more says so at once; so it is worth some patience. Also
  /// for how long a server may answer resumes with what cannot be understood.
  public static let resumeTime = Duration.seconds(15)
  /// The same while media still flows, from the loss on: a session that flows is not forgotten, and joining anew
  /// would interrupt it. But who comes into the room meanwhile is not seen.
  public static let resumeTimeWithMedia = Duration.seconds(300)
  /// How many joins without media are made when media never worked; one more when relays are known.
  public static let mediaAttempts = 2

  /// One attempt to get in.
  public enum Attempt: Hashable, Sendable {
    /// Takes up the session where it was: new signalling, ICE restart.
    case resume
    /// A session of its own with a fresh token, always under the same identity.
    case join(relayOnly: Bool)
  }

  /// What happened.
  public enum Event: Hashable, Sendable {
    /// Begin.
    case start
    /// The server took the attempt; media is to follow. After a resume: the server knows the session.
    case joined
    /// The server took the join, but the bot may not receive anything yet.
    case held
    /// The bot that was held may receive now.
    case admitted
    /// Signalling and media are there.
    case connected
    /// An attempt was answered with an error, or not at all.
    case failed(RoomError)
    /// The server doesn't know the session that was to be resumed.
    case refused(RoomError)
    /// Media didn't come about after the server had taken the attempt.
    case mediaFailed(RoomError)
    /// A connection that stood is lost.
    case lost(RoomError, canResume: Bool)
    /// The server ended the session for good.
    case over(RoomError)
    /// This machine's addresses or routes changed.
    case networkChanged
    /// Somebody who knows says that the room is there, while it is waited for.
    case roomSeen
    /// `nextDeadline` is reached.
    case timer
  }

  /// What to do.
  public enum Decision: Hashable, Sendable {
    /// Nothing now.
    case none
    /// Make this attempt.
    case attempt(Attempt)
    /// The session is over; the error says how it ends.
    case finish(RoomError)
  }

  /// Where the connection stands.
  public private(set) var state = State.idle
  /// Attempts since the loss (or since the start).
  public private(set) var attempts = 0
  /// The last error, and what is done about it; nil when all is well.
  public private(set) var error: RoomError?
  /// What is done about `error`.
  public private(set) var action = RoomError.Action.none
  /// Whether TURN servers are known; set it when it changes.
  public var hasRelays = false
  /// Whether a token can be made anew.
  public var canRenewToken = false
  /// When something last came over the media connection; nil when nothing is known of that. Set it before `handle`.
  public var mediaHeardAt: Instant?

  private let settings: Settings
  private var random: SeededRandom
  /// When the present attempt, or the one before, began.
  private var attemptAt: Instant?
  /// When to make the next attempt; nil while one is under way or none is needed.
  private var dueAt: Instant?
  private var startedAt = Instant.distantPast
  private var heldAt: Instant?
  private var lostAt: Instant?
  /// Since when the server answers resumes with what cannot be understood.
  private var misunderstoodAt: Instant?
  private var pauses = 0
  private var slowPauses = 0
  private var mediaFailures = 0
  private var everConnected = false
  private var prefersRelay = false
  private var skipsSpacing = false
  private var wasRefused = false
  private var hasRenewedToken = false

  /// Makes a policy; `seed` decides the jitter.
  public init(settings: Settings = Settings(), seed: UInt64) {
    self.settings = settings
    random = SeededRandom(seed: seed)
  }

  /// When `timer` must be said; nil when nothing is due by time.
  public var nextDeadline: Instant? {
    guard state != .ended else { return nil }
    return [dueAt, limitAt, state == .waitingForAdmission ? admissionEnd : nil].compactMap { $0 }.min()
  }

  /// When the next attempt will be made; nil when none is planned.
  public var nextAttemptAt: Instant? { dueAt }

  /// True from a loss until signalling and media are there again.
  public var isLost: Bool { lostAt != nil }

  /// Whether a lost connection is restored at all.
  public var allowsReconnect: Bool { settings.allowsReconnect }

  private var limitAt: Instant? {
    guard let limit = settings.limit, let lostAt else { return nil }
    return lostAt + limit
  }

  private var admissionEnd: Instant? {
    guard let heldAt, let patience = settings.waitForAdmission else { return nil }
    return heldAt + patience
  }

  /// Until when a first join may be tried again.
  private var joinEnd: Instant { max(startedAt + settings.waitForRoom, admissionEnd ?? .distantPast) }

  /// Takes an event at `now` and says what to do.
  public mutating func handle(_ event: Event, at now: Instant) -> Decision {
    guard state != .ended else { return .none }
    switch event {
    case .start:
      startedAt = now
      return move(.start, at: now)
    case .joined:
      if !hasJoined { (error, action) = (nil, .none) }
      return move(.joined, at: now)
    case .held:
      guard settings.waitForAdmission != nil else {
        return finish(RoomError(.notPermitted, "canSubscribe is false"), hasJoined: false)
      }
      heldAt = heldAt ?? now
      (error, action) = (nil, .none)
      return move(.held, at: now)
    case .admitted: return move(.admitted, at: now)
    case .connected: return connected(at: now)
    case .failed(let error): return failed(error, at: now)
    case .refused(let error):
      skipsSpacing = !wasRefused
      wasRefused = true
      return note(error, .rejoin, .refused, at: now)
    case .mediaFailed(let error): return mediaFailed(error, at: now)
    case .lost(let error, let canResume): return lost(error, canResume: canResume, at: now)
    case .over(let error): return finish(error, hasJoined: hasJoined)
    case .networkChanged:
      prefersRelay = false
      (pauses, slowPauses) = (0, 0)
      if isLost { (error, action) = (RoomError(.networkChanged), .retry) }
      // A first join that is under way has its own time; an attempt to come back uses the network as it was.
      return hasJoined || dueAt != nil ? move(.networkChanged, at: now) : .none
    case .roomSeen:
      guard !hasJoined else { return .none }
      // An attempt that is under way may have come a moment too early: the one after it follows soon.
      pauses = 0
      return dueAt != nil ? move(.roomSeen, at: now) : .none
    case .timer: return timer(at: now)
    }
  }

  /// Whether the first join is complete.
  private var hasJoined: Bool {
    switch state {
    case .idle, .connecting, .waitingForRoom, .waitingForAdmission: false
    case .joined, .connected, .resuming, .rejoining, .relaying, .ended: true
    }
  }

  private mutating func connected(at now: Instant) -> Decision {
    if state == .relaying { prefersRelay = true }
    (everConnected, mediaFailures, lostAt, dueAt, error, action) = (true, 0, nil, nil, nil, .none)
    (attempts, pauses, slowPauses, wasRefused, hasRenewedToken) = (0, 0, 0, false, false)
    return move(.connected, at: now)
  }

  private mutating func failed(_ error: RoomError, at now: Instant) -> Decision {
    var action = error.action(hasJoined: hasJoined)
    if error.kind == .tokenExpired, hasJoined {
      // A fresh token helps once; a second time something else is wrong.
      action = canRenewToken && !hasRenewedToken ? .rejoin : .fail
      hasRenewedToken = true
    }
    if error.kind == .protocolError { misunderstoodAt = misunderstoodAt ?? now }
    if !hasJoined, now >= joinEnd, action == .retry || action == .wait { action = .fail }
    switch action {
    case .retry, .none: return note(error, .retry, .retry, at: now)
    case .rejoin: return note(error, .rejoin, .refused, at: now)
    case .wait: return note(error, .wait, .later, at: now)
    case .complete, .fail: return finish(error, hasJoined: hasJoined)
    }
  }

  private mutating func mediaFailed(_ error: RoomError, at now: Instant) -> Decision {
    mediaFailures += 1
    let isHopeless = settings.relayOnly && !hasRelays
    if !everConnected, isHopeless || mediaFailures >= Self.mediaAttempts + (canUseRelay ? 1 : 0) {
      return finish(error, hasJoined: true)
    }
    if state == .rejoining { prefersRelay = false }
    begin(loss: error, at: now)
    guard settings.allowsReconnect else { return finish(error, hasJoined: true) }
    return note(error, .rejoin, canUseRelay ? .noMediaButRelay : .noMedia, at: now)
  }

  private var canUseRelay: Bool { hasRelays && !settings.relayOnly }

  private mutating func lost(_ error: RoomError, canResume: Bool, at now: Instant) -> Decision {
    guard state != .waitingForAdmission else {
      return note(error, .retry, canResume ? .broken : .cut, at: now)
    }
    begin(loss: error, at: now)
    guard settings.allowsReconnect else { return finish(error, hasJoined: true) }
    return note(error, canResume ? .retry : .rejoin, canResume ? .broken : .cut, at: now)
  }

  private mutating func begin(loss error: RoomError, at now: Instant) {
    guard lostAt == nil else { return }
    lostAt = now
    (attempts, pauses, slowPauses, wasRefused, hasRenewedToken) = (0, 0, 0, false, false)
    misunderstoodAt = nil
  }

  private mutating func timer(at now: Instant) -> Decision {
    if let limitAt, limitAt <= now { return giveUp(.reconnectTimeout) }
    if state == .waitingForAdmission, let admissionEnd, admissionEnd <= now {
      return finish(RoomError(.notAdmitted), hasJoined: false)
    }
    guard let dueAt, dueAt <= now else { return .none }
    return move(state == .resuming && isResumeTimeOver(at: now) ? .resumeTimeOver : .due, at: now)
  }

  /// Whether joining anew is worth what it costs, while resumes fail.
  private func isResumeTimeOver(at now: Instant) -> Bool {
    guard let lostAt else { return false }
    if let misunderstoodAt, now - misunderstoodAt > Self.resumeTime { return true }
    return now - max(lostAt, mediaHeardAt ?? lostAt) > Self.resumeTime || now - lostAt > Self.resumeTimeWithMedia
  }

  // MARK: Carrying out the table

  private mutating func note(
    _ error: RoomError, _ action: RoomError.Action, _ trigger: Trigger, at now: Instant
  ) -> Decision {
    (self.error, self.action) = (error, action)
    return move(trigger, at: now)
  }

  private mutating func move(_ trigger: Trigger, at now: Instant) -> Decision {
    guard let transition = Self.transition(from: state, on: trigger) else { return .none }
    state = transition.to
    switch transition.command {
    case .none: return .none
    case .expectMedia, .hold:
      dueAt = nil
      return .none
    case .resume, .join, .relay: return schedule(.zero, at: now)
    case .pause: return schedule(pause(at: now), at: now)
    case .pauseLong: return schedule(slowPause(), at: now)
    }
  }

  private mutating func pause(at now: Instant) -> Duration {
    if case .fixed(_, let interval) = settings.rule, hasJoined { return max(.zero, interval) }
    defer { pauses += 1 }
    let isPatient = hasJoined && now - (lostAt ?? startedAt) > Self.patienceAfter
    let span = min(isPatient ? Self.patientCap : Self.cap, Self.base * (1 << min(pauses, 30))).nanoseconds
    return .nanoseconds(Int64.random(in: (span / 2)...span, using: &random))
  }

  private mutating func slowPause() -> Duration {
    if case .fixed(_, let interval) = settings.rule, hasJoined { return max(.zero, interval) }
    defer { slowPauses += 1 }
    let span = min(Self.slowCap, Self.slowBase * (1 << min(slowPauses, 30))).nanoseconds
    return .nanoseconds(Int64.random(in: (span / 2)...span, using: &random))
  }

  /// Plans the next attempt: `delay` after the one before began, and not sooner than the spacing allows.
  private mutating func schedule(_ delay: Duration, at now: Instant) -> Decision {
    if case .fixed(let most, _) = settings.rule, hasJoined, attempts >= max(1, most), !skipsSpacing {
      return giveUp(.connectionLost)
    }
    let wait = skipsSpacing ? .zero : max(delay, Self.spacing)
    var due = max(now, (attemptAt ?? (now - wait)) + wait)
    if !hasJoined { due = max(now, min(due, joinEnd)) }
    guard due <= now else {
      dueAt = due
      return .none
    }
    dueAt = nil
    attemptAt = now
    // The join that follows a refused resume is the same attempt.
    if !skipsSpacing { attempts += 1 }
    skipsSpacing = false
    switch state {
    case .resuming: return .attempt(.resume)
    case .relaying: return .attempt(.join(relayOnly: true))
    default: return .attempt(.join(relayOnly: settings.relayOnly || prefersRelay))
    }
  }

  /// The end of all attempts: the limit that was reached, with the last failure as its detail.
  private mutating func giveUp(_ kind: RoomError.Kind) -> Decision {
    finish(RoomError(kind, error?.summary ?? "", httpStatus: error?.httpStatus), hasJoined: true)
  }

  private mutating func finish(_ error: RoomError, hasJoined: Bool) -> Decision {
    self.error = error
    action = error.action(hasJoined: hasJoined) == .complete ? .complete : .fail
    state = .ended
    dueAt = nil
    return .finish(error)
  }
}
