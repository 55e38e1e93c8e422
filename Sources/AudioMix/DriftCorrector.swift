/// Decides by how many samples each stretch of sound is made longer or shorter, so that it stays where its timestamps
/// want it: proportional to the error with a time constant of 1.3 s (which also smooths positions that jitter), with
/// a dead band of 1 ms in which sound passes through untouched, and never more than 0.5 % (5 ms per second).
struct DriftCorrector {
  /// Errors up to this many samples are left alone.
  static let deadBand: Int64 = 48
  /// The largest change, as a divisor of the length: 1/200.
  static let slope = 200
  // The error is worked off with 1/64 of it per 20 ms.
  private static let divisor: Int64 = 64 * 960

  // Samples of change not yet made, times `divisor`.
  private var pending: Int64 = 0
  // Samples of sound since the last change, so that short stretches keep to the slope as well.
  private var allowance = 0

  /// The change for a stretch of `count` samples that is off by `error` samples (positive: it should be later).
  mutating func change(error: Int64, count: Int) -> Int {
    allowance = min(allowance + count, max(count, Self.slope))
    let beyond: Int64
    if error > Self.deadBand {
      beyond = error - Self.deadBand
    } else if error < -Self.deadBand {
      beyond = error + Self.deadBand
    } else {
      pending = 0
      return 0
    }
    pending += beyond * Int64(count)
    let limit = allowance / Self.slope
    let wanted = Int(pending / Self.divisor)
    let change = min(max(wanted, -limit), limit)
    // What the slope did not allow is not saved up: the error itself will ask for it again.
    pending = change == wanted ? pending - Int64(change) * Self.divisor : pending % Self.divisor
    allowance -= abs(change) * Self.slope
    return change
  }
}
