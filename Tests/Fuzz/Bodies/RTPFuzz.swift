import MediaCore
import RTP

/// Feeds bytes to the RTP packet parser, to everything that reads or rewrites a packet, and to the header extension
/// parsers.
public func fuzzRTP(_ bytes: UnsafeRawBufferPointer) {
  _ = RTPPacket.looksLikeRTCP(bytes)
  fuzzExtensionValues(bytes)
  guard let packet = RTPPacket(MediaBuffer(copying: bytes)) else { return }
  var map = HeaderExtensionMap()
  for (index, name) in HeaderExtension.allCases.enumerated() { map.set(name, id: UInt8(truncatingIfNeeded: index + 1)) }
  for id in [UInt8.min, 1, 9, 14, 15, 16, 0x80, .max] { _ = packet.headerExtension(id)?.count }
  _ = packet.mid(map)
  _ = packet.rid(map)
  _ = packet.repairedRid(map)
  _ = packet.audioLevel(map)
  _ = packet.absoluteSendTime(map)
  _ = packet.transportSequence(map)
  _ = packet.absoluteCaptureTime(map)
  _ = packet.playoutDelay(map)
  _ = packet.videoOrientation(map)
  packet.overwriteTransportSequence(7, map)
  packet.overwriteAbsoluteSendTime(AbsoluteSendTime(nanoseconds: 1), map)
  let ssrc = SSRC(1)
  let type = PayloadType(97)
  let roomy = MediaBuffer(capacity: bytes.count + 16)
  let tight = MediaBuffer(capacity: 20)
  _ = RTX.unwrap(packet, ssrc: ssrc, payloadType: type, into: tight)
  RTX.wrap(packet, ssrc: ssrc, payloadType: type, sequenceNumber: 1, into: tight)
  if RTX.wrap(packet, ssrc: ssrc, payloadType: type, sequenceNumber: 1, into: roomy), let again = RTPPacket(roomy) {
    let rebuilt = RTX.unwrap(
      again, ssrc: packet.ssrc, payloadType: packet.payloadType, into: MediaBuffer(capacity: bytes.count))
    precondition(rebuilt?.payload.elementsEqual(packet.payload) ?? false, "RTX does not come back")
    precondition(rebuilt?.sequenceNumber == packet.sequenceNumber, "RTX lost the sequence number")
  }
  RTPHeader(packet).copy(packet, into: roomy)
}

private func fuzzExtensionValues(_ bytes: UnsafeRawBufferPointer) {
  _ = AudioLevelExtension(bytes)
  _ = AbsoluteSendTime(bytes)
  _ = AbsoluteCaptureTime(bytes)
  _ = PlayoutDelay(bytes)
  _ = VideoOrientation(bytes)
}

/// Feeds bytes to the RTCP parser and what it finds to the mechanisms that act upon it; what was understood is
/// written again and must be understood as the same.
public func fuzzRTCP(_ bytes: UnsafeRawBufferPointer) {
  var compound = RTCPCompound(bytes)
  var writer = RTCPWriter()
  var clock = SenderReportClock(clockRate: .video)
  var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
  var history = RetransmissionHistory(capacity: 16)
  var now = Instant(nanoseconds: 0)
  while let packet = compound.next() {
    now += .milliseconds(1)
    writer.removeAll()
    switch packet {
    case .senderReport(let report):
      clock.received(report, near: 0)
      _ = clock.captureTime(of: Int64(report.rtpTimestamp))
      statistics.received(senderReport: report, at: now)
      for block in report.reports { _ = block.roundTripTime(at: report.ntp) }
      writer.senderReport(report)
    case .receiverReport(let report):
      for block in report.reports { _ = block.roundTripTime(at: NTPTime(0)) }
      writer.receiverReport(ssrc: report.ssrc, reports: report.reports)
    case .sourceDescription(let chunks):
      for chunk in chunks { writer.sourceDescription(ssrc: chunk.ssrc, cname: chunk.cname) }
    case .goodbye(let sources):
      writer.goodbye(sources)
    case .nack(let nack):
      for number in nack.sequenceNumbers { _ = history.retransmit(number, at: now) }
      writer.nack(sender: nack.sender, media: nack.media, sequenceNumbers: nack.sequenceNumbers)
    case .pictureLossIndication(let sender, let media):
      writer.pictureLossIndication(sender: sender, media: media)
    case .fullIntraRequest(let sender, let entries):
      writer.fullIntraRequest(sender: sender, entries: entries)
    case .transportFeedback(let feedback):
      _ = feedback.fractionLost
      writer.transportFeedback(feedback)
      var again = writer.withBytes { RTCPCompound($0).first { _ in true } }
      if feedback.statusCount == 0 { again = packet }
      precondition(again == packet, "feedback does not come back")
    case .receiverEstimatedMaximumBitrate(let bandwidth):
      writer.receiverEstimatedMaximumBitrate(bandwidth)
    }
  }
}

