import MediaCore
import RTP

/// The media of one connection without its input and output: packets and times go in; packets, frames and events come out,
/// to its host. Routing, repair, reports and feedback are decided here; what was agreed comes from `Negotiation`, keys and
/// sockets are the host's. Confined to one thread.
///
/// ```
///   datagram ─▶ receiveRTP ─▶ ReceiverTable ─▶ ReceiveStream ─▶ host.receive(packet), host.receive(frame)
///   datagram ─▶ receiveRTCP ─▶ reports, NACK, PLI ─▶ SendStream ─▶ host.send(rtp:)
///   frame ─▶ RTPSender ─▶ SendStream ─▶ host.send(rtp:)
///   time ─▶ tick ─▶ what is due: frames, NACK, PLI, feedback, reports ─▶ host.send(rtcp:)
/// ```
final class MediaEngine {
  /// The world; nil once the connection is closed.
  weak var host: (any MediaEngineHost)?
  /// Whether packets can leave.
  private(set) var canSend = false
  /// Senders in the order of their making.
  private(set) var senders: [RTPSender] = []
  /// When the last RTP packet came; nil before the first.
  private(set) var lastPacketAt: Instant?
  /// What is sent in place of sound that is lost.
  let emptyPayload = MediaBuffer(capacity: 1)

  /// Connected: keyframes are asked for at once.
  private var isConnected = false
  private let jitterBufferDelay: Duration
  private var random: SeededRandom
  private var table = ReceiverTable()
  private let reporter: RTCPReporter
  private var counts = PeerConnectionCounters()
  /// Bytes of RTP that came, and how many of them the last sample told.
  private var receivedBytes: Int64 = 0
  private var sampledBytes: Int64 = 0
  private var unwrapPool = MediaBufferPool(capacity: 1600, limit: 256)
  private var transportSequence: UInt16

  /// An engine whose numbers follow from `seed`.
  init(_ configuration: RTCPeerConnection.Configuration, cname: String, seed: UInt64) {
    jitterBufferDelay = configuration.jitterBufferDelay
    var random = SeededRandom(seed: seed)
    transportSequence = UInt16(truncatingIfNeeded: random.next())
    reporter = RTCPReporter(
      cname: cname, maximumBitrate: configuration.maximumReceiveBitrate, random: SeededRandom(seed: random.next()))
    self.random = random
  }

  /// Receivers in the order of their sections, also those that carry nothing now.
  var receivers: [RTPReceiver] { table.all }
  /// Sources that are known.
  var sourceCount: Int { table.sourceCount }
  /// What could not be used.
  var counters: PeerConnectionCounters {
    var counters = counts
    counters.refusedSources = table.refused
    return counters
  }

  // MARK: What was agreed

  /// Brings receivers and routing in line with what was negotiated, and tells the host. `sections`: the names of all.
  func applyReceivers(_ media: [NegotiatedMedia], sections: Set<MID>) {
    reporter.follow(media)
    let stopped = table.begin(media, sections: sections)
    forgetSources()
    for receiver in stopped { host?.hear(.receiverRemoved(receiver)) }
    for section in media where section.receives {
      let receiver = table.receiver(of: section) {
        RTPReceiver(mid: section.mid, kind: section.kind, maximumWait: jitterBufferDelay, engine: self)
      }
      let before = table.update(receiver, with: section)
      forgetSources()
      let isSameTrack = before.map { $0 == (receiver.streamID, receiver.trackID) } ?? false
      // The host may have closed the connection.
      guard host != nil else { continue }
      if before == nil {
        host?.hear(.receiverAdded(receiver))
      } else if !isSameTrack {
        host?.hear(.receiverChanged(receiver))
      }
      if isConnected, !isSameTrack { wantFirstKeyframe(of: receiver) }
    }
  }

  /// Gives every sender the section and payload types that the peer agreed to.
  func applySenders(_ media: [NegotiatedMedia]) {
    for sender in senders { sender.take(media.first { $0.track == sender.id }) }
  }

  /// Keys of sources that went are of no use any more.
  private func forgetSources() {
    guard table.hasForgotten else { return }
    for ssrc in table.takeForgotten() { host?.forget(ssrc) }
  }

  /// Makes the sender of a track.
  func addSender(_ track: LocalTrack) -> RTPSender {
    let sender = RTPSender(track, engine: self, random: &random)
    senders.append(sender)
    return sender
  }

  /// Nothing of it is sent from now on. False when it is not, or not any more, one of these.
  func removeSender(_ sender: RTPSender) -> Bool {
    guard let index = senders.firstIndex(where: { $0 === sender }) else { return false }
    senders.remove(at: index)
    sender.stop()
    for stream in sender.streams {
      host?.forget(stream.ssrc)
      host?.forget(stream.retransmissionSSRC)
    }
    return true
  }

  /// Whether packets can leave from now on. When the connection is there, pictures of which nothing came are asked for.
  func setCanSend(_ canSend: Bool, isConnected: Bool, at now: Instant) {
    self.canSend = canSend
    self.isConnected = isConnected
    guard isConnected else { return }
    for receiver in receivers where receiver.isActive { wantFirstKeyframe(of: receiver) }
    sendDueFeedback(at: now)
  }

  private func wantFirstKeyframe(of receiver: RTPReceiver) {
    guard receiver.kind == .video else { return }
    for stream in receiver.streams where stream.lastArrival == nil { stream.keyframes.want(.consumer) }
  }

  /// Hands out the frames that wait for missing packets, which will not come any more.
  func releaseFrames(at now: Instant) {
    for receiver in receivers {
      for stream in receiver.streams { stream.flush(into: self, at: now) }
    }
  }

