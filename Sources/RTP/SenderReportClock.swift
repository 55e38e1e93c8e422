import MediaCore

/// Maps the extended RTP timestamps of one stream to its sender's wall clock, from its sender reports (RFC 3550
/// section 6.4.1).
///
/// Between reports the nominal clock rate is used. Single bad reports do no harm: the offset is the median of the
/// last ones, and it moves slowly. Only when several reports agree on another clock does it jump.
public struct SenderReportClock: Sendable {
  /// A report further away than this from the present mapping is an outlier, in nanoseconds.
  static let outlierLimit: Int64 = 500_000_000
  /// So many outliers in a row are the truth.
  static let outliersToJump = 3
  /// A report nearer than this to the one before is its repetition, in nanoseconds: a few RTP ticks.
  static let repetitionLimit: Int64 = 100_000
  /// Most that the mapping moves per report, in nanoseconds.
  static let slewPerReport: Int64 = 10_000_000
  private static let window = 7

  private let clockRate: ClockRate
  // Wall clock minus media time, in nanoseconds, of the last good reports; oldest first.
  private var offsets: [Int64] = []
  private var offset: Int64?
  private var lastNTP: Int64 = .min
  private var lastRTP: Int64 = .min
  private var refused = 0
  /// Reports used.
  public private(set) var acceptedCount = 0
  /// Reports not used: without wall clock, going backward, or far off.
  public private(set) var refusedCount = 0

  /// A clock without reports for timestamps that run at `clockRate`.
  public init(clockRate: ClockRate) {
    self.clockRate = clockRate
    offsets.reserveCapacity(SenderReportClock.window + 1)
  }

  /// True once a report was accepted.
  public var isSynchronized: Bool { offset != nil }

  /// Notes a report. `reference` is the extended timestamp of the newest media packet: the report's own is taken as
  /// the nearest to it. Answers whether the report was used.
  @discardableResult
  public mutating func received(_ report: RTCPSenderReport, near reference: Int64) -> Bool {
    guard report.ntp.rawValue != 0 else {
      refusedCount += 1
      return false
    }
    let rtp = TimestampUnwrapper.extend(report.rtpTimestamp, near: reference)
    let ntp = report.ntp.nanoseconds
    let candidate = ntp &- MediaTime(ticks: rtp, rate: clockRate).nanoseconds
    guard let current = offset else {
      accept(candidate, ntp, rtp)
      offset = candidate
      return true
    }
    let isBackward = ntp <= lastNTP || rtp < lastRTP
    let distance = candidate.subtractingReportingOverflow(current)
    let isFar = distance.overflow || distance.partialValue.magnitude > UInt64(SenderReportClock.outlierLimit)
    if isBackward || isFar {
      refused += 1
      refusedCount += 1
      guard refused >= SenderReportClock.outliersToJump else { return false }
      // The sender's clock was set, or its stream started again.
      offsets.removeAll(keepingCapacity: true)
      accept(candidate, ntp, rtp)
      offset = candidate
      return true
    }
    // A forwarder repeats a publisher's report, only moved on in time, until the next one comes. The repetition says
    // nothing new; counted, it would outvote the better reports.
    if let last = offsets.last, (candidate &- last).magnitude <= SenderReportClock.repetitionLimit {
      (lastNTP, lastRTP, refused) = (ntp, rtp, 0)
      acceptedCount += 1
      return true
    }
    accept(candidate, ntp, rtp)
    let target = offsets.sorted()[offsets.count / 2]
    let step = max(-SenderReportClock.slewPerReport, min(SenderReportClock.slewPerReport, target &- current))
    offset = current &+ step
    return true
  }

  private mutating func accept(_ candidate: Int64, _ ntp: Int64, _ rtp: Int64) {
    offsets.append(candidate)
    if offsets.count > SenderReportClock.window { offsets.removeFirst() }
    lastNTP = ntp
    lastRTP = rtp
    refused = 0
    acceptedCount += 1
  }

  /// The sender's wall clock at an extended RTP timestamp; nil before the first report.
  public func captureTime(of rtpTime: Int64) -> NTPTime? {
    guard let offset else { return nil }
    return NTPTime(nanoseconds: offset &+ MediaTime(ticks: rtpTime, rate: clockRate).nanoseconds)
  }
}