/// Feeds bytes to the payload parsers of a video codec, and cuts them into packets for the buffers that put a stream in order:
/// every record is two bytes of sequence number, one of timestamp and flags, one of length, and the payload.
public func fuzzDepacketizer(_ codec: Codec) -> @Sendable (UnsafeRawBufferPointer) -> Void {
  { bytes in
    if let parsed = codec.depacketize(bytes) {
      precondition(parsed.headerCount <= bytes.count, "a header beyond the end")
    }
    switch codec {
    case .vp8: _ = VP8FrameHeader(beginning: bytes)
    case .vp9:
      _ = VP9FrameHeader(bytes)
      _ = VP9Superframe.frames(bytes)
    case .h264:
      _ = H264SequenceParameters(bytes)
      _ = H264Depacketizer.parameterSets(String(decoding: bytes, as: UTF8.self))
    case .h265: _ = H265SequenceParameters(bytes)
    case .av1: if let unit = AV1OBU(bytes) { _ = AV1SequenceHeader(unit.payload) }
    case .opus, .g722, .pcmu, .pcma: break
    }
    var configuration = JitterBuffer.Configuration()
    configuration.capacity = 64
    var buffer = JitterBuffer(codec: codec, configuration: configuration)
    let now = forEachPacket(of: bytes) { packet, sequence, _, now in
      buffer.insert(packet, sequence: sequence, at: now)
      while case .frame(let frame, _, _) = buffer.poll(at: now) { look(at: frame) }
    }
    while case .frame(let frame, _, _) = buffer.poll(at: now + .seconds(10)) { look(at: frame) }
  }
}

/// The same for audio, redundant (RFC 2198) and not.
@Sendable public func fuzzAudioDepacketizers(_ bytes: UnsafeRawBufferPointer) {
  _ = OpusPacket(bytes)
  if let red = REDDepacketizer(bytes) {
    for index in 0..<red.redundantCount { _ = red.redundant(index).map { red.bytes(of: $0).count } }
    _ = red.bytes(of: red.primary).count
  }
  for codec in Codec.allCases {
    if let ticks = codec.audioDuration(bytes) { precondition((1...5760).contains(ticks), "sound of no length") }
  }
  var buffers = [Codec.opus, .g722].map { AudioReorderBuffer(codec: $0) }
  var nack = NackGenerator()
  var statistics = ReceiveStatistics(ssrc: SSRC(1), clockRate: .video)
  var recorder = TransportFeedbackRecorder(sender: SSRC(1))
  let now = forEachPacket(of: bytes) { packet, sequence, flags, now in
    nack.received(sequence, at: now)
    _ = nack.poll(at: now)
    statistics.received(sequence: sequence, timestamp: packet.timestamp, payloadCount: packet.payloadCount, at: now)
    recorder.received(transportSequence: packet.sequenceNumber, ssrc: packet.ssrc, at: now)
    while recorder.poll(at: now) != nil {}
    for index in buffers.indices {
      if flags & 0x40 != 0 {
        buffers[index].insertRED(packet, sequence: sequence, primary: PayloadType(111), at: now)
      } else {
        buffers[index].insert(packet, sequence: sequence, at: now)
      }
      while case .packet = buffers[index].poll(at: now) {}
    }
  }
  _ = statistics.makeReport(at: now)
  for index in buffers.indices {
    while case .packet = buffers[index].poll(at: now + .seconds(10)) {}
  }
}

/// Reads the frame as decoders do.
private func look(at frame: EncodedFrame) {
  let bytes = frame.payload.bytes
  precondition(!bytes.isEmpty && bytes.count <= 64 * 600, "a frame of no size, or of more than was put in")
  for part in VP9Superframe.frames(bytes) ?? [] { _ = VP9FrameHeader(part) }
  var layers = VP9LayerHiding()
  for _ in 0..<2 { _ = layers.hidden(bytes) }
}

/// Cuts bytes into packets; gives the time of the last one. `body` gets a packet, its extended sequence number,
/// the flags and the time.
private func forEachPacket(
  of bytes: UnsafeRawBufferPointer, _ body: (RTPPacket, Int64, UInt8, Instant) -> Void
) -> Instant {
  var unwrapper = SequenceUnwrapper()
  var offset = 0
  var now = Instant(nanoseconds: 0)
  while offset + 4 <= bytes.count {
    let number = UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    let flags = bytes[offset + 2]
    let length = min(Int(bytes[offset + 3]), bytes.count - offset - 4)
    let payload = UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + 4 + length)])
    offset += 4 + length
    now += .milliseconds(Int(flags & 0x1f) * 5)
    let buffer = MediaBuffer(capacity: 12 + length)
    RTPPacket.write(
      into: buffer, marker: flags & 0x80 != 0, payloadType: PayloadType(96), sequenceNumber: number,
      timestamp: UInt32(flags >> 3) << 27, ssrc: SSRC(1), payload: payload)
    guard let packet = RTPPacket(buffer) else { continue }
    body(packet, unwrapper.unwrap(number), flags, now)
  }
  return now
}
