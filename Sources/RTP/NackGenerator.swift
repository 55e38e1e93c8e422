import MediaCore

/// Decides which missing packets of one stream to ask for again, and when (RFC 4585 section 6.2.1). Give it every
/// packet, also retransmitted ones, then poll; poll again at `deadline`.
public struct NackGenerator: Sendable {
  /// The limits.
  public struct Configuration: Sendable {
    /// A gap is reported when it is this old, or when `reorderPackets` later packets have come: until then the
    /// packet may only have been overtaken.
    public var reorderDelay = Duration.milliseconds(10)
    /// See `reorderDelay`.
    public var reorderPackets: Int64 = 3
    /// The least time between two requests for one packet; an eighth more than the round trip time when that is longer.
    /// Not longer with each try: the picture waits for the packet, and where much is lost many tries are needed.
    public var minimumRetryInterval = Duration.milliseconds(20)
    /// From this share of unanswered first requests on (1/1000), further requests for a packet follow each half round
    /// trip, unless a queue stands on the way: where requests and answers are lost by the third, a round trip is too
    /// long to wait for what comes in time only every other time.
    public var hurryPerMille: Int64 = 300
    /// From this share on it is not losses: the round trip takes longer than is believed.
    public var slowPerMille: Int64 = 850
    /// Requests for one packet.
    public var maximumTries = 16
    /// Packets missing for longer are given up.
    public var maximumAge = Duration.seconds(1)
    /// With more packets missing the stream is beyond repair: all are given up.
    public var maximumMissing = 500
    /// The default limits.
    public init() {}
  }

  /// Counters since the beginning.
  public struct Statistics: Sendable, Hashable {
    /// Packets asked for at least once.
    public var requested = 0
    /// Requests, repetitions included.
    public var requests = 0
    /// Packets that came after they had been asked for.
    public var recovered = 0
    /// Packets that came late by themselves.
    public var reordered = 0
    /// Packets given up.
    public var givenUp = 0
  }

  private struct Missing {
    var sequence: Int64
    var since: Instant
    var firstRequest: Instant
    var lastRequest: Instant
    var tries: Int
  }

  private let configuration: Configuration
  // Ascending by sequence.
  private var missing: [Missing] = []
  private var highest: Int64?
  /// The share of first requests that were not answered within a round trip, 1/1000, a running mean.
  private var unansweredPerMille: Int64 = 0
  /// The shortest time from request to answer; `forever` before the first.
  private var shortestRoundTrip = Duration.forever
  /// Counters since the beginning.
  public private(set) var statistics = Statistics()
  /// Round trip time: as set, and then followed by the time from request to answer.
  public var roundTripTime = Duration.milliseconds(50)
  /// When to poll again; nil while nothing is missing.
  public private(set) var deadline: Instant?

  /// A generator with the given limits.
  public init(configuration: Configuration = Configuration()) { self.configuration = configuration }

  /// Number of packets that are missing now.
  public var missingCount: Int { missing.count }

  /// Notes a packet, by its extended sequence number, that arrived at `now`.
  public mutating func received(_ sequence: Int64, at now: Instant) {
    guard let highest else {
      self.highest = sequence
      return
    }
    if sequence <= highest {
      if !missing.isEmpty { found(sequence, at: now) }
      return
    }
    self.highest = sequence
    let gap = sequence &- highest &- 1
    guard gap > 0 else { return }
    guard gap <= Int64(configuration.maximumMissing - missing.count) else {
      statistics.givenUp += missing.count
      missing.removeAll(keepingCapacity: true)
      deadline = nil
      return
    }
    for number in (highest + 1)..<sequence {
      missing.append(
        Missing(sequence: number, since: now, firstRequest: .distantPast, lastRequest: .distantPast, tries: 0))
    }
    deadline = min(deadline ?? .distantFuture, now + configuration.reorderDelay)
  }

