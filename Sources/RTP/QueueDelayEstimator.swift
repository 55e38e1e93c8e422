import MediaCore

/// Finds the standing queue on the way of one stream: by how much even the quickest packet of an interval was later
/// than the quickest of the last half minute. Jitter and bursts leave the quickest packet alone, a full queue does not
/// (the minimum within an interval is what CoDel looks at too, RFC 8289 section 3.2).
public struct QueueDelayEstimator: Sendable {
  /// A jump of the timestamps by more than this is another clock, not delay.
  private static let reset = Duration.seconds(2)
  private static let bucketCount: Int64 = 30

  private let rate: Int64
  /// The smallest `arrival - sent` of each of the last seconds, on clocks that began at different times.
  private var minima = [Duration](repeating: .forever, count: Int(QueueDelayEstimator.bucketCount))
  /// The second that is at hand.
  private var bucket: Int64 = 0
  private var first: (timestamp: Int64, arrival: Instant)?
  /// The smallest of them all.
  private var base = Duration.forever
  /// The smallest since the last poll.
  private var least = Duration.forever
  private var lastArrival = Instant.distantPast

  /// For a stream whose timestamps run at `clockRate`.
  public init(clockRate: ClockRate) { rate = Int64(clockRate.hertz) }

  /// Notes a packet that was not sent again, with its timestamp extended so that it does not wrap, at `now`.
  public mutating func received(timestamp: Int64, at now: Instant) {
    guard let first, now - lastArrival < Self.reset else { return restart(timestamp, now) }
    lastArrival = now
    let (seconds, rest) = (timestamp &- first.timestamp).quotientAndRemainder(dividingBy: rate)
    let sent = Duration.nanoseconds(seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / rate)
    let way = now - first.arrival - sent
    advance(to: Self.second(of: now))
    if base != .forever, way - base > Self.reset || base - way > Self.reset { return restart(timestamp, now) }
    least = min(least, way)
    base = min(base, way)
    let index = Int(bucket % Self.bucketCount)
    minima[index] = min(minima[index], way)
  }

  /// The standing queue since the last call; nil when nothing came.
  public mutating func poll() -> Duration? {
    defer { least = .forever }
    guard least != .forever, base != .forever else { return nil }
    return max(.zero, least - base)
  }

  private mutating func advance(to second: Int64) {
    guard second > bucket else { return }
    for passed in 1...min(second - bucket, Self.bucketCount) {
      minima[Int((bucket + passed) % Self.bucketCount)] = .forever
    }
    bucket = second
    base = minima.min() ?? .forever
  }

  private mutating func restart(_ timestamp: Int64, _ now: Instant) {
    first = (timestamp, now)
    lastArrival = now
    minima = [Duration](repeating: .forever, count: Int(Self.bucketCount))
    bucket = max(0, Self.second(of: now))
    minima[Int(bucket % Self.bucketCount)] = .zero
    (least, base) = (.zero, .zero)
  }

  private static func second(of moment: Instant) -> Int64 { moment.nanoseconds / 1_000_000_000 }
}
