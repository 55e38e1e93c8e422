import MediaCore
import RTP

/// One arriving media source: numbers, repair and statistics, and frames when they are wanted. Confined to the loop.
///
/// Large: numbers, repair, order and clock of one source are values of their own, which it holds together.
final class ReceiveStream {
  let ssrc: SSRC
  let rid: RID?
  /// What the newest packet's payload type stands for: a sender may change its codec on the same source.
  private(set) var codec: Codec
  unowned let receiver: RTPReceiver
  /// When the last packet came; nil before the first.
  private(set) var lastArrival: Instant?
  private(set) var duplicateCount = 0
  private(set) var frameCount = 0
  private(set) var statistics: ReceiveStatistics
  /// The share of packets lost by our last report, 0...1.
  private(set) var fractionLost = 0.0
  var nack: NackGenerator?
  var keyframes = KeyframeRequester()
  /// How long packets stand in queues on the way.
  var queue: QueueDelayEstimator
  private var takenOctets: Int64 = 0
  private(set) var clock: SenderReportClock
  private var sequences = SequenceUnwrapper()
  private var timestamps = TimestampUnwrapper()
  private var seen = DuplicateWindow()
  private var video: JitterBuffer?
  /// Where the stream took up the codec that it has.
  private var codecSince = Int64.min
  private var audio: AudioReorderBuffer?
  /// What the buffers of codecs before this one counted.
  private var (pastCopied, pastMissed) = (0, 0)
  /// When frames may become available without a further packet.
  private var frameDeadline: Instant?
  /// Concealment for more than this is silence to the listener anyway.
  private static let maximumLostUnits = 50

  init(ssrc: SSRC, rid: RID?, codec: Codec, receiver: RTPReceiver, usesNACK: Bool) {
    self.ssrc = ssrc
    self.rid = rid
    self.codec = codec
    self.receiver = receiver
    statistics = ReceiveStatistics(ssrc: ssrc, clockRate: codec.clockRate)
    clock = SenderReportClock(clockRate: codec.clockRate)
    queue = QueueDelayEstimator(clockRate: codec.clockRate)
    if usesNACK { nack = NackGenerator() }
  }

  /// Takes a packet of this source, or one that was unwrapped from its retransmissions.
  func receive(_ packet: RTPPacket, isRetransmission: Bool, in engine: MediaEngine, at now: Instant) {
    let sequence = sequences.unwrap(packet.sequenceNumber)
    guard seen.insert(sequence) else {
      duplicateCount += 1
      return
    }
    lastArrival = now
    follow(packet, sequence, in: engine, at: now)
    if !isRetransmission {
      statistics.received(
        sequence: sequence, timestamp: packet.timestamp, payloadCount: packet.payloadCount, at: now)
    }
    nack?.received(sequence, at: now)
    if !packet.isPaddingOnly {
      let timestamp = timestamps.unwrap(packet.timestamp)
      if !isRetransmission { queue.received(timestamp: timestamp, at: now) }
    }
    if keyframes.deadline != nil { noteKeyframe(packet) }
    if receiver.wantsPackets { engine.deliver(packet, of: self, at: now) }
    if receiver.wantsFrames {
      insert(packet, sequence, in: engine, at: now)
      drain(into: engine, at: now)
    }
  }

  /// Notes a packet of a payload type that was not agreed: to no decoder, but of sound its number is not missing either.
  func passOver(_ packet: RTPPacket, in engine: MediaEngine, at now: Instant) {
    guard kind == .audio else { return }
    let sequence = sequences.unwrap(packet.sequenceNumber)
    guard seen.insert(sequence) else { return }
    nack?.received(sequence, at: now)
    guard audio != nil else { return }
    audio?.passOver(packet, sequence: sequence, at: now)
    drain(into: engine, at: now)
  }

  private var kind: MediaKind { codec.kind }

  /// Packets that came as copies in later ones.
  var copiedCount: Int { pastCopied + (audio?.statistics.recovered ?? 0) }

  /// Packets that did not come in time for their frames.
  var missedCount: Int { pastMissed + (audio?.statistics.lost ?? 0) + (video?.statistics.lostPackets ?? 0) }

  /// Takes over the codec of a packet. Its frames begin anew, those of pictures with a keyframe.
  private func follow(_ packet: RTPPacket, _ sequence: Int64, in engine: MediaEngine, at now: Instant) {
    guard let new = receiver.mediaCodec(of: packet.payloadType), new.kind == kind, new != codec, sequence > codecSince,
      !packet.isPaddingOnly
    else { return }
    if video != nil || audio != nil {
      drain(into: engine, at: now, waits: false)
      (pastCopied, pastMissed) = (copiedCount, missedCount)
      (video, audio, codecSince) = (nil, nil, sequence)
      if kind == .video { keyframes.want(.consumer) }
    }
    if new.clockRate != codec.clockRate {
      statistics.clockRate = new.clockRate
      clock = SenderReportClock(clockRate: new.clockRate)
      queue = QueueDelayEstimator(clockRate: new.clockRate)
      timestamps = TimestampUnwrapper()
    }
    codec = new
  }

  /// Bytes of payload since the last call.
  func takeOctets() -> Int64 {
    defer { takenOctets = statistics.octetCount }
    return statistics.octetCount &- takenOctets
  }

  private func noteKeyframe(_ packet: RTPPacket) {
    if codec.depacketize(packet.payload)?.isKeyframe == true { keyframes.keyframeReceived() }
  }

