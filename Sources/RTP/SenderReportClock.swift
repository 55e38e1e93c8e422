import MediaCore

/// Maps the extended RTP timestamps of one stream to its sender's wall clock, by its newest sender report (RFC 3550
/// section 6.4.1) and the nominal clock rate.
///
/// Each report counts as it comes, whether it is right, repeated or wrong: only who knows when frames arrived can judge
/// that (`Session.PublisherClock`).
public struct SenderReportClock: Sendable {
  private let clockRate: ClockRate
  // Wall clock minus media time, in nanoseconds.
  private var offset: Int64?

  /// A clock without reports for timestamps that run at `clockRate`.
  public init(clockRate: ClockRate) { self.clockRate = clockRate }

  /// True once a report was used.
  public var isSynchronized: Bool { offset != nil }

  /// Notes a report. `reference` is the extended timestamp of the newest media packet: the report's own is taken as
  /// the nearest to it. Answers whether the report was used: a sender without a wall clock sends zeros.
  @discardableResult
  public mutating func received(_ report: RTCPSenderReport, near reference: Int64) -> Bool {
    guard report.ntp.rawValue != 0 else { return false }
    let rtp = TimestampUnwrapper.extend(report.rtpTimestamp, near: reference)
    offset = report.ntp.nanoseconds &- MediaTime(ticks: rtp, rate: clockRate).nanoseconds
    return true
  }

  /// The sender's wall clock at an extended RTP timestamp; nil before the first report.
  public func captureTime(of rtpTime: Int64) -> NTPTime? {
    guard let offset else { return nil }
    return NTPTime(nanoseconds: offset &+ MediaTime(ticks: rtpTime, rate: clockRate).nanoseconds)
  }
}
