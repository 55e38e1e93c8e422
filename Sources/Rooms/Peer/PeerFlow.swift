import Logging
import MediaCore
import Session
import Signaling
import Transport

/// All decisions of one peer of a two-party room, without input and output: what happened goes in, what to do comes
/// out. Times are nanoseconds of one monotonic clock.
///
/// The host offers, the guest answers. Every attempt is an exchange with an `id` of its own and two deadlines: for the
/// descriptions, and from then on for candidates and connection. When one passes, when the connection fails, or when
/// the other side deletes or replaces its data, the whole flow is reset: the connection is closed, what was stored is
/// deleted, and the host offers anew. A connection that falls silent is first given an ICE restart.
///
/// What should stand in the mailbox (`local`) is kept apart from what does (`own`); the difference is written again and
/// again until it is gone. So a mailbox that fails, or forgets everything, needs no states of its own.
///
/// Large: mailbox, exchange and what the recording is told still share one state; `LiveKitSession` shows how to part them.
struct PeerFlow: Sendable {
  /// Something that happened. The numbers say of which request, exchange or connection; what belongs to an older one
  /// is ignored.
  enum Input: Sendable {
    case join
    case answered(request: Int, Result<MailboxView, MailboxFault>)
    /// The local description is made.
    case described(exchange: Int, sdp: String)
    /// Both descriptions are applied; what the other side sends.
    case applied(exchange: Int, [MediaSection])
    /// A description could not be made or applied.
    case unusable(exchange: Int, String)
    case gathered(generation: Int, String)
    case transport(generation: Int, TransportState)
    /// Something has come from the other side since the last time.
    case heard(generation: Int)
    case channelOpened(generation: Int)
    case message(generation: Int, PeerMessage)
    /// This machine's addresses or routes changed.
    case networkChanged
    case leave
    /// `nextDeadline` is reached.
    case timer
  }

  typealias Action = RoomAction<PeerRequest>

  /// Where the session stands.
  enum Phase: Hashable, Sendable {
    case idle
    /// The first seat is asked for.
    case joining
    case running
    /// The farewell is being sent.
    case leaving(until: Int64)
    case ended
  }

  /// What doesn't change.
  struct Settings: Sendable {
    var room: String
    /// Nil to take the seat that is free.
    var role: PeerRole?
    var name: String
    /// New for every run.
    var session: String
    /// When to wait, to come back, and to give up.
    var reconnect = ReconnectPolicy.Settings()
    /// Whether TURN servers are known besides those that the mailbox names.
    var hasRelays = false
    /// Whether a new token is made when one is too old.
    var canRenewToken = false
    /// Decides the jitter of waits.
    var seed: UInt64
  }

  /// One attempt to connect, or to restart ICE.
  struct Exchange: Sendable {
    enum Stage: Hashable, Sendable {
      /// The local description is being made.
      case describing
      /// The host's offer waits for its answer.
      case offered
      /// Both descriptions are there.
      case exchanged
    }

    var number: Int
    /// The offer's id, which both sides know the attempt by.
    var offer: String
    /// The offer that this one goes on from (ICE restart).
    var continues: String?
    /// The other side's session.
    var session: String
    var stage = Stage.describing
    /// How many of the other side's candidates were taken.
    var candidates = 0
    /// By when the descriptions must be exchanged; nil when they are.
    var exchangeDeadline: Int64?
    /// By when media must flow; nil while it does.
    var connectDeadline: Int64?
  }

  /// One peer connection.
  struct Media: Sendable {
    var generation: Int
    var state = TransportState.new
    var sections: [MediaSection] = []
    /// When something came last.
    var heardAt: Int64 = 0
    /// True once the other side says something each second: then silence means loss.
    var hasHeartbeat = false
    var isChannelOpen = false
    var sayAt: Int64 = 0
    /// What the other side says of itself.
    var isCameraOn = true
    var isMicrophoneOn = true
  }

  /// Who sits opposite.
  struct Person: Hashable, Sendable {
    var identity: String
    var name: String
    var session: String
  }

