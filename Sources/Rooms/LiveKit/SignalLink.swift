import MediaCore
import Session
import Signaling

/// The signal connection of a LiveKit session: a WebSocket, one number for each attempt, on which the first message
/// decides and pings tell whether the server is there. When it is tried again is `ReconnectPolicy`'s decision. A pure
/// value; times are moments of one monotonic clock.
///
/// ```
///            connect               open                leave
///   idle ──────────────► connecting ─────────► open ──────────► leaving
///                         ▲   │ failed, refused, │ close            │
///                 connect │   ▼ close            ▼                  │ end
///                        closed ◄────────────────┘                  ▼
///                           └──────────────── end ───────────────► ended
/// ```
/// `end` leads to `ended` from everywhere. Deadlines: in `connecting` for the first message (`isOverdue`), in `open` for
/// any message (`isServerSilent`) and for the next ping, in `leaving` for the farewell.
struct SignalLink: Sendable {
  /// Where signalling stands.
  enum Phase: Hashable, Sendable {
    case idle
    /// A WebSocket is being opened, or the first message is awaited.
    case connecting(ReconnectPolicy.Attempt)
    case open
    /// No WebSocket, until the policy says so.
    case closed
    /// The farewell is being sent.
    case leaving(until: Instant)
    case ended
  }

  /// The version of the signalling protocol that is spoken here.
  static let protocolVersion = 16
  /// When coming back: the longest time until the server is reached by TCP. In it the system asks twice (after 0
  /// and 1 s), so that an outage that ends is noticed within a second.
  static let reachTime = Duration.seconds(2)
  /// When coming back: the longest time from there to the first message.
  static let answerTime = Duration.seconds(8)
  /// How long the farewell may take.
  static let leaveTime = Duration.milliseconds(500)
  /// How long the server may take to answer a ping; on long ways more.
  static let pongTime = Duration.milliseconds(500)
  /// The least time between two pings that ask whether the server is there.
  static let askInterval = Duration.seconds(1)

  /// Where signalling stands.
  private(set) var phase = Phase.idle
  /// The number of the WebSocket; what comes from others is of no account.
  private(set) var attempt = 0
  /// The bot's session id at the server, by which it resumes.
  private(set) var participantSID = ""
  /// The newest token that the server sent.
  @Redacted private(set) var refreshedToken: String? = nil
  /// When the server was last heard.
  private(set) var heardAt = Instant.distantPast
  /// When signalling was last opened.
  private(set) var openedAt = Instant.distantPast
  /// What a resume gives as its cause.
  private var reason = Livekit_ReconnectReason.rrUnknown
  private var pingInterval = Duration.seconds(5)
  private var pingTimeout = Duration.seconds(15)
  private var roundTripTime = Duration.zero
  private var connectDeadline: Instant?
  private var pingAt: Instant?
  private var silenceDeadline: Instant?
  /// When the server was last asked whether it is there.
  private var askedAt: Instant?
  private let settings: LiveKitSettings

  /// A link that is not opened yet.
  init(settings: LiveKitSettings) { self.settings = settings }

  /// Whether messages come and go.
  var isOpen: Bool { phase == .open }

  /// Whether there is a WebSocket, or one is being opened.
  var isInUse: Bool { phase != .idle && phase != .closed }

  /// Whether the session goes on.
  var isLive: Bool {
    switch phase {
    case .idle, .connecting, .open, .closed: true
    case .leaving, .ended: false
    }
  }

  /// What is being tried; nil when nothing is.
  var attempted: ReconnectPolicy.Attempt? {
    if case .connecting(let kind) = phase { kind } else { nil }
  }

  /// When something is due by time; nil for never.
  var nextDeadline: Instant? {
    switch phase {
    case .ended: nil
    case .leaving(let until): until
    case .idle, .connecting, .open, .closed: [connectDeadline, pingAt, silenceDeadline].compactMap { $0 }.min()
    }
  }

  // MARK: Opening

  /// Begins an attempt: what the WebSocket is to ask, with which token. `isReturn`: the bot has been in the room. Throws
  /// when there is no token; the link is closed then.
  mutating func connect(
    _ kind: ReconnectPolicy.Attempt, isReturn: Bool, autoSubscribe: Bool, at now: Instant
  ) throws(RoomError) -> (query: SignalQuery, token: Redacted<String>) {
    attempt += 1
    phase = .connecting(kind)
    connectDeadline = now + (isReturn ? min(settings.connectTimeout, Self.reachTime) : settings.connectTimeout)
    var query = SignalQuery()
    query.protocolVersion = Self.protocolVersion
    query.autoSubscribe = autoSubscribe
    if kind == .resume {
      query.reconnect = true
      query.participantSID = participantSID
      query.reconnectReason = reason
    }
    do {
      let token = try settings.tokens.token(
        now: (now.nanoseconds &+ settings.wallClockOffset) / 1_000_000_000, refreshed: refreshedToken)
      return (query, Redacted(token))
    } catch {
      failed()
      throw error
    }
  }

