import JobsAPI

/// The last word of a run, which the backend is told until it has answered.
///
///     asking ──► agreed, refused, fenced
///      ▲  │
///      └──┘ it was not reached: after 250 ms, 500 ms … 5 s
///
/// A pure value; times are those of `RunTime.elapsed`.
struct RunLastWord: Hashable, Sendable {
  /// What the backend is told.
  enum Message: Hashable, Sendable {
    case complete(CompleteRequest)
    case fail(FailRequest)
    case release(HeartbeatRequest)
  }

  /// For so long it is tried to give a job back: who can't be told will find out by the end of the lease.
  private static let releaseTime = Duration.seconds(10)

  /// What is told.
  let message: Message
  private var retry: BackendRetry
  /// When it is told again; nil while the answer is waited for.
  private(set) var nextDeadline: Duration?

  /// Tells something from now on.
  init(_ message: Message, now: Duration) {
    self.message = message
    if case .release = message {
      retry = BackendRetry(for: Self.releaseTime, now: now)
    } else {
      retry = BackendRetry(now: now)
    }
  }

  /// True when it must be told again now, which it is hereby.
  mutating func isDue(_ now: Duration) -> Bool {
    guard let nextDeadline, nextDeadline <= now else { return false }
    self.nextDeadline = nil
    return true
  }

  /// The backend has answered; nil: it agrees. Gives what came of it, or nil when it is told again, and a line for the log.
  mutating func answered(_ error: BackendError?, now: Duration) -> (outcome: BackendOutcome?, line: RunLog?) {
    guard let error else { return (.accepted, nil) }
    func line(_ text: String) -> RunLog { RunLog(level: .warning, text: text, metadata: ["reason": "\(error)"]) }
    switch retry.failed(error, now: now) {
    case .again(let at, let isFirst):
      nextDeadline = at
      return (nil, isFirst ? line("the backend is away") : nil)
    case .over(let outcome): return (outcome, line("the backend did not take it"))
    case .late: return (.refused, nil)
    }
  }
}
