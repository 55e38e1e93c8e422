import MediaCore

/// Follows the offset between a sender's clock and the session's clock.
///
/// Each frame gives one observation, `arrival - sent`: the offset plus the time the frame spent on its way. The
/// smallest observation of the last seconds is the offset plus the shortest way, which is the same for everybody on
/// the same path, so jitter and retransmissions do not move pictures.
struct OffsetEstimator: Sendable {
  /// The offset in use, nanoseconds; add it to the sender's time to get session time.
  private(set) var offset: Int64?

  private static let bucketLength: Int64 = 1_000_000_000
  private static let bucketCount = 10
  /// A jump by more than this is another clock, not jitter.
  private static let resetThreshold: Int64 = 5_000_000_000
  private static let slewPerSecond: Int64 = 5_000_000
  private static let stepThreshold: Int64 = 150_000_000

  private var minima = [Int64](repeating: .max, count: OffsetEstimator.bucketCount)
  private var bucket: Int64 = 0
  /// When the first observation of this clock came, session clock, ns.
  private(set) var first: Int64 = 0
  private var lastUpdate: Int64 = 0

  /// Takes one observation: a frame sent at `sent` (sender's clock, ns) arrived at `arrival` (session clock, ns).
  /// When it `steps`, the offset follows at once; otherwise by at most 5 ms a second, so that sound is not torn.
  mutating func observe(sent: Int64, arrival: Int64, steps: Bool) {
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
    if steps || difference.magnitude > UInt64(Self.stepThreshold) {
      offset = target
    } else {
      let elapsed = max(0, min(arrival &- lastUpdate, Self.bucketLength))
      let step = elapsed * Self.slewPerSecond / 1_000_000_000
      offset = current &+ max(-step, min(step, difference))
    }
    lastUpdate = arrival
  }

  /// True while so little has been observed that steps do not matter: the first 2 s of this clock.
  func isSettling(at now: Int64) -> Bool { offset == nil || now &- first < 2_000_000_000 }

  private static func index(_ bucket: Int64) -> Int { Int(((bucket % 10) + 10) % 10) }
}

/// The clock of one publisher, which its sound and its pictures share by its sender reports: lip sync.
///
/// Reports begin late (a browser's first one for sound comes after 2.5 to 5 s). As long as one of the publisher's streams
/// has none, all of them are placed by their own arrivals, which differ by the encoders' delays only; mixing both ways
/// would tear them apart. When the last stream has its report, all change over together.
struct PublisherClock: Sendable {
  private(set) var estimator = OffsetEstimator()
  /// True when all streams are placed by this clock.
  private(set) var isShared = false
  /// True when the reports of all streams are believed against the times of arrival.
  private(set) var isTrusted = false

  /// Takes one observation of a stream that has a sender report.
  mutating func observe(capture: Int64, arrival: Int64) {
    // Until it is used it may step; afterwards sound hangs on it.
    estimator.observe(sent: capture, arrival: arrival, steps: !isShared)
  }

  /// From now on all streams that have reports are placed by this clock.
  mutating func share() { isShared = true }

  /// From now on reports count in full.
  mutating func trust() { isTrusted = true }
}