  /// What a packet carried came in another one (RFC 2198): it need not be asked for.
  public mutating func recovered(_ sequence: Int64) {
    if let index = missing.firstIndex(where: { $0.sequence == sequence }) { missing.remove(at: index) }
  }

  private mutating func found(_ sequence: Int64, at now: Instant) {
    var low = 0
    var high = missing.count
    while low < high {
      let middle = (low + high) / 2
      if missing[middle].sequence < sequence { low = middle + 1 } else { high = middle }
    }
    guard low < missing.count, missing[low].sequence == sequence else { return }
    let entry = missing.remove(at: low)
    if entry.tries == 0 {
      statistics.reordered += 1
      return
    }
    statistics.recovered += 1
    // Only the answer to a single request can be measured: otherwise it is unknown which one was answered. But when no
    // answer comes before the second request, it is the first one's.
    guard entry.tries == 1 || unansweredPerMille >= configuration.slowPerMille else { return }
    let sample = min(.seconds(1), max(.zero, now - entry.firstRequest))
    roundTripTime += (sample - roundTripTime) / 8
    guard entry.tries == 1 else { return }
    shortestRoundTrip = min(shortestRoundTrip, sample)
    note(unanswered: false)
  }

  private mutating func note(unanswered: Bool) {
    unansweredPerMille += ((unanswered ? 1000 : 0) - unansweredPerMille) / 16
  }

  /// Time between the second and all further requests for a packet.
  private func furtherInterval(_ plain: Duration) -> Duration {
    // Losses with a queue are congestion, and asking more often would feed it.
    guard unansweredPerMille >= configuration.hurryPerMille, unansweredPerMille < configuration.slowPerMille,
      shortestRoundTrip != .forever,
      !RetransmissionHistory.isQueueing(roundTripTime, shortest: shortestRoundTrip)
    else { return plain }
    return max(configuration.minimumRetryInterval, roundTripTime / 2)
  }

  /// What to ask for at `now`: ascending sequence numbers for a NACK, usually none. Allocates only when something is
  /// due.
  public mutating func poll(at now: Instant) -> [UInt16] {
    var result: [UInt16] = []
    guard !missing.isEmpty, let highest else {
      deadline = nil
      return result
    }
    var next = Instant.distantFuture
    var abandoned = 0
    let first = max(configuration.minimumRetryInterval, roundTripTime + roundTripTime / 8)
    let further = furtherInterval(first)
    for index in missing.indices {
      let entry = missing[index]
      // The second request waits for the answer to the first, which tells the round trip time.
      let retry = entry.tries <= 1 ? first : further
      if now - entry.since >= configuration.maximumAge
        || (entry.tries >= configuration.maximumTries && now >= entry.lastRequest + retry)
      {
        missing[index].tries = -1
        abandoned += 1
        continue
      }
      let due: Instant
      if entry.tries == 0 {
        due =
          highest &- entry.sequence >= configuration.reorderPackets ? now : entry.since + configuration.reorderDelay
      } else {
        due = entry.lastRequest + retry
      }
      guard due <= now else {
        next = min(next, due)
        continue
      }
      if entry.tries == 0 { statistics.requested += 1 }
      if entry.tries == 0 { missing[index].firstRequest = now }
      if entry.tries == 1 { note(unanswered: true) }
      statistics.requests += 1
      missing[index].tries += 1
      missing[index].lastRequest = now
      next = min(next, now + (entry.tries == 0 ? first : further))
      result.append(UInt16(truncatingIfNeeded: entry.sequence))
    }
    if abandoned > 0 {
      missing.removeAll { $0.tries < 0 }
      statistics.givenUp += abandoned
    }
    deadline = missing.isEmpty ? nil : next
    return result
  }

  /// Forgets packets below `sequence`: the receiver has gone on without them.
  public mutating func forget(below sequence: Int64) {
    guard let first = missing.first, first.sequence < sequence else { return }
    let count = missing.prefix { $0.sequence < sequence }.count
    statistics.givenUp += count
    missing.removeFirst(count)
  }
}