  /// TCP stands: from here on an attempt to come back has its own time.
  mutating func reached(isReturn: Bool, at now: Instant) {
    if attempted != nil, isReturn { connectDeadline = now + Self.answerTime }
  }

  /// The first message has come.
  mutating func answered() { connectDeadline = nil }

  /// The server took the bot in, under this id and with these times (s; it leaves them at 0 only by mistake).
  mutating func joined(as sid: String, pingInterval: Int32, pingTimeout: Int32) {
    participantSID = sid
    self.pingInterval = Self.seconds(pingInterval, default: 5)
    self.pingTimeout = max(Self.seconds(pingTimeout, default: 15), self.pingInterval + .seconds(1))
  }

  /// The attempt succeeded.
  mutating func open(at now: Instant) {
    phase = .open
    pingAt = now + pingInterval
    openedAt = now
    heard(at: now)
  }

  /// The attempt failed.
  mutating func failed() {
    connectDeadline = nil
    phase = .closed
  }

  /// The server answered the attempt with `leave`: nothing that it says now counts.
  mutating func refused() {
    attempt += 1
    failed()
  }

  // MARK: While it is open

  /// A message came. Any message proves that the server is there; not only answers to pings.
  mutating func heard(at now: Instant) {
    silenceDeadline = now + pingTimeout
    heardAt = now
  }

  /// A ping, with which the next one is planned.
  mutating func ping(at now: Instant) -> Livekit_SignalRequest {
    pingAt = now + pingInterval
    let milliseconds = (now.nanoseconds &+ settings.wallClockOffset) / 1_000_000
    let rtt = roundTripTime.milliseconds
    return .with { $0.pingReq = .with { ($0.timestamp, $0.rtt) = (milliseconds, rtt) } }
  }

  /// The answer to a ping that was sent at this time, ms since 1970.
  mutating func ponged(_ sentAt: Int64, at now: Instant) {
    let milliseconds = (now.nanoseconds &+ settings.wallClockOffset) / 1_000_000
    roundTripTime = min(.seconds(60), max(.zero, .milliseconds(milliseconds &- sentAt)))
  }

  /// A ping that asks whether the server is there; nil while it owes an answer, or was asked lately.
  mutating func ask(at now: Instant) -> Livekit_SignalRequest? {
    guard isOpen, unanswered(at: now) == .zero else { return nil }
    if let askedAt, now - askedAt < Self.askInterval { return nil }
    askedAt = now
    return ping(at: now)
  }

  /// May be asked at once, whenever that was done before.
  mutating func allowQuestion() { askedAt = nil }

  /// The server sent a token for the next join.
  mutating func refresh(_ token: String) {
    if !token.isEmpty { refreshedToken = token }
  }

  /// The server moved the bot to another room, where it has this id.
  mutating func moved(to sid: String) { participantSID = sid }

  /// How long the server has owed an answer; zero when it owes none.
  func unanswered(at now: Instant) -> Duration {
    guard isOpen, let askedAt, heardAt < askedAt else { return .zero }
    return now - askedAt
  }

  /// How long to wait for an answer.
  var patience: Duration { Self.pongTime + roundTripTime * 2 }

  // MARK: What is due

  /// Whether the first message has not come in time.
  func isOverdue(at now: Instant) -> Bool { connectDeadline.map { $0 <= now } ?? false }

  /// Whether no message has come for too long.
  func isServerSilent(at now: Instant) -> Bool { silenceDeadline.map { $0 <= now } ?? false }

  /// Whether a ping is due.
  func isPingDue(at now: Instant) -> Bool { isOpen && pingAt.map { $0 <= now } ?? false }

  // MARK: Ends

  /// What the next resume gives as its cause.
  mutating func note(_ reason: Livekit_ReconnectReason) { self.reason = reason }

  /// Gives the WebSocket up. What comes from it afterwards is of an older attempt.
  mutating func close() {
    attempt += 1
    phase = .closed
    (connectDeadline, pingAt, silenceDeadline) = (nil, nil, nil)
  }

  /// The farewell is on its way.
  mutating func leave(at now: Instant) { phase = .leaving(until: now + Self.leaveTime) }

  /// Whether the farewell has had its time.
  func hasLeft(at now: Instant) -> Bool {
    if case .leaving(let until) = phase { until <= now } else { false }
  }

  /// The session is over.
  mutating func end() { phase = .ended }

  private static func seconds(_ value: Int32, default fallback: Int32) -> Duration {
    .seconds(value > 0 ? min(value, 3600) : fallback)
  }
}
