import MediaCore

/// A simple receiver-side estimate for REMB messages: what comes in, and some room to grow; less when packets are
/// lost. It makes senders ramp up on good paths and back off on bad ones; it does not measure delay.
public struct BandwidthEstimator: Sendable {
  /// The least and the largest estimate in bits per second.
  public let limits: ClosedRange<UInt64>
  /// The current estimate in bits per second.
  public private(set) var bitsPerSecond: UInt64
  /// What came in during the last interval, in bits per second.
  public private(set) var incomingBitsPerSecond: UInt64 = 0

  private var bytes: UInt64 = 0
  private var received = 0
  private var lost = 0
  private var since: Instant?
  private static let interval = Duration.milliseconds(500)

  /// Starts with an estimate inside the limits.
  public init(initial: UInt64 = 1_000_000, limits: ClosedRange<UInt64> = 100_000...20_000_000) {
    self.limits = limits
    bitsPerSecond = min(max(initial, limits.lowerBound), limits.upperBound)
  }

  /// Notes a packet of `count` bytes.
  public mutating func received(count: Int) {
    bytes &+= UInt64(max(0, count))
    received += 1
  }

  /// Notes packets that were found missing.
  public mutating func lost(count: Int) { lost += max(0, count) }

  /// A new estimate twice a second: more than 10 % loss halves it (but not below what came in less the loss), more
  /// than 2 % holds it, else it grows by an eighth up to twice of what comes in. Nil in between.
  public mutating func poll(at now: Instant) -> UInt64? {
    guard let start = since else {
      since = now
      return nil
    }
    let elapsed = now - start
    guard elapsed >= BandwidthEstimator.interval else { return nil }
    let (product, overflow) = bytes.multipliedReportingOverflow(by: 8_000_000_000)
    incomingBitsPerSecond = overflow ? limits.upperBound : product / UInt64(elapsed.nanoseconds)
    let total = received + lost
    var next = bitsPerSecond
    if lost * 10 > total {
      next = max(bitsPerSecond / 2, min(bitsPerSecond, incomingBitsPerSecond))
    } else if lost * 50 <= total, total > 0 {
      let ceiling = max(bitsPerSecond, incomingBitsPerSecond &* 2)
      next = min(ceiling, bitsPerSecond &+ bitsPerSecond / 8)
      next = max(next, incomingBitsPerSecond &+ incomingBitsPerSecond / 2)
    }
    bitsPerSecond = min(max(next, limits.lowerBound), limits.upperBound)
    bytes = 0
    received = 0
    lost = 0
    since = now
    return bitsPerSecond
  }
}
