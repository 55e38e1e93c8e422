import MediaCore

/// How long to wait between attempts: not at all before the first, then half to all of a span that doubles. A pure value.
struct BackOff: Sendable {
  private var random: SeededRandom

  /// `seed` decides the jitter.
  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// The pause (ns) before the attempt of this number, from 1 on, with spans from `base` to `cap`.
  mutating func pause(before attempt: Int, base: Int64, cap: Int64) -> Int64 {
    guard attempt > 1 else { return 0 }
    let span = min(cap, base << Int64(min(attempt - 2, 20)))
    return Int64.random(in: (span / 2)...span, using: &random)
  }
}
