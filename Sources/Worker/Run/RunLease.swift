import JobsAPI

/// The lease of a job: when a heartbeat is sent, and what the answers make of the lease.
///
/// | lease | becomes | when |
/// | --- | --- | --- |
/// | idle | held | `open` |
/// | held | away | a heartbeat came to nothing |
/// | away | held | a heartbeat was answered |
/// | held, away | lost | the backend says that the job is somebody else's, or over; for ever |
/// | any | closed | `close`: nothing more is told |
///
/// Three kinds of heartbeat are under way beside each other. One is held by the backend until there is a command, and
/// follows its predecessor as soon as that is answered. One tells news: at most every 250 ms, and each second while the
/// backend is away, which is how it is found again. And whoever must know that the backend has heard sends one at once.
///
/// A pure value. Times are those of `RunTime.elapsed`.
struct RunLease: Hashable, Sendable {
  /// Why a heartbeat is sent.
  enum Kind: Hashable, Sendable {
    /// To keep the lease, and to hear of commands: the backend may hold the answer.
    case held
    /// To tell news.
    case news
    /// Something waits for its answer.
    case awaited
  }

  /// A heartbeat under way, and what it tells that need not be told again.
  struct Heartbeat: Hashable, Sendable {
    let kind: Kind
    /// The fencing number that it was sent with.
    let fence: Int64
    let part: JobPart?
    let refusals: [CommandRefusal]
  }

  /// What a heartbeat that came to nothing means.
  enum Failure: Hashable, Sendable {
    /// The job is somebody else's, or over.
    case lost
    /// Another report was faster: nobody need be told.
    case overtaken
    /// The backend is away, as it was before.
    case stillAway
    /// The backend is away from now on.
    case away
  }

  private enum State: Hashable { case idle, held, away, lost, closed }

  /// The shortest time between news, and the time after which a backend that is away is looked for.
  private static let newsTime = Duration.milliseconds(250)
  private static let searchTime = Duration.seconds(1)
  /// The shortest time between heartbeats that are held: a backend that goes down answers at once.
  private static let heldTime = Duration.seconds(1)

  /// The lease's fencing number.
  private(set) var fence: Int64
  private var state = State.idle
  private var hasNews = false
  private var sentAt = Duration.zero
  private var heldSentAt: Duration?
  private var underWay: [Int: Heartbeat] = [:]
  private var count = 0

  /// A lease that was just given.
  init(fence: Int64) { self.fence = fence }

  /// True for ever once the job is known to be somebody else's.
  var isLost: Bool { state == .lost }
  /// True while the backend does not answer.
  var isAway: Bool { state == .away }

  /// Heartbeats begin.
  mutating func open(_ now: Duration) {
    state = .held
    sentAt = now
  }

  /// Heartbeats end.
  mutating func close() {
    state = .closed
    underWay = [:]
  }

  /// The same worker has a newer lease of the job.
  mutating func renew(fence: Int64) {
    self.fence = fence
    hasNews = true
  }

  /// Something has changed that the backend should hear soon.
  mutating func addNews() { hasNews = true }

  /// When `next` has something, unless more news come.
  var nextDeadline: Duration? { [heldAt, newsAt].compactMap { $0 }.min() }

  /// The heartbeat that is due; nil: none. It must be sent.
  func next(_ now: Duration) -> Kind? {
    if let heldAt, heldAt <= now { return .held }
    if let newsAt, newsAt <= now { return .news }
    return nil
  }

  private var heldAt: Duration? {
    guard state == .held, !isUnderWay(.held) else { return nil }
    return heldSentAt.map { $0 + Self.heldTime } ?? .zero
  }

  private var newsAt: Duration? {
    guard !isUnderWay(.news) else { return nil }
    switch state {
    case .away: return sentAt + Self.searchTime
    case .held: return hasNews ? sentAt + Self.newsTime : nil
    case .idle, .lost, .closed: return nil
    }
  }

  private func isUnderWay(_ kind: Kind) -> Bool { underWay.values.contains { $0.kind == kind } }

  /// A heartbeat is sent. Gives its number.
  mutating func send(_ kind: Kind, part: JobPart?, refusals: [CommandRefusal], now: Duration) -> Int {
    count += 1
    underWay[count] = Heartbeat(kind: kind, fence: fence, part: part, refusals: refusals)
    hasNews = false
    sentAt = now
    if kind == .held { heldSentAt = now }
    return count
  }

  /// A heartbeat has come back, one way or the other; nil when nobody waits for it any more.
  mutating func takeBack(_ number: Int) -> Heartbeat? { underWay.removeValue(forKey: number) }

  /// The backend has answered. True when it was away.
  mutating func answered() -> Bool {
    guard state == .away else { return false }
    state = .held
    return true
  }

  /// A heartbeat with this lease came to nothing.
  mutating func failed(_ error: BackendError) -> Failure {
    if error.isFenced {
      state = .lost
      return .lost
    }
    if error.isOvertaken { return .overtaken }
    guard state == .held else { return .stillAway }
    state = .away
    return .away
  }
}
