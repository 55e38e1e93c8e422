import MediaCore

/// Tells a loop that comes late to its ticks: it has too much to do, everything is late then, and somebody should know. Pure.
struct TickMonitor {
  /// The time from one tick to the next.
  let interval: Duration
  /// A time between two ticks that is worth a warning.
  static let lateTick = Duration.milliseconds(400)
  /// The least time between two warnings.
  static let warningInterval = Duration.seconds(10)

  private var lastTick: Instant?
  private var lastWarning = Instant.distantPast

  /// For ticks at this interval.
  init(interval: Duration) { self.interval = interval }

  /// A tick came; by how much it was late, when that is worth a warning.
  mutating func note(_ now: Instant) -> Duration? {
    defer { lastTick = now }
    guard let lastTick, now - lastTick > Self.lateTick, now - lastWarning > Self.warningInterval else { return nil }
    lastWarning = now
    return now - lastTick - interval
  }

  /// The ticks end for a while.
  mutating func pause() { lastTick = nil }
}