  /// From the beginning of an attempt until both descriptions are exchanged.
  static let exchangeTime: Int64 = 4_000_000_000
  /// From then until the connection stands; also for how long a connection that fell silent may take to come back.
  static let connectTime: Int64 = 15_000_000_000
  /// How long a connection with a heartbeat may be silent.
  static let quietTime: Int64 = 2_500_000_000
  /// How often the own state is told.
  static let heartbeat: Int64 = 1_000_000_000
  /// How long the other side has to take its seat again in a mailbox that forgot everybody.
  static let seatGrace: Int64 = 10_000_000_000
  /// How long the farewell may take.
  static let leaveTime: Int64 = 1_000_000_000
  /// How long nobody may be reachable before the recording is told.
  static let unreachableTime: Int64 = 3_000_000_000
  /// As many candidates are given to the mailbox.
  static let maximumCandidates = 60

  let settings: Settings
  var phase = Phase.idle
  var hasJoined = false
  /// Until when a first join that fails is tried again.
  var joinBy: Int64 = 0

  // The mailbox.
  var role: PeerRole?
  var isSeated = false
  var seatedAt: Int64 = 0
  /// True when somebody was seen opposite since the seat was taken.
  var hasSeenOther = false
  var isReachable = true
  var revision: UInt64 = 0
  var own: MailboxView.Own?
  var other: MailboxView.Seat?
  var iceServers: [ICEServer] = []
  var local: MailboxDescription?
  var requests = 0
  var seatRequest: Int?
  var watchRequest: Int?
  var writeRequest: Int?
  var failures = 0
  var mailboxRetryAt: Int64?
  /// True when the role that was held could not be had again.
  var mayChangeRole = false

  // The connection.
  var exchange: Exchange?
  var exchanges = 0
  var generation = 0
  var media: Media?
  var resets = 0
  var retryAt: Int64 = 0
  /// Exchanges that were begun since media was lost, and when the last one was.
  var attempts = 0
  var attemptAt: Int64 = 0
  /// True when the next connection goes over relays only, because the one before never stood.
  var prefersRelay = false
  /// The offer that led nowhere.
  var spentOffer: String?

  // What the recording knows.
  var person: Person?
  var announced = RoomState()
  var announcedSession: String?
  var bound: [MID: TrackID] = [:]
  /// True while media flows.
  var isUp = false
  /// True when no ICE restart has been tried since media was lost.
  var isLossNew = false
  var isLossTold = false
  var lostAt: Int64?
  /// Why media, or the mailbox before it, was lost.
  var loss: RoomError?

  var random: SeededRandom
  var toldStatus = RoomStatus()
  private var actions: [Action] = []

  /// Makes a flow that waits for `join`.
  init(settings: Settings) {
    self.settings = settings
    random = SeededRandom(seed: settings.seed)
  }

  /// When `timer` is wanted; nil for never.
  var nextDeadline: Int64? {
    switch phase {
    case .idle, .ended: return nil
    case .leaving(let until): return until
    case .joining, .running: break
    }
    var deadlines = [mailboxRetryAt, exchange?.exchangeDeadline, exchange?.connectDeadline]
    if role == .host, exchange == nil, other != nil, isSeated { deadlines.append(retryAt) }
    if let media {
      if media.hasHeartbeat, isUp { deadlines.append(media.heardAt &+ Self.quietTime) }
      if media.isChannelOpen { deadlines.append(media.sayAt) }
    }
    if person != nil, other == nil, !isUp, isSeated, isReachable, !hasSeenOther {
      deadlines.append(seatedAt &+ Self.seatGrace)
    }
    if let limit = settings.reconnect.limit, let lostAt { deadlines.append(lostAt &+ limit) }
    return deadlines.compactMap { $0 }.min()
  }

  /// Takes an input and returns what is to be done, in order.
  mutating func handle(_ input: Input, at now: Int64) -> [Action] {
    actions.removeAll(keepingCapacity: true)
    switch phase {
    case .ended: break
    case .leaving(let until):
      switch input {
      case .answered(let number, _) where number == writeRequest: finish(.stopped, nil)
      case .timer where until <= now: finish(.stopped, nil)
      default: break
      }
    default:
      dispatch(input, at: now)
      if phase == .running || phase == .joining { drive(at: now) }
      tellStatus(at: now)
    }
    return actions
  }

