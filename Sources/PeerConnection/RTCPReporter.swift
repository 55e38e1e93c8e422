import MediaCore
import RTP

/// Writes our side of RTCP: what is missing, which keyframes are wanted, how the way is (`BandwidthReporter`), and each
/// second the reports (RFC 3550 section 6). Confined to the engine's thread.
final class RTCPReporter {
  /// Time between two reports.
  private static let reportInterval = Duration.seconds(1)
  /// The same while there is nothing to report (RFC 3550 section 6.2).
  private static let emptyReportInterval = Duration.seconds(5)
  /// A datagram is sent when it has grown to this.
  private static let fullDatagram = 1000
  /// Report blocks that one packet has room for.
  private static let maximumBlocks = 31

  private let cname: String
  /// Speaks for us while nothing is sent.
  private let ssrc: SSRC
  private var bandwidth: BandwidthReporter
  private var random: SeededRandom
  private var writer = RTCPWriter()
  private var nextReport = Instant.distantPast
  private var reportedAt = Instant.distantPast

  /// A reporter whose numbers follow from `random`; estimates end at `maximumBitrate` bits per second.
  init(cname: String, maximumBitrate: UInt64, random: SeededRandom) {
    self.cname = cname
    self.random = random
    ssrc = SSRC(UInt32(truncatingIfNeeded: self.random.next()))
    bandwidth = BandwidthReporter(sender: ssrc, maximumBitrate: maximumBitrate)
  }

  /// Our newest estimate of what the way can carry, bits per second; nil when none is sent.
  var bitsPerSecond: UInt64? { bandwidth.bitsPerSecond }

  /// Takes over what was negotiated.
  func follow(_ media: [NegotiatedMedia]) { bandwidth.follow(media) }

  /// A packet of `count` bytes came.
  func received(_ packet: RTPPacket, count: Int, extensions: HeaderExtensionMap, at now: Instant) {
    bandwidth.received(packet, count: count, extensions: extensions, at: now)
  }

  // MARK: What is due

  /// Sends NACK, PLI, transport-wide feedback and REMB, as far as they are due.
  func sendFeedback(_ receivers: [RTPReceiver], _ senders: [RTPSender], to host: any MediaEngineHost, at now: Instant) {
    let sender = speaker(senders)
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams {
        if let due = stream.nack?.deadline, due <= now, let missing = stream.nack?.poll(at: now),
          !missing.isEmpty
        {
          begin(sender)
          writer.nack(sender: sender, media: stream.ssrc, sequenceNumbers: missing)
          flush(to: host, whenFull: true)
        }
        if stream.isKeyframeRequestUseful(at: now), stream.keyframes.poll(at: now) {
          begin(sender)
          writer.pictureLossIndication(sender: sender, media: stream.ssrc)
        }
      }
    }
    while let feedback = bandwidth.feedback(at: now) {
      begin(sender)
      writer.transportFeedback(feedback)
      flush(to: host, whenFull: true)
    }
    if let bitrate = bandwidth.estimate(requested: Self.requested(receivers), at: now) {
      let streams = receivers.filter { $0.isActive && $0.kind == .video }.flatMap { $0.streams.map(\.ssrc) }
      if !streams.isEmpty {
        begin(sender)
        writer.receiverEstimatedMaximumBitrate(
          RTCPBandwidth(sender: sender, bitsPerSecond: bitrate, streams: Array(streams.prefix(64))))
      }
    }
    flush(to: host)
  }

  /// Sends the reports when a second is over: SR with SDES of everything that we send, RR of everything that arrives.
  func sendReports(_ receivers: [RTPReceiver], _ senders: [RTPSender], to host: any MediaEngineHost, at now: Instant) {
    guard now >= nextReport else { return }
    // Up to a fifth earlier, so that many connections do not report at once (RFC 3550 section 6.2).
    nextReport = now + Self.reportInterval - .nanoseconds(Int64(random.next() % 200_000_000))
    let wallClock = host.wallClock(at: now)
    var blocks: [RTCPReportBlock] = []
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams { if let block = stream.makeReport(at: now) { blocks.append(block) } }
    }
    for sender in senders where sender.isAgreed {
      for stream in sender.streams {
        guard let report = stream.makeReport(wallClock: wallClock, at: now) else { continue }
        reportedAt = now
        writer.senderReport(report)
        writer.sourceDescription(ssrc: stream.ssrc, cname: cname)
        flush(to: host, whenFull: true)
      }
    }
    guard !blocks.isEmpty || !writer.isEmpty || now >= reportedAt + Self.emptyReportInterval else { return }
    reportedAt = now
    var rest = blocks[...]
    repeat {
      let part = rest.prefix(Self.maximumBlocks)
      rest = rest.dropFirst(part.count)
      if !part.isEmpty || writer.isEmpty { writer.receiverReport(ssrc: speaker(senders), reports: Array(part)) }
      flush(to: host, whenFull: true)
    } while !rest.isEmpty
    flush(to: host)
  }

  /// Who speaks in our RTCP: a source of ours when there is one.
  private func speaker(_ senders: [RTPSender]) -> SSRC { senders.first { $0.isAgreed }?.ssrc ?? ssrc }

  /// Missing packets that were asked for so far.
  private static func requested(_ receivers: [RTPReceiver]) -> Int {
    var count = 0
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams { count += stream.nack?.statistics.requested ?? 0 }
    }
    return count
  }

  private func begin(_ sender: SSRC) {
    // Every datagram begins with a report (RFC 3550 section 6.1), so that it is right without reduced size too.
    if writer.isEmpty { writer.receiverReport(ssrc: sender, reports: []) }
  }

  private func flush(to host: any MediaEngineHost, whenFull: Bool = false) {
    guard !writer.isEmpty, !whenFull || writer.count >= Self.fullDatagram else { return }
    writer.withBytes { host.send(rtcp: $0) }
    writer.removeAll()
  }
}
