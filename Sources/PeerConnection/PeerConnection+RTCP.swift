import Glibc
import MediaCore
import RTP
import Transport

extension PeerConnection {
  /// Time between two looks at what is due, in nanoseconds.
  private static let tickInterval: Int64 = 20_000_000
  /// Time between two reports.
  private static let reportInterval: Int64 = 1_000_000_000
  /// A datagram of RTCP is sent when it has grown to this.
  private static let fullDatagram = 1000

  func startTicking() {
    guard tickTimer == nil else { return }
    tickTimer = loop.timer(after: Self.tickInterval, repeats: true) { [weak self] in self?.tick() }
  }

  private func tick() {
    let now = MediaLoop.now()
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams { stream.tick(in: self, at: now) }
    }
    guard canSendMedia else { return }
    sendDueFeedback(at: now)
    if now >= nextReport {
      // Up to a fifth earlier, so that many connections do not report at once (RFC 3550 section 6.2).
      nextReport = now + Self.reportInterval - Int64(random.next() % 200_000_000)
      sendReports(at: now)
    }
  }

  /// The wall clock at `now`.
  func wallClock(at now: Int64) -> NTPTime {
    if let wallClock = configuration.wallClock { return wallClock(now) }
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    // From 1970 to 1900 (RFC 868).
    let seconds = Int64(time.tv_sec) &+ 2_208_988_800
    let elapsed = MediaLoop.now() &- now
    return NTPTime(nanoseconds: seconds &* 1_000_000_000 &+ Int64(time.tv_nsec) &- elapsed)
  }

  // MARK: Sending

  /// Who speaks in our RTCP: a source of ours when there is one.
  private var rtcpSender: SSRC { senders.first { $0.context != nil }?.ssrc ?? reportSSRC }

  private func begin() {
    // Every datagram begins with a report (RFC 3550 section 6.1), so that it is right without reduced size too.
    if writer.isEmpty { writer.receiverReport(ssrc: rtcpSender, reports: []) }
  }

  private func flush(whenFull: Bool = false) {
    guard !writer.isEmpty, !whenFull || writer.count >= Self.fullDatagram else { return }
    writer.withBytes { _ = transport?.sendRTCP($0) }
    writer.removeAll()
  }

  func sendDueFeedback() { sendDueFeedback(at: MediaLoop.now()) }

  /// NACK, PLI, transport-wide feedback and REMB, as far as they are due.
  func sendDueFeedback(at now: Int64) {
    guard canSendMedia else { return }
    var requested = 0
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams {
        requested += stream.nack?.statistics.requested ?? 0
        if let due = stream.nack?.deadline, due <= now, let requests = stream.nack?.poll(at: now),
          !requests.sequenceNumbers.isEmpty
        {
          begin()
          writer.nack(sender: rtcpSender, media: stream.ssrc, sequenceNumbers: requests.sequenceNumbers)
          flush(whenFull: true)
        }
        if isKeyframeRequestUseful(stream, at: now), stream.keyframes.poll(at: now) {
          begin()
          writer.pictureLossIndication(sender: rtcpSender, media: stream.ssrc)
        }
      }
    }
    if usesTransportFeedback {
      while let feedback = recorder.poll(at: now) {
        begin()
        writer.transportFeedback(feedback)
        flush(whenFull: true)
      }
    }
    if usesMaximumBitrate {
      estimator.lost(count: requested - estimatedLosses)
      estimatedLosses = requested
      if let bitrate = estimator.poll(at: now) { sendEstimate(bitrate) }
    }
    flush()
  }

  /// A source that is silent for long is muted or not sent at all: asking on and on would only disturb its sender.
  private func isKeyframeRequestUseful(_ stream: ReceiveStream, at now: Int64) -> Bool {
    guard let due = stream.keyframes.deadline, due <= now else { return false }
    if stream.keyframes.requestCount < 5 { return true }
    return stream.lastArrival.map { now &- $0 < 2_000_000_000 } ?? false
  }

  private func sendEstimate(_ bitrate: UInt64) {
    let streams = receivers.filter { $0.isActive && $0.kind == .video }.flatMap { $0.streams.map(\.ssrc) }
    guard !streams.isEmpty else { return }
    begin()
    writer.receiverEstimatedMaximumBitrate(
      RTCPBandwidth(sender: rtcpSender, bitsPerSecond: bitrate, streams: Array(streams.prefix(64))))
  }

  /// SR with SDES of everything that we send, RR of everything that arrives.
  private func sendReports(at now: Int64) {
    let wallClock = wallClock(at: now)
    var blocks: [RTCPReportBlock] = []
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams {
        guard let block = stream.statistics.makeReport(at: now) else { continue }
        stream.fractionLost = Double(block.fractionLost) / 256
        blocks.append(block)
      }
    }
    for sender in senders where sender.context != nil {
      for stream in sender.streams {
        guard let report = stream.makeReport(wallClock: wallClock, at: now) else { continue }
        writer.senderReport(report)
        writer.sourceDescription(ssrc: stream.ssrc, cname: negotiation.cname)
        flush(whenFull: true)
      }
    }
    var rest = blocks[...]
    repeat {
      let part = rest.prefix(31)
      rest = rest.dropFirst(part.count)
      if !part.isEmpty || writer.isEmpty { writer.receiverReport(ssrc: rtcpSender, reports: Array(part)) }
      flush(whenFull: true)
    } while !rest.isEmpty
    flush()
  }

  // MARK: Receiving

  func receiveRTCP(_ bytes: UnsafeRawBufferPointer, at now: Int64) {
    var compound = RTCPCompound(bytes)
    while let packet = compound.next() { receive(packet, at: now) }
    counters.malformedRTCP += compound.malformedCount
  }

  private func receive(_ packet: RTCPPacket, at now: Int64) {
    switch packet {
    case .senderReport(let report):
      if case .media(let stream) = sources[report.ssrc] {
        stream.receive(report, at: now)
        delegate?.peerConnection(
          self, receiver: stream.receiver, rid: stream.rid, senderReport: report.ntp,
          rtpTimestamp: report.rtpTimestamp, at: now)
      }
      for block in report.reports { receive(block, at: now) }
    case .receiverReport(let report):
      for block in report.reports { receive(block, at: now) }
    case .nack(let nack):
      guard let (sender, stream) = outgoing(nack.media), let context = sender.context else { return }
      // A NACK can name thousands of packets; one round trip's worth is plenty.
      stream.retransmit(
        Array(nack.sequenceNumbers.prefix(512)), roundTripTime: sender.roundTripTime,
        fractionLost: sender.fractionLost, context: context, through: self, at: now)
    case .pictureLossIndication(_, let media):
      guard let (sender, stream) = outgoing(media) else { return }
      delegate?.peerConnection(self, senderWantsKeyframe: sender, rid: stream.rid)
    case .fullIntraRequest(let from, let entries):
      for entry in entries {
        guard let (sender, stream) = outgoing(entry.media), stream.isNewCommand(entry, from: from) else { continue }
        delegate?.peerConnection(self, senderWantsKeyframe: sender, rid: stream.rid)
      }
    case .receiverEstimatedMaximumBitrate(let estimate):
      delegate?.peerConnection(self, receivedBitrateEstimate: estimate.bitsPerSecond)
    case .sourceDescription, .goodbye, .transportFeedback:
      // Sources come and go by negotiation; what we send is not regulated.
      break
    }
  }

  private func receive(_ block: RTCPReportBlock, at now: Int64) {
    guard let (sender, stream) = outgoing(block.ssrc) else { return }
    sender.fractionLost = Double(block.fractionLost) / 256
    if let time = stream.roundTripTime(block, at: now) { sender.roundTripTime = time }
  }

  private func outgoing(_ ssrc: SSRC) -> (RTPSender, SendStream)? {
    for sender in senders {
      if let stream = sender.streams.first(where: { $0.ssrc == ssrc }) { return (sender, stream) }
    }
    return nil
  }
}
