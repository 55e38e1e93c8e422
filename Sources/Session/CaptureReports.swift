/// What the sender reports of one stream say: its sender's wall clock minus its media clock. A value; nanoseconds.
///
/// Single reports may be wrong, by what a busy sender was late or by anything, so the median of the last ones counts. A
/// busy sender's wall clock is too late against its media, never too early: of few reports the least counts.
/// When arrivals tell that the media clock has changed, the mapping is moved along, and stays so until a report agrees;
/// reports about the clock as it was before, which may be repeated on the way for seconds, are not mistaken for that.
/// Only what three different reports in a row say alike is believed against everything known before; against a single
/// report two are enough, since that one may be the wrong one.
package struct CaptureReports: Sendable {
  /// Reports that differ by less say the same.
  private static let agreement: Int64 = 100_000_000
  /// Half of what makes a clock doubtful.
  private static let closeAgreement: Int64 = StreamWay.allowance / 2
  /// A forwarder repeats a publisher's report, only moved on in time: nearer than this it says nothing new.
  private static let repetition: Int64 = 100_000
  private static let capacity = 7
  private static let proof = 3
  /// So many reports, or none against it for so long, are enough.
  private static let enough = (count: 4, time: Int64(20_000_000_000))

  /// How many different reports were believed.
  private(set) var count = 0
  /// When the first one was.
  private var first: Int64?
  private var samples: [Int64] = []
  /// Of the samples; of few, the least.
  private var median: Int64?
  private var moved: Int64 = 0
  private var newest: Int64?
  private var doubted: (value: Int64, count: Int) = (0, 0)

  /// No reports yet.
  package init() { samples.reserveCapacity(Self.capacity + 1) }

  /// The mapping in force; nil before the first report.
  package var mapping: Int64? { median.map { $0 &+ moved } }

  /// Takes what a report says, or says again. `isDoubtful`: the media clock may just have changed, and then the report
  /// may be about either; it is kept for later unless it agrees closely with what is known.
  package mutating func take(_ reported: Int64, at now: Int64, isDoubtful: Bool = false) {
    if let newest, (reported &- newest).magnitude <= UInt64(Self.repetition) { return }
    if isDoubtful, let mapping, (reported &- mapping).magnitude > UInt64(Self.closeAgreement) { return }
    newest = reported
    guard let median, let mapping else { return believe(reported, at: now) }
    let distance = (reported &- mapping).magnitude
    let isOfOldClock = moved != 0 && (reported &- median).magnitude < distance
    if distance <= UInt64(Self.agreement), !isOfOldClock {
      if moved != 0 { samples.removeAll(keepingCapacity: true) }
      return believe(reported, at: now)
    }
    let agrees = doubted.count > 0 && (reported &- doubted.value).magnitude <= UInt64(Self.agreement)
    doubted = (reported, agrees ? doubted.count + 1 : 1)
    guard doubted.count >= (samples.count == 1 && moved == 0 ? Self.proof - 1 : Self.proof) else { return }
    samples.removeAll(keepingCapacity: true)
    believe(reported, at: now)
  }

  /// The media clock has changed, by its arrivals: it needs `shift` on top.
  mutating func move(by shift: Int64) {
    moved = moved &+ shift
    doubted.value = doubted.value &+ shift
  }

  /// True when there have been so many that they are believed in full. A steady clock gives the same report each time,
  /// so time counts as well.
  package func areEnough(at now: Int64) -> Bool {
    if count >= Self.enough.count { return true }
    return doubted.count == 0 && first.map { now &- $0 > Self.enough.time } == true
  }

  /// Frames come quicker again by so much: as far as the clock was thought to be behind, that was the network.
  mutating func quicken(by difference: Int64) {
    if moved > 0 { moved = max(0, moved &- difference) }
  }

  private mutating func believe(_ reported: Int64, at now: Int64) {
    samples.append(reported)
    if samples.count > Self.capacity { samples.removeFirst() }
    median = samples.sorted()[max(0, samples.count - 1 - Self.capacity / 2)]
    moved = 0
    doubted = (0, 0)
    count += 1
    first = first ?? now
  }
}
