import MediaCore
import Signaling

/// The exchange of descriptions and candidates with the other side. The host offers, the guest answers; every attempt is
/// an exchange with an id of its own, on its way through the stages below, and two deadlines: for the descriptions, and
/// from then on for candidates and connection. A pure value; times are moments of one monotonic clock.
///
/// | stage | host: what leads on | guest: what leads on |
/// | --- | --- | --- |
/// | none | somebody is opposite: `open` → describing | a new offer for us: `open` → describing |
/// | describing | `described` → offered | `described` → exchanged |
/// | offered | the answer to it: `apply` → exchanged | |
/// | exchanged | media is lost: `restart` → describing | an offer that continues this one: `restart` → describing |
///
/// Back to none leads `reset`: the other side began anew, deleted or replaced its data (a step says so), a deadline passed
/// (`overdue`), or the connection failed. What was stored is to be deleted then, and the offer is spent: no answer is made
/// to it again.
struct PeerNegotiation: Sendable {
  /// What follows from what the other side has stored.
  enum Step: Hashable, Sendable {
    /// Nothing, now.
    case wait
    /// Do this with the connection that there is.
    case apply(PeerRequest)
    /// A new exchange with the connection that there is (an ICE restart).
    case restart(PeerRequest)
    /// A new exchange with a new connection.
    case open(PeerRequest)
    /// The flow starts over, for this reason.
    case reset(String)
  }

  /// What did not come in time.
  enum Overdue: Hashable, Sendable {
    case description
    case connection
  }

  /// Where one attempt stands.
  enum Stage: Hashable, Sendable {
    /// The local description is being made.
    case describing
    /// The host's offer waits for its answer.
    case offered
    /// Both descriptions are there.
    case exchanged
  }

  /// One attempt to connect, or to restart ICE.
  struct Exchange: Hashable, Sendable {
    /// Its number.
    fileprivate(set) var number: Int
    /// The offer's id, which both sides know the attempt by.
    fileprivate(set) var offer: String
    /// The offer that this one goes on from (ICE restart).
    fileprivate(set) var continues: String?
    /// The other side's session.
    fileprivate(set) var session: String
    /// How far it is.
    fileprivate(set) var stage = Stage.describing
    /// How many of the other side's candidates were taken.
    fileprivate var candidates = 0
    /// By when the descriptions must be exchanged; nil when they are.
    fileprivate var exchangeDeadline: Instant?
    /// By when media must flow; nil while it does.
    fileprivate var connectDeadline: Instant?
  }

  /// From the beginning of an attempt until both descriptions are exchanged.
  static let exchangeTime = Duration.seconds(4)
  /// From then until the connection stands; also for how long a connection that fell silent may take to come back.
  static let connectTime = Duration.seconds(15)
  /// By so much a deadline is put off while the other side can do nothing.
  static let extensionTime = Duration.seconds(1)
  /// As many candidates are given to the mailbox.
  static let maximumCandidates = 60

  /// The attempt that is under way, or has led to the connection.
  private(set) var exchange: Exchange?
  /// The bot's description, as it should stand in the mailbox.
  private(set) var description: MailboxDescription?
  private var exchanges = 0
  /// The offer that led nowhere.
  private var spentOffer: String?
  private let session: String

  /// Nothing is exchanged yet. `session`: the bot's own.
  init(session: String) { self.session = session }

  /// Whether the bot's description is being made.
  var isDescribing: Bool { exchange?.stage == .describing }

  /// When something is overdue; nil for never.
  var nextDeadline: Instant? {
    guard let exchange else { return nil }
    guard let deadline = exchange.exchangeDeadline else { return exchange.connectDeadline }
    return min(deadline, exchange.connectDeadline ?? deadline)
  }

  // MARK: The other side

  /// Goes on with the exchange that there is. `wantsRestart`: media is lost, and no ICE restart was tried.
  mutating func goOn(
    as role: PeerRole, with other: MailboxView.Seat, isUp: Bool, wantsRestart: Bool, at now: Instant
  ) -> Step {
    guard let current = exchange else { return .wait }
    guard other.session == current.session else { return .reset("the other side began anew") }
    switch role {
    case .host: return goOn(current, with: other, isUp: isUp, wantsRestart: wantsRestart, at: now)
    case .guest: return follow(other, from: current, at: now)
    }
  }

  private mutating func goOn(
    _ current: Exchange, with other: MailboxView.Seat, isUp: Bool, wantsRestart: Bool, at now: Instant
  ) -> Step {
    let answered = other.description?.answers
    switch current.stage {
    case .describing: return .wait
    case .offered:
      if answered == current.offer, let answer = other.description {
        exchanged(isUp: isUp, at: now)
        return .apply(.accept(exchange: current.number, sdp: answer.sdp))
      }
      guard let continues = current.continues, answered != continues else { return .wait }
      return .reset("the other side has given up")
    case .exchanged:
      guard answered == current.offer else { return .reset("the other side has deleted its data") }
      guard !isUp, wantsRestart else { return .wait }
      // The old pair carries on meanwhile, if it can.
      begin(nextOffer, continues: current, with: current.session, at: now)
      return .restart(.offer(exchange: exchanges, restartsICE: true))
    }
  }

