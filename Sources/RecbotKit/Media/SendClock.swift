import MediaCore

/// Brings the times of a capturer onto the clock that media runs on.
struct SendClock {
  /// The capturer's time of the first frame, and when that came.
  private var first: (time: Duration, at: Instant)?

  init() {}

  /// Since the first frame, and on the media clock, when what came at `now` was captured. `time` is the capturer's; nil: now.
  mutating func time(_ time: Duration?, at now: Instant) -> (elapsed: Duration, capturedAt: Instant) {
    let first = first ?? (time ?? .zero, now)
    self.first = first
    guard let time else { return (now - first.at, now) }
    // Who runs ahead of the clock has not captured in the future.
    let elapsed = time - first.time
    return (elapsed, min(now, first.at + elapsed))
  }
}
