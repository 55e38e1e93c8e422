/// The shortest way of one stream's frames, which ties its clock to the session's, and what tells that the clock itself
/// has changed. A value; times are nanoseconds, arrivals on the session's clock, media times on the stream's own.
///
/// Each frame gives one observation, `arrival - media`: the difference of the clocks and the time on the way. The least
/// one of the last seconds is in force: jitter, bursts and what was sent again only ever make it larger.
///
/// - **Behind.** Frames that are late by more than `allowance`, one after the other and without one in time between them,
///   are either held up by the network, which then catches up, or their clock stood still: capture stopped, or the
///   timestamps went back. When so much time has passed that there are two windows of them, and the least of both are
///   alike, nothing catches up: the clock is behind by the least.
/// - **Ahead.** No network is that much quicker than it was from one frame to the next: a frame that is early by more
///   than `allowance` at once has a clock that has leapt. So has sound in sequence whose timestamps go back. Without a
///   pause in its arrival such a frame continues the one before.
struct StreamWay: Sendable {
  /// The clock has changed.
  struct Change: Sendable, Equatable {
    /// What media times need on top from now on; positive when the clock is behind.
    var shift: Int64
    /// Frames that arrived from then on have the changed clock.
    var since: Int64
  }

  /// Frames that came late without a break.
  private struct Run {
    /// When the first of them came.
    var began: Int64
    /// When the first window began, and its least observation.
    var first: (since: Int64, least: Int64)
    /// The same of the second; nil before its first frame.
    var second: (since: Int64, least: Int64)?
  }

  /// How late frames may be before their clock is doubted: 60 ms.
  static let allowance: Int64 = 60_000_000
  /// What the least of two windows may differ when nothing catches up.
  private static let steadiness: Int64 = 40_000_000
  private static let bucketLength: Int64 = 1_000_000_000
  private static let bucketCount: Int64 = 10
  /// The longest Opus packet (RFC 6716 section 2.1.4); what lies further apart has a pause between.
  static let longestPacket: Int64 = 120_000_000

  /// The least observation, ns: media time plus this is the time of arrival over the shortest way. Zero before the first.
  private(set) var least: Int64 = 0
  /// When the frames began to come that may be of another clock; nil when there are none.
  var doubtfulSince: Int64? { run?.began }

  private let isAudio: Bool
  /// How long a window is.
  private let window: Int64
  private var minima = [Int64](repeating: .max, count: Int(StreamWay.bucketCount))
  private var bucket: Int64 = 0
  private var previous: (media: Int64, arrival: Int64)?
  /// The distance of two frames of late.
  private var interval: Int64 = 20_000_000
  private var run: Run?

  /// Of a stream without frames. Sound is judged within 200 ms; pictures, of which a large one holds up those behind it,
  /// within half a second.
  init(isAudio: Bool) {
    self.isAudio = isAudio
    window = isAudio ? 80_000_000 : 240_000_000
  }

  /// Takes a frame that was sent in sequence. `followsLoss`: others are missing before it.
  mutating func observe(media: Int64, arrival: Int64, followsLoss: Bool) -> Change? {
    let way = arrival &- media
    defer { previous = (media, arrival) }
    guard let previous else {
      restart(way, at: arrival)
      return nil
    }
    turn(to: arrival)
    let advance = media &- previous.media
    let elapsed = arrival &- previous.arrival
    // Pictures need not come at equal distances.
    let expected = max(elapsed, isAudio ? interval : 3 &* interval)
    let isAhead = way < least &- Self.allowance && !followsLoss && advance &- expected > Self.allowance
    if isAhead || isAudio && advance < 0 {
      let usual = elapsed <= interval &+ Self.longestPacket ? interval : elapsed
      return leap(by: usual &- advance, at: arrival, way)
    }
    if advance > 0, advance <= Self.longestPacket { interval = advance }
    if way > least &+ Self.allowance { return doubt(way, at: arrival) }
    run = nil
    note(way)
    least = minima.min() ?? way
    return nil
  }

  /// Decides with what is known, as nothing more can be waited for.
  mutating func decide() -> Change? {
    guard let run else { return nil }
    if let second = run.second, second.least < run.first.least &- Self.steadiness { return nil }
    return fallBehind(run)
  }

  private mutating func doubt(_ way: Int64, at arrival: Int64) -> Change? {
    guard var run else {
      run = Run(began: arrival, first: (arrival, way))
      return nil
    }
    if var second = run.second {
      second.least = min(second.least, way)
      run.second = second
      if arrival &- second.since >= window {
        if (second.least &- run.first.least).magnitude <= UInt64(Self.steadiness) { return fallBehind(run) }
        run.first = second
        run.second = nil
      }
    } else if arrival &- run.first.since < window {
      run.first.least = min(run.first.least, way)
    } else {
      run.second = (arrival, way)
    }
    self.run = run
    return nil
  }

  private mutating func fallBehind(_ run: Run) -> Change {
    let new = min(run.first.least, run.second?.least ?? .max)
    defer { restart(new, at: bucket &* Self.bucketLength) }
    return Change(shift: new &- least, since: run.began)
  }

  private mutating func leap(by shift: Int64, at arrival: Int64, _ way: Int64) -> Change {
    for index in minima.indices where minima[index] != .max { minima[index] = minima[index] &+ shift }
    note(way)
    least = min(least &+ shift, way)
    run = nil
    return Change(shift: shift, since: arrival)
  }

  private mutating func restart(_ way: Int64, at arrival: Int64) {
    for index in minima.indices { minima[index] = .max }
    bucket = arrival / Self.bucketLength
    note(way)
    least = way
    run = nil
  }

  /// Forgets what lies too far back.
  private mutating func turn(to arrival: Int64) {
    let now = arrival / Self.bucketLength
    guard now > bucket else { return }
    for passed in 1...min(now &- bucket, Self.bucketCount) { minima[Self.index(bucket &+ passed)] = .max }
    bucket = now
  }

  private mutating func note(_ way: Int64) {
    let index = Self.index(bucket)
    minima[index] = min(minima[index], way)
  }

  private static func index(_ bucket: Int64) -> Int { Int((bucket % bucketCount + bucketCount) % bucketCount) }
}
