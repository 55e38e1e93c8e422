import MediaCore

/// Reception statistics of one stream for its report blocks (RFC 3550 sections 6.4.1, A.1, A.3 and A.8).
public struct ReceiveStatistics: Sendable {
  /// Packets received, late and duplicate ones too.
  public private(set) var packetCount: Int64 = 0
  /// Bytes of payload received.
  public private(set) var octetCount: Int64 = 0

  /// Share of the packets lost between the last two reports, in 1/256 (RFC 3550 section 6.4.1).
  public private(set) var fractionLost: UInt8 = 0

  private let ssrc: SSRC
  /// What the timestamps run at. Another rate begins the jitter anew; the packets are counted on.
  public var clockRate: ClockRate {
    didSet { if clockRate != oldValue { (transit, jitterTimes16) = (nil, 0) } }
  }
  private var base: Int64 = 0
  private var highest: Int64?
  private var receivedSinceBase: Int64 = 0
  private var expectedPrior: Int64 = 0
  private var receivedPrior: Int64 = 0
  // Jitter in 1/16 tick, as in A.8.
  private var jitterTimes16: Int64 = 0
  private var transit: Int64?
  private var lastTimestamp: UInt32 = 0
  private var senderReport: (middle: UInt32, arrived: Instant)?

  /// Statistics of `ssrc`, whose timestamps run at `clockRate`.
  public init(ssrc: SSRC, clockRate: ClockRate) {
    self.ssrc = ssrc
    self.clockRate = clockRate
  }

  /// Notes a packet that arrived at `now`. `sequence` is extended by `SequenceUnwrapper`. Give packets sent
  /// again (RTX or same SSRC) as `isRetransmission`: they count as received but say nothing about jitter.
  public mutating func received(
    sequence: Int64, timestamp: UInt32, payloadCount: Int, isRetransmission: Bool = false, at now: Instant
  ) {
    packetCount &+= 1
    octetCount &+= Int64(payloadCount)
    guard let highest else {
      restart(at: sequence)
      updateJitter(timestamp, now)
      return
    }
    let isNewer = sequence > highest
    // A jump of more than A.1's MAX_DROPOUT is a restart of the sender, not 3000 losses.
    if sequence &- highest > 3000 {
      restart(at: sequence)
      transit = nil
      updateJitter(timestamp, now)
      return
    }
    if isNewer { self.highest = sequence }
    receivedSinceBase &+= 1
    if isNewer, !isRetransmission, timestamp != lastTimestamp { updateJitter(timestamp, now) }
  }

  private mutating func restart(at sequence: Int64) {
    base = sequence
    highest = sequence
    receivedSinceBase = 1
    expectedPrior = 0
    receivedPrior = 0
  }

  private mutating func updateJitter(_ timestamp: UInt32, _ now: Instant) {
    let rate = Int64(clockRate.hertz)
    let (seconds, rest) = now.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let arrival = seconds &* rate &+ rest &* rate / 1_000_000_000
    // Modulo 2^32, so that the timestamp's wrap doesn't show.
    let current = Int64(Int32(truncatingIfNeeded: arrival &- Int64(timestamp)))
    if let transit {
      let difference = Int64(Int32(truncatingIfNeeded: current &- transit)).magnitude
      // A jump of the timestamps (unmute, layer switch) is not jitter.
      if difference < UInt64(rate) * 5 {
        jitterTimes16 += Int64(difference) - ((jitterTimes16 + 8) >> 4)
      }
    }
    transit = current
    lastTimestamp = timestamp
  }

  /// Notes a sender report of the stream that arrived at `now`.
  public mutating func received(senderReport report: RTCPSenderReport, at now: Instant) {
    senderReport = (report.ntp.middle32, now)
  }

  /// Interarrival jitter in ticks.
  public var jitter: UInt32 { UInt32(clamping: jitterTimes16 >> 4) }

  /// Packets lost so far; negative when duplicates outnumber losses.
  public var cumulativeLost: Int64 {
    guard let highest else { return 0 }
    return highest &- base &+ 1 &- receivedSinceBase
  }

  /// The report block at `now`, and the start of the next interval of `fractionLost`. Nil before the first packet.
  public mutating func makeReport(at now: Instant) -> RTCPReportBlock? {
    guard let highest else { return nil }
    let expected = highest &- base &+ 1
    let expectedInterval = expected &- expectedPrior
    let lostInterval = expectedInterval &- (receivedSinceBase &- receivedPrior)
    expectedPrior = expected
    receivedPrior = receivedSinceBase
    let fraction =
      expectedInterval > 0 && lostInterval > 0 ? UInt8(clamping: lostInterval &* 256 / expectedInterval) : 0
    fractionLost = fraction
    var report = RTCPReportBlock(
      ssrc: ssrc, fractionLost: fraction,
      cumulativeLost: Int32(clamping: min(0x7f_ffff, max(-0x80_0000, cumulativeLost))),
      highestSequence: UInt32(truncatingIfNeeded: highest), jitter: jitter)
    if let senderReport {
      report.lastSenderReport = senderReport.middle
      let delay = max(.zero, now - senderReport.arrived)
      let (seconds, rest) = delay.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
      report.delaySinceLastSenderReport = UInt32(clamping: seconds << 16 + (rest << 16) / 1_000_000_000)
    }
    return report
  }
}
