import MediaCore

/// When to try again after a connection was lost, and whether to go on with the old session (resume) or to join anew.
/// A pure value: randomness comes from the seed.
public struct ReconnectPolicy: Sendable {
  /// What to do for one attempt.
  public struct Step: Hashable, Sendable {
    /// How long to wait before it, in nanoseconds.
    public var delay: Int64
    /// True to resume the old session, false to join anew.
    public var resumes: Bool
  }

  /// Longest wait before the second attempt, in nanoseconds; it doubles with each further one.
  public var base: Int64 = 300_000_000
  /// Upper end of the wait, in nanoseconds.
  public var cap: Int64 = 7_000_000_000
  /// For how long after the loss attempts resume the old session before they join anew, in nanoseconds. A resume keeps
  /// media flowing, and a server that doesn't know the session any more says so at once; so it is worth some patience.
  public var resumeTime: Int64 = 15_000_000_000
  /// For how long after the loss attempts are made, in nanoseconds; nil for ever. For ever is right for a recorder:
  /// it is told when to stop.
  public var limit: Int64?

  private var random: SeededRandom
  private var attempt = 0
  private var lostAt: Int64?
  private var mayResume = false

  /// Makes a policy; `seed` decides the jitter.
  public init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// Attempts since the loss.
  public var attempts: Int { attempt }

  /// The connection was lost at `now`. `canResume` says whether the server may still know the session. Nothing
  /// changes when a loss is already being handled.
  public mutating func lost(at now: Int64, canResume: Bool) {
    guard lostAt == nil else { return }
    lostAt = now
    attempt = 0
    mayResume = canResume
  }

  /// The server doesn't know the session any more: from now on only joining anew makes sense, at once.
  public mutating func refusedResume() {
    guard mayResume else { return }
    mayResume = false
    attempt = 0
  }

  /// The connection is back.
  public mutating func restored() {
    lostAt = nil
    attempt = 0
  }

  /// The next attempt, nil when the limit is reached. The first is made at once; then the wait is random between half
  /// and all of a span that doubles from `base` to `cap` (so that many clients don't come at the same time).
  public mutating func next(at now: Int64) -> Step? {
    if let limit, let lostAt, now &- lostAt > limit { return nil }
    defer { attempt += 1 }
    let resumes = mayResume && now &- (lostAt ?? now) <= resumeTime
    if attempt == 0 { return Step(delay: 0, resumes: resumes) }
    let span = min(cap, base << Int64(min(attempt - 1, 30)))
    return Step(delay: Int64.random(in: (span / 2)...span, using: &random), resumes: resumes)
  }
}
