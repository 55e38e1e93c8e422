import MediaCore

/// Follows the offset between a sender's clock and the session's clock.
///
/// Each frame gives one observation, `arrival - sent`: the offset plus the time the frame spent on its way. The
/// smallest observation of the last seconds is the offset plus the shortest way, which is the same for everybody on
/// the same path, so jitter and retransmissions do not move pictures. One instance per publisher (sender-report time,
/// which sound and pictures share: lip sync), or per stream as long as there is no sender report.
struct OffsetEstimator: Sendable {
  /// The offset in use, nanoseconds; add it to the sender's time to get session time.
  private(set) var offset: Int64?

  private static let bucketLength: Int64 = 1_000_000_000
  private static let bucketCount = 10
  /// A jump by more than this is another clock, not jitter.
  private static let resetThreshold: Int64 = 5_000_000_000
  /// While settling, the offset steps; later it follows by at most 5 ms a second, so that sound is never stepped.
  private static let settlingTime: Int64 = 2_000_000_000
  private static let slewPerSecond: Int64 = 5_000_000
  private static let stepThreshold: Int64 = 150_000_000

  private var minima = [Int64](repeating: .max, count: OffsetEstimator.bucketCount)
  private var bucket: Int64 = 0
  private var first: Int64 = 0
  private var lastUpdate: Int64 = 0

  /// Takes one observation: a frame sent at `sent` (sender's clock, ns) arrived at `arrival` (session clock, ns).
  mutating func observe(sent: Int64, arrival: Int64) {
    let observation = arrival &- sent
    guard let current = offset, (observation &- current).magnitude < UInt64(Self.resetThreshold) else {
      offset = observation
      minima = [Int64](repeating: .max, count: Self.bucketCount)
      bucket = arrival / Self.bucketLength
      minima[Self.index(bucket)] = observation
      first = arrival
      lastUpdate = arrival
      return
    }
    let now = arrival / Self.bucketLength
    if now > bucket {
      // Clears the buckets that time has passed over; at most a whole round.
      for passed in 1...min(now - bucket, Int64(Self.bucketCount)) { minima[Self.index(bucket + passed)] = .max }
      bucket = now
    }
    let index = Self.index(bucket)
    minima[index] = min(minima[index], observation)
    let target = minima.min() ?? observation
    let difference = target &- current
    if arrival &- first < Self.settlingTime || difference.magnitude > UInt64(Self.stepThreshold) {
      offset = target
    } else {
      let elapsed = max(0, min(arrival &- lastUpdate, Self.bucketLength))
      let step = elapsed * Self.slewPerSecond / 1_000_000_000
      offset = current &+ max(-step, min(step, difference))
    }
    lastUpdate = arrival
  }

  private static func index(_ bucket: Int64) -> Int { Int(((bucket % 10) + 10) % 10) }
}
