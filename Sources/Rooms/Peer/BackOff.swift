import MediaCore

/// How long to wait between attempts: not at all before the first, then half to all of a span that doubles. A pure value.
struct BackOff: Sendable {
  private var random: SeededRandom

  /// `seed` decides the jitter.
  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// The pause before the attempt of this number, from 1 on, with spans from `base` to `cap`.
  mutating func pause(before attempt: Int, base: Duration, cap: Duration) -> Duration {
    guard attempt > 1 else { return .zero }
    let span = min(cap, base * (1 << min(attempt - 2, 20))).nanoseconds
    return .nanoseconds(Int64.random(in: (span / 2)...span, using: &random))
  }
}
