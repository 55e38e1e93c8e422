import MediaCore
import RTP

/// What senders are told about the way to us, as far as it was negotiated: when each packet came (transport-wide feedback),
/// and what the way can carry (REMB).
struct BandwidthReporter {
  private var recorder: TransportFeedbackRecorder
  private var estimator: BandwidthEstimator
  private var countedLosses = 0
  private var sendsFeedback = false
  private var sendsEstimate = false

  /// Speaks as `sender`; estimates end at `maximumBitrate` bits per second.
  init(sender: SSRC, maximumBitrate: UInt64) {
    recorder = TransportFeedbackRecorder(sender: sender)
    recorder.interval = .milliseconds(60)
    estimator = BandwidthEstimator(limits: 100_000...max(100_000, maximumBitrate))
  }

  /// Takes over what was negotiated.
  mutating func follow(_ media: [NegotiatedMedia]) {
    sendsFeedback = media.contains { $0.receives && $0.receiveFeedback.contains(.transportWide) }
    sendsEstimate = media.contains { $0.receives && $0.receiveFeedback.contains(.maximumBitrate) }
  }

  /// A packet of `count` bytes came.
  mutating func received(_ packet: RTPPacket, count: Int, extensions: HeaderExtensionMap, at now: Instant) {
    if sendsFeedback, let number = packet.transportSequence(extensions) {
      recorder.received(transportSequence: number, ssrc: packet.ssrc, at: now)
    }
    if sendsEstimate { estimator.received(count: count) }
  }

  /// The next feedback that is due.
  mutating func feedback(at now: Instant) -> TransportFeedback? { sendsFeedback ? recorder.poll(at: now) : nil }

  /// The estimate when it is due, bits per second; `requested` missing packets have been asked for so far.
  mutating func estimate(requested: @autoclosure () -> Int, at now: Instant) -> UInt64? {
    guard sendsEstimate else { return nil }
    let requested = requested()
    estimator.lost(count: requested - countedLosses)
    countedLosses = requested
    return estimator.poll(at: now)
  }

  /// The newest estimate, bits per second; nil when none is sent.
  var bitsPerSecond: UInt64? { sendsEstimate ? estimator.bitsPerSecond : nil }
}