  private mutating func dispatch(_ input: Input, at now: Int64) {
    switch input {
    case .join:
      if phase == .idle {
        phase = .joining
        joinBy = now &+ settings.reconnect.waitForRoom
      }
    case .answered(let number, let result): answered(number, result, at: now)
    case .described(let number, let sdp): if number == exchange?.number { described(sdp, at: now) }
    case .applied(let number, let sections): if number == exchange?.number { media?.sections = sections }
    case .unusable(let number, let text):
      if number == exchange?.number { reset("Connection failed: \(text)", at: now) }
    case .gathered(let number, let candidate):
      if number == media?.generation, (local?.candidates.count ?? 0) < Self.maximumCandidates {
        local?.candidates.append(candidate)
      }
    case .transport(let number, let state): if number == media?.generation { transportChanged(state, at: now) }
    case .heard(let number): if number == media?.generation { heard(at: now) }
    case .channelOpened(let number):
      if number == media?.generation {
        media?.isChannelOpen = true
        say(at: now)
      }
    case .message(let number, let message): if number == media?.generation { said(message, at: now) }
    case .networkChanged: networkChanged(at: now)
    case .leave: leave(at: now)
    case .timer: timer(at: now)
    }
  }

  private mutating func timer(at now: Int64) {
    if let due = mailboxRetryAt, due <= now { mailboxRetryAt = nil }
    if let deadline = exchange?.exchangeDeadline, deadline <= now {
      if canExpect { reset("Connection timeout: no session description in time", at: now) } else { extend(at: now) }
    }
    if let deadline = exchange?.connectDeadline, deadline <= now {
      if canExpect { reset("Connection timeout", isMediaFailure: true, at: now) } else { extend(at: now) }
    }
    if let media, media.hasHeartbeat, isUp, media.heardAt &+ Self.quietTime <= now {
      lost(RoomError(.mediaLost, "nothing comes from the other side"), at: now)
    }
    if let media, media.isChannelOpen, media.sayAt <= now { say(at: now) }
    if let limit = settings.reconnect.limit, let lostAt, lostAt &+ limit <= now {
      fail(RoomError(.reconnectTimeout, lossText))
    }
  }

  /// Deadlines count only while the other side could do its part, and never against a connection that works.
  private var canExpect: Bool { isReachable && isSeated && other != nil && !isUp }

  private mutating func extend(at now: Int64) {
    if let deadline = exchange?.exchangeDeadline, deadline <= now { exchange?.exchangeDeadline = now &+ 1_000_000_000 }
    if let deadline = exchange?.connectDeadline, deadline <= now { exchange?.connectDeadline = now &+ 1_000_000_000 }
  }

  /// Does what follows from all that is known.
  private mutating func drive(at now: Int64) {
    if phase == .running { follow(at: now) }
    if phase == .running { depart(at: now) }
    guard phase == .running || phase == .joining else { return }
    tell()
    askMailbox(at: now)
  }

  // MARK: What the parts in the other files use

  mutating func add(_ action: Action) { actions.append(action) }

  mutating func log(_ level: Logger.Level, _ text: String) { actions.append(.log(level, text)) }

  mutating func finish(_ end: SessionEnd, _ error: RoomError?) {
    guard phase != .ended else { return }
    phase = .ended
    add(.closeMedia)
    add(.emit(.ended(end)))
    tellEnd(error)
    add(.finished(end, error))
  }

  /// A fault ends the session.
  mutating func fail(_ error: RoomError) { finish(.connectionLost(error.summary), error) }

  /// Half to all of a span that doubles from `base` up to `cap`; none for the first.
  mutating func backOff(_ count: Int, base: Int64, cap: Int64) -> Int64 {
    guard count > 1 else { return 0 }
    let span = min(cap, base << Int64(min(count - 2, 20)))
    return Int64.random(in: (span / 2)...span, using: &random)
  }
}

/// What a peer asks of its transport of signalling.
enum PeerRequest: Sendable, Equatable {
  case request(Int, MailboxRequest)
  /// Make an offer; `described` or `unusable` follows.
  case offer(exchange: Int, restartsICE: Bool)
  /// Take the offer and answer; `described` and `applied`, or `unusable`, follow.
  case answer(exchange: Int, sdp: String)
  /// Take the answer; `applied` or `unusable` follows.
  case accept(exchange: Int, sdp: String)
  case say(PeerMessage)
}