  private func insert(_ packet: RTPPacket, _ sequence: Int64, in engine: MediaEngine, at now: Instant) {
    // What is left of the codec before.
    guard sequence >= codecSince, packet.isPaddingOnly || receiver.mediaCodec(of: packet.payloadType) == codec else {
      return
    }
    switch kind {
    case .video:
      if video == nil {
        var configuration = JitterBuffer.Configuration()
        configuration.maximumWait = receiver.maximumWait
        video = JitterBuffer(codec: codec, configuration: configuration)
      }
      if codec == .h264, let sets = receiver.parameterSets[packet.payloadType] { video?.parameterSets = sets }
      let rotation = packet.videoOrientation(receiver.extensions)?.rotation
      video?.insert(packet, sequence: sequence, rotation: rotation, at: now)
    case .audio:
      // Redundant blocks come within a few packets; what is asked for again may take as long as pictures do.
      let wait = nack == nil ? min(receiver.maximumWait, .milliseconds(120)) : receiver.maximumWait
      if audio == nil { audio = AudioReorderBuffer(codec: codec, maximumWait: wait) }
      if case .redundancy(let primary) = receiver.payloads.format(of: packet.payloadType) {
        let filled = audio?.insertRED(packet, sequence: sequence, primary: primary, at: now) ?? []
        for sequence in filled { nack?.recovered(sequence) }
      } else {
        audio?.insert(packet, sequence: sequence, at: now)
      }
    }
  }

  /// Hands out every frame that is ready at `now`. When it does not wait, what is missing will not come any more.
  private func drain(into engine: MediaEngine, at now: Instant, waits: Bool = true) {
    frameDeadline = nil
    switch kind {
    case .video: drainVideo(into: engine, at: now, waits: waits)
    case .audio: drainAudio(into: engine, at: now, waits: waits)
    }
  }

  /// Hands out what waits for missing packets too: they will not come any more.
  func flush(into engine: MediaEngine, at now: Instant) {
    if receiver.wantsFrames { drain(into: engine, at: now, waits: false) }
  }

  private func drainVideo(into engine: MediaEngine, at now: Instant, waits: Bool) {
    while let output = video?.poll(at: waits ? now : .distantFuture) {
      guard case .frame(var frame, _, let completed) = output else {
        if case .wait(let until) = output { frameDeadline = until }
        break
      }
      frame.captureTime = clock.captureTime(of: frame.rtpTime)
      frame.held = max(.zero, now - completed)
      frameCount += 1
      engine.deliver(frame, of: self)
      // The delegate may have closed the connection or turned frames off.
      guard receiver.wantsFrames else { return }
    }
    // Several tries at the packet have failed by then; over a long way they take longer.
    if let roundTripTime = nack?.roundTripTime { video?.overdueAfter = max(.milliseconds(200), roundTripTime * 3) }
    if video?.needsKeyframe == true { keyframes.want(.gap) } else { keyframes.withdraw(.gap) }
  }

  private func drainAudio(into engine: MediaEngine, at now: Instant, waits: Bool) {
    while let output = audio?.poll(at: waits ? now : .distantFuture) {
      guard case .packet(let packet) = output else {
        if case .wait(let until) = output { frameDeadline = until }
        break
      }
      let units = packet.lostUnits
      let held = max(.zero, now - packet.arrived)
      if units > 0, units <= Self.maximumLostUnits {
        for unit in 0..<units {
          let time = packet.rtpTime &- packet.lostBefore &+ Int64(unit) &* packet.unit
          let lost = EncodedFrame(
            codec: codec, payload: engine.emptyPayload, rtpTime: time, captureTime: clock.captureTime(of: time),
            isKeyframe: true, followsLoss: true, held: held)
          engine.deliver(lost, of: self)
          guard receiver.wantsFrames else { return }
        }
      }
      let frame = EncodedFrame(
        codec: codec, payload: packet.payload, rtpTime: packet.rtpTime,
        captureTime: clock.captureTime(of: packet.rtpTime), isKeyframe: true, followsLoss: packet.lostBefore > 0,
        audioLevel: packet.packet.flatMap { $0.audioLevel(receiver.extensions)?.level }, held: held)
      frameCount += 1
      engine.deliver(frame, of: self)
      guard receiver.wantsFrames else { return }
    }
  }

  /// The report block of this instant (RFC 3550 section 6.4.1); nil before the first packet.
  func makeReport(at now: Instant) -> RTCPReportBlock? {
    guard let block = statistics.makeReport(at: now) else { return nil }
    fractionLost = Double(block.fractionLost) / 256
    return block
  }

  /// A source that is silent for long is muted or not sent at all: asking on and on would only disturb its sender.
  func isKeyframeRequestUseful(at now: Instant) -> Bool {
    guard let due = keyframes.deadline, due <= now else { return false }
    if keyframes.requestCount < 5 { return true }
    return lastArrival.map { now - $0 < .seconds(2) } ?? false
  }

  /// Takes a sender report of this source.
  func receive(_ report: RTCPSenderReport, at now: Instant) {
    statistics.received(senderReport: report, at: now)
    // Before the first packet any reference will do: the first packet is then near the report.
    clock.received(report, near: timestamps.last ?? timestamps.unwrap(report.rtpTimestamp))
  }

  /// What is due by the passing of time alone.
  func tick(in engine: MediaEngine, at now: Instant) {
    if receiver.wantsFrames {
      if let frameDeadline, frameDeadline <= now { drain(into: engine, at: now) }
      if let lowest = video?.lowestUseful ?? audio?.lowestUseful { nack?.forget(below: lowest) }
    }
  }
}
