/// Tells a loop that comes late to its ticks: it has too much to do, everything is late then, and somebody should know. Pure.
struct TickMonitor {
  /// The time from one tick to the next, in nanoseconds.
  let interval: Int64
  /// A time between two ticks that is worth a warning, in nanoseconds.
  static let lateTick: Int64 = 400_000_000
  /// The least time between two warnings, in nanoseconds.
  static let warningInterval: Int64 = 10_000_000_000

  private var lastTick: Int64?
  private var lastWarning: Int64 = .min / 2

  /// For ticks at this interval, in nanoseconds.
  init(interval: Int64) { self.interval = interval }

  /// A tick came; by how much it was late, in nanoseconds, when that is worth a warning.
  mutating func note(_ now: Int64) -> Int64? {
    defer { lastTick = now }
    guard let lastTick, now &- lastTick > Self.lateTick, now &- lastWarning > Self.warningInterval else { return nil }
    lastWarning = now
    return now &- lastTick &- interval
  }

  /// The ticks end for a while.
  mutating func pause() { lastTick = nil }
}
