import MediaCore

/// Finds the standing queue on the way of one stream: by how much even the quickest packet of an interval was later
/// than the quickest of the last half minute. Jitter and bursts leave the quickest packet alone, a full queue does not
/// (the minimum within an interval is what CoDel looks at too, RFC 8289 section 3.2).
public struct QueueDelayEstimator: Sendable {
  /// A jump of the timestamps by more than this is another clock, not delay, in nanoseconds.
  private static let reset: Int64 = 2_000_000_000
  private static let bucketLength: Int64 = 1_000_000_000
  private static let bucketCount: Int64 = 30

  private let rate: Int64
  /// The smallest `arrival - sent` of each of the last seconds, on clocks that began at different times.
  private var minima = [Int64](repeating: .max, count: Int(QueueDelayEstimator.bucketCount))
  private var bucket: Int64 = 0
  private var first: (timestamp: Int64, arrival: Int64)?
  /// The smallest of them all.
  private var base: Int64 = .max
  /// The smallest since the last poll.
  private var least: Int64 = .max
  private var lastArrival: Int64 = 0

  /// For a stream whose timestamps run at `clockRate`.
  public init(clockRate: ClockRate) { rate = Int64(clockRate.hertz) }

  /// Notes a packet that was not sent again, with its timestamp extended so that it does not wrap, at `now` (ns).
  public mutating func received(timestamp: Int64, at now: Int64) {
    guard let first, now &- lastArrival < Self.reset else { return restart(timestamp, now) }
    lastArrival = now
    let (seconds, rest) = (timestamp &- first.timestamp).quotientAndRemainder(dividingBy: rate)
    let sent = seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / rate
    let way = (now &- first.arrival) &- sent
    advance(to: now / Self.bucketLength)
    if base != .max, (way &- base).magnitude > UInt64(Self.reset) { return restart(timestamp, now) }
    least = min(least, way)
    base = min(base, way)
    let index = Int(bucket % Self.bucketCount)
    minima[index] = min(minima[index], way)
  }

  /// The standing queue since the last call, in nanoseconds; nil when nothing came.
  public mutating func poll() -> Int64? {
    defer { least = .max }
    guard least != .max, base != .max else { return nil }
    return max(0, least &- base)
  }

  private mutating func advance(to now: Int64) {
    guard now > bucket else { return }
    for passed in 1...min(now - bucket, Self.bucketCount) { minima[Int((bucket + passed) % Self.bucketCount)] = .max }
    bucket = now
    base = minima.min() ?? .max
  }

  private mutating func restart(_ timestamp: Int64, _ now: Int64) {
    first = (timestamp, now)
    lastArrival = now
    minima = [Int64](repeating: .max, count: Int(Self.bucketCount))
    bucket = max(0, now / Self.bucketLength)
    minima[Int(bucket % Self.bucketCount)] = 0
    (least, base) = (0, 0)
  }
}