  /// Everything ends; the host hears no more.
  func close() {
    host = nil
    (canSend, isConnected) = (false, false)
    for sender in senders { sender.take(nil) }
    table.removeAll()
  }

  // MARK: Arriving packets

  /// Takes an RTP packet that came at `now`, in clear text. The buffer may be kept.
  func receiveRTP(_ buffer: MediaBuffer, at now: Instant) {
    lastPacketAt = now
    guard let packet = RTPPacket(buffer) else {
      counts.malformedRTP += 1
      return
    }
    receivedBytes &+= Int64(buffer.count)
    reporter.received(packet, count: buffer.count, extensions: table.extensions, at: now)
    guard let source = table.source(of: packet) else {
      forgetSources()
      counts.unroutedRTP += 1
      return
    }
    forgetSources()
    switch source {
    case .media(let stream):
      receive(packet, for: stream, isRetransmission: false, at: now)
    case .retransmission(let stream):
      guard case .retransmission(let type) = stream.receiver.payloads.format(of: packet.payloadType) else {
        counts.unroutedRTP += 1
        return
      }
      // Nil for padding that only probes the path.
      if let original = RTX.unwrap(packet, ssrc: stream.ssrc, payloadType: type, into: unwrapPool.take()) {
        receive(original, for: stream, isRetransmission: true, at: now)
      }
    }
  }

  private func receive(_ packet: RTPPacket, for stream: ReceiveStream, isRetransmission: Bool, at now: Instant) {
    switch stream.receiver.payloads.format(of: packet.payloadType) {
    case .codec, .redundancy: break
    case .retransmission, nil:
      counts.unroutedRTP += 1
      stream.passOver(packet, in: self, at: now)
      return
    }
    stream.receive(packet, isRetransmission: isRetransmission, in: self, at: now)
    let isNACKDue = stream.nack?.deadline.map { $0 <= now + .milliseconds(1) } ?? false
    let isKeyframeDue = stream.keyframes.deadline.map { $0 <= now } ?? false
    if isNACKDue || isKeyframeDue { sendDueFeedback(at: now) }
  }

  /// Gives a packet to the host.
  func deliver(_ packet: RTPPacket, of stream: ReceiveStream, at now: Instant) {
    host?.receive(packet, of: stream, at: now)
  }

  /// Gives a frame to the host.
  func deliver(_ frame: EncodedFrame, of stream: ReceiveStream) { host?.receive(frame, of: stream) }

  /// Takes a datagram of RTCP that came at `now`, in clear text; the bytes are valid during the call.
  func receiveRTCP(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
    var compound = RTCPCompound(bytes)
    while let packet = compound.next() { receive(packet, at: now) }
    counts.malformedRTCP += compound.malformedCount
  }

  private func receive(_ packet: RTCPPacket, at now: Instant) {
    switch packet {
    case .senderReport(let report):
      if let stream = table.media(report.ssrc) {
        stream.receive(report, at: now)
        host?.hear(
          .senderReport(stream.receiver, stream.rid, ntp: report.ntp, rtpTimestamp: report.rtpTimestamp, at: now))
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
      host?.hear(.keyframeWanted(sender, stream.rid))
    case .fullIntraRequest(let from, let entries):
      for entry in entries {
        guard let (sender, stream) = outgoing(entry.media), stream.isNewCommand(entry, from: from) else { continue }
        host?.hear(.keyframeWanted(sender, stream.rid))
      }
    case .receiverEstimatedMaximumBitrate(let estimate): host?.hear(.bitrateEstimate(estimate.bitsPerSecond))
    case .sourceDescription, .goodbye, .transportFeedback:
      // Sources come and go by negotiation; what we send is not regulated.
      break
    }
  }

  private func receive(_ block: RTCPReportBlock, at now: Instant) {
    guard let (sender, stream) = outgoing(block.ssrc) else { return }
    sender.hear(block, roundTripTime: stream.roundTripTime(block, at: now))
  }

  private func outgoing(_ ssrc: SSRC) -> (RTPSender, SendStream)? {
    for sender in senders {
      if let stream = sender.streams.first(where: { $0.ssrc == ssrc }) { return (sender, stream) }
    }
    return nil
  }

  // MARK: Departing packets

  /// The number of the next packet over all streams.
  func takeTransportSequence() -> UInt16 {
    transportSequence &+= 1
    return transportSequence
  }

  /// Sends a packet; false when it was not sent.
  func transmit(_ buffer: MediaBuffer) -> Bool { host?.send(rtp: buffer) ?? false }

  // MARK: Time

  /// Whether anything may arrive.
  var isReceiving: Bool { receivers.contains { $0.isActive } }
  /// Whether the peer agreed to anything that is sent.
  var isSending: Bool { senders.contains { $0.isAgreed } }

  /// What is due by the passing of time; to be called each 20 ms while anything may arrive, and a few times a second otherwise.
  func tick(at now: Instant) {
    for receiver in receivers where receiver.isActive {
      for stream in receiver.streams { stream.tick(in: self, at: now) }
    }
    sendDueFeedback(at: now)
    if canSend, let host { reporter.sendReports(receivers, senders, to: host, at: now) }
  }

  /// Sends what is due of NACK, PLI, transport-wide feedback and REMB.
  func sendDueFeedback(at now: Instant) {
    if canSend, let host { reporter.sendFeedback(receivers, senders, to: host, at: now) }
  }

  /// What came in since the last call.
  func sampleReception() -> ReceptionSample {
    var sample = ReceptionSample(receivers)
    sample.bytes = receivedBytes &- sampledBytes
    sampledBytes = receivedBytes
    sample.estimate = reporter.bitsPerSecond
    return sample
  }
}
