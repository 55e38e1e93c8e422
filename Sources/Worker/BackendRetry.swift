/// What came of asking the backend until it answers.
enum BackendOutcome: Hashable, Sendable {
  /// It agreed.
  case accepted
  /// The job is somebody else's, or over.
  case fenced
  /// It refused for another reason, or was not reached in time.
  case refused
}

/// When a request that the backend must answer is made again: after 250 ms at first, then after twice the time, up to
/// 5 s, for as long as it takes or up to a limit. A pure value; times are of any clock that does not leap.
struct BackendRetry: Hashable, Sendable {
  /// What follows a request that failed.
  enum Decision: Hashable, Sendable {
    /// It is made again at that time. `isFirst`: it was the first to fail.
    case again(at: Duration, isFirst: Bool)
    /// The backend said no.
    case over(BackendOutcome)
    /// There is no time left.
    case late
  }

  private static let longest = Duration.seconds(5)

  private let end: Duration?
  private var pause = Duration.milliseconds(250)
  private var hasFailed = false

  /// Retries for so long from now; nil: without end.
  init(for limit: Duration? = nil, now: Duration) { end = limit.map { now + $0 } }

  /// The request came to nothing.
  mutating func failed(_ error: BackendError, now: Duration) -> Decision {
    guard error.isPassing || error.isForeign else { return .over(error.isFenced ? .fenced : .refused) }
    if let end, now + pause > end { return .late }
    defer {
      pause = min(pause * 2, Self.longest)
      hasFailed = true
    }
    return .again(at: now + pause, isFirst: !hasFailed)
  }
}