  /// The guest's part: the host leads.
  private mutating func follow(_ other: MailboxView.Seat, from current: Exchange, at now: Instant) -> Step {
    guard let offer = other.description, offer.kind == .offer else {
      return .reset("the other side has deleted its data")
    }
    guard offer.id != current.offer else { return .wait }
    guard offer.continues == current.offer, current.stage == .exchanged else {
      return .reset("the other side offers anew")
    }
    begin(offer.id, continues: current, with: other.session, at: now)
    return .restart(.answer(exchange: exchanges, sdp: offer.sdp))
  }

  /// Begins an exchange where there is none: the host's when it may offer, the guest's when there is an offer for it.
  mutating func begin(as role: PeerRole, with other: MailboxView.Seat, mayOffer: Bool, at now: Instant) -> Step {
    guard exchange == nil else { return .wait }
    switch role {
    case .host:
      guard mayOffer else { return .wait }
      begin(nextOffer, with: other.session, at: now)
      return .open(.offer(exchange: exchanges, restartsICE: false))
    case .guest:
      guard let offer = other.description, offer.kind == .offer, offer.id != spentOffer,
        offer.recipient ?? session == session
      else { return .wait }
      guard offer.continues == nil else {
        // It goes on from a connection that isn't there any more; having no answer, the host will begin anew.
        spentOffer = offer.id
        return .wait
      }
      begin(offer.id, with: other.session, at: now)
      return .open(.answer(exchange: exchanges, sdp: offer.sdp))
    }
  }

  private var nextOffer: String { "\(session)-\(exchanges + 1)" }

  private mutating func begin(
    _ offer: String, continues before: Exchange? = nil, with session: String, at now: Instant
  ) {
    exchanges += 1
    exchange = Exchange(
      number: exchanges, offer: offer, continues: before?.offer, session: session,
      exchangeDeadline: now + Self.exchangeTime, connectDeadline: before?.connectDeadline)
  }

  /// The candidates of the other side that are new.
  mutating func takeCandidates(of other: MailboxView.Seat) -> ArraySlice<String> {
    guard let current = exchange, current.stage == .exchanged, let description = other.description,
      description.id == current.offer || description.answers == current.offer,
      description.candidates.count > current.candidates
    else { return [] }
    exchange?.candidates = description.candidates.count
    return description.candidates[current.candidates...]
  }

  // MARK: The bot's side

  /// The local description is made: it should be stored from now on, until it is replaced or deleted.
  mutating func described(_ sdp: String, as role: PeerRole, isUp: Bool, at now: Instant) {
    guard let current = exchange else { return }
    switch role {
    case .host:
      description = MailboxDescription(
        id: current.offer, kind: .offer, sdp: sdp, recipient: current.session, continues: current.continues)
      exchange?.stage = .offered
    case .guest:
      description = MailboxDescription(
        id: "\(session)-\(current.number)", kind: .answer, sdp: sdp, answers: current.offer)
      exchanged(isUp: isUp, at: now)
    }
  }

  private mutating func exchanged(isUp: Bool, at now: Instant) {
    exchange?.stage = .exchanged
    if !isUp { exchange?.connectDeadline = now + Self.connectTime }
  }

  /// A local candidate.
  mutating func gathered(_ candidate: String) {
    guard let count = description?.candidates.count, count < Self.maximumCandidates else { return }
    description?.candidates.append(candidate)
  }

  /// The mailbox holds the description of this id. With it the descriptions are exchanged, if the other side's is there.
  mutating func stored(_ id: String?) {
    if let id, id == description?.id, exchange?.stage == .exchanged { exchange?.exchangeDeadline = nil }
  }

  // MARK: The connection

  /// Media flows.
  mutating func connected() { exchange?.connectDeadline = nil }

  /// Media flows no longer, and has so long to come back.
  mutating func lost(at now: Instant) { exchange?.connectDeadline = now + Self.connectTime }

  /// What did not come in time; nil when nothing is overdue.
  func overdue(at now: Instant) -> Overdue? {
    if let deadline = exchange?.exchangeDeadline, deadline <= now { return .description }
    if let deadline = exchange?.connectDeadline, deadline <= now { return .connection }
    return nil
  }

  /// The other side cannot do its part, or need not: what is overdue gets more time.
  mutating func extend(at now: Instant) {
    let later = now + Self.extensionTime
    if let deadline = exchange?.exchangeDeadline, deadline <= now { exchange?.exchangeDeadline = later }
    if let deadline = exchange?.connectDeadline, deadline <= now { exchange?.connectDeadline = later }
  }

  /// Whether a connection was waited for so long that it is no accident when the other side gives up: its time runs
  /// out a moment before ours when it answers.
  func hasWaited(at now: Instant) -> Bool {
    guard let exchange, exchange.stage == .exchanged, let deadline = exchange.connectDeadline else { return false }
    return deadline - now <= Self.connectTime / 2
  }

  /// Gives the exchange up, and what was stored for it.
  mutating func reset() {
    spentOffer = exchange?.offer ?? spentOffer
    exchange = nil
    description = nil
  }
}
