import MediaCore
import Platform
import RTP

/// What an outgoing stream needs of its connection for each packet.
struct SendContext {
  var payloadType: PayloadType
  var retransmissionType: PayloadType?
  /// The type of packets that carry older sound again (RFC 2198).
  var redundancyType: PayloadType?
  var extensions: HeaderExtensionMap
  var mid: MID
}

/// One outgoing source with its retransmissions: numbers, history and reports. Confined to the loop.
final class SendStream {
  let rid: RID?
  let ssrc: SSRC
  let retransmissionSSRC: SSRC
  let codec: Codec
  private(set) var nextSequence: UInt16
  private var retransmissionSequence: UInt16
  private var history: RetransmissionHistory
  private var pool: MediaBufferPool
  private var retransmissionPool = MediaBufferPool(capacity: SendStream.bufferSize, limit: 64)
  private var writer = RTPHeaderExtensionWriter()
  private var vp8: VP8Packetizer
  private var vp9: VP9Packetizer
  private var opus = OpusPacketizer()
  private(set) var packetCount: UInt32 = 0
  private(set) var octetCount: UInt32 = 0
  private(set) var retransmittedCount = 0
  /// The timestamp that belongs to an instant of `MonotonicClock.now`, and for forwarding the publisher's clock then.
  private var anchor: (rtp: UInt32, at: Instant, ntp: NTPTime?)?
  /// Sender reports that were sent: the middle of their NTP time, and when.
  private var reports: [(middle: UInt32, sentAt: Instant)] = []
  private var lastFIR: (sender: SSRC, number: UInt8)?

  /// Bytes of packet buffers: a whole datagram of an Ethernet path.
  static let bufferSize = 1500
  /// Payload bytes, so that with headers, extensions, RTX and SRTP a datagram stays below 1200 bytes.
  static let maximumPayload = 1100

  init(_ encoding: LocalTrack.Encoding, codec: Codec, random: inout SeededRandom) {
    rid = encoding.rid
    ssrc = encoding.ssrc
    retransmissionSSRC = encoding.retransmissionSSRC
    self.codec = codec
    // Below 2^15, so that an early loss cannot be taken for a wrap (RFC 3711 section 3.3.1).
    nextSequence = UInt16(truncatingIfNeeded: random.next() & 0x7fff)
    retransmissionSequence = UInt16(truncatingIfNeeded: random.next() & 0x7fff)
    let capacity = codec.kind == .video ? 512 : 128
    history = RetransmissionHistory(capacity: capacity)
    pool = MediaBufferPool(capacity: SendStream.bufferSize, limit: capacity + 32)
    let pictureID = UInt16(truncatingIfNeeded: random.next())
    vp8 = VP8Packetizer(maximumPayload: SendStream.maximumPayload, pictureID: pictureID)
    vp9 = VP9Packetizer(maximumPayload: SendStream.maximumPayload, pictureID: pictureID)
  }

  // MARK: Media

  /// Packetizes and sends a frame, of which `sent` are the bytes that go out: the frame's own, or encrypted ones. False when a packet was
  /// not sent.
  func send(
    _ frame: UnsafeRawBufferPointer, as sent: UnsafeRawBufferPointer, timestamp: UInt32, capturedAt: Instant,
    level: AudioLevelExtension?,
    context: SendContext,
    through engine: MediaEngine, at now: Instant
  ) -> Bool {
    guard !frame.isEmpty, !sent.isEmpty else { return false }
    anchor = (timestamp, capturedAt, nil)
    switch codec {
    case .opus:
      let marker = opus.marker(for: frame, timestamp: timestamp)
      guard let buffer = begin(nextSequence, timestamp, marker, level, nil, context, engine, now),
        buffer.append(sent)
      else { return false }
      return finish(buffer, nextSequence, sent.count, engine, now)
    case .vp8:
      let packets = vp8.packetize(frameCount: sent.count)
      return send(packets.count, timestamp, context, engine, now) { packets.append($0, of: sent, to: $1) }
    case .vp9:
      let packets = vp9.packetize(frame, count: sent.count)
      return send(packets.count, timestamp, context, engine, now) { packets.append($0, of: sent, to: $1) }
    case .h264, .av1, .h265, .g722, .pcmu, .pcma:
      // Forwarded only: nobody here makes frames of these.
      return false
    }
  }

  /// Sends the packets of a picture. False when one was not sent.
  private func send(
    _ count: Int, _ timestamp: UInt32, _ context: SendContext, _ engine: MediaEngine, _ now: Instant,
    append: (Int, MediaBuffer) -> Bool
  ) -> Bool {
    var sentAll = true
    for index in 0..<count {
      guard let buffer = begin(nextSequence, timestamp, index == count - 1, nil, nil, context, engine, now) else {
        return false
      }
      let head = buffer.count
      guard append(index, buffer) else { return false }
      sentAll = finish(buffer, nextSequence, buffer.count - head, engine, now) && sentAll
    }
    return sentAll
  }

  /// A buffer with the header of a packet to be forwarded; the payload is appended by the caller, then `finish`.
  func begin(
    _ sequence: UInt16, _ timestamp: UInt32, _ marker: Bool, _ level: AudioLevelExtension?,
    _ source: (packet: RTPPacket, extensions: HeaderExtensionMap)?, _ context: SendContext,
    _ engine: MediaEngine, _ now: Instant
  ) -> MediaBuffer? {
    writer.removeAll()
    writer.append(mid: context.mid, context.extensions)
    if let rid { writer.append(rid: rid, context.extensions) }
    appendTransportElements(context, engine, now)
    if let level { writer.append(audioLevel: level, context.extensions) }
    if let source {
      if let level = source.packet.audioLevel(source.extensions) {
        writer.append(audioLevel: level, context.extensions)
      }
      if let turn = source.packet.videoOrientation(source.extensions) {
        writer.append(videoOrientation: turn, context.extensions)
      }
      if let time = source.packet.absoluteCaptureTime(source.extensions) {
        writer.append(absoluteCaptureTime: time, context.extensions)
      }
    }
    let header = RTPHeader(
      marker: marker, payloadType: context.payloadType, sequenceNumber: sequence, timestamp: timestamp, ssrc: ssrc)
    let buffer = pool.take()
    return header.write(into: buffer, extensions: writer) ? buffer : nil
  }

  private func appendTransportElements(_ context: SendContext, _ engine: MediaEngine, _ now: Instant) {
    writer.append(absoluteSendTime: AbsoluteSendTime(nanoseconds: now.nanoseconds), context.extensions)
    if context.extensions.id(of: .transportSequence) != nil {
      writer.append(transportSequence: engine.takeTransportSequence(), context.extensions)
    }
  }

  /// Sends a complete packet and keeps it for retransmission.
  func finish(
    _ buffer: MediaBuffer, _ sequence: UInt16, _ payloadCount: Int, _ engine: MediaEngine, _ now: Instant
  ) -> Bool {
    nextSequence = sequence &+ 1
    packetCount &+= 1
    octetCount &+= UInt32(truncatingIfNeeded: payloadCount)
    history.store(buffer, sequenceNumber: sequence, at: now)
    return engine.transmit(buffer)
  }

  // MARK: Repair

  /// Answers a NACK.
  func retransmit(
    _ sequenceNumbers: [UInt16], roundTripTime: Duration?, fractionLost: Double, context: SendContext,
    through engine: MediaEngine, at now: Instant
  ) {
    if let roundTripTime { history.follow(roundTripTime: roundTripTime, fractionLost: fractionLost) }
    for number in sequenceNumbers {
      guard let original = history.retransmit(number, at: now), let packet = RTPPacket(original) else { continue }
      retransmittedCount += 1
      guard let type = context.retransmissionType else {
        // The very same bytes: its number is the nonce of AES-GCM, and two different packets under one nonce give
        // the key of the authentication away (RFC 7714 section 8.4).
        _ = engine.transmit(original)
        continue
      }
      let buffer = retransmissionPool.take()
      let sequence = retransmissionSequence
      retransmissionSequence &+= 1
      guard wrap(packet, type, sequence, context, into: buffer, engine, now) else { continue }
      _ = engine.transmit(buffer)
    }
  }

  private func wrap(
    _ packet: RTPPacket, _ type: PayloadType, _ sequence: UInt16, _ context: SendContext, into buffer: MediaBuffer,
    _ engine: MediaEngine, _ now: Instant
  ) -> Bool {
    guard let rid else {
      guard
        RTX.wrap(packet, ssrc: retransmissionSSRC, payloadType: type, sequenceNumber: sequence, into: buffer),
        let wrapped = RTPPacket(buffer)
      else { return false }
      if context.extensions.id(of: .transportSequence) != nil {
        wrapped.overwriteTransportSequence(engine.takeTransportSequence(), context.extensions)
      }
      wrapped.overwriteAbsoluteSendTime(AbsoluteSendTime(nanoseconds: now.nanoseconds), context.extensions)
      return true
    }
    // A simulcast layer's repair names the layer in another element (RFC 8852 section 3.2): a new header.
    writer.removeAll()
    writer.append(mid: context.mid, context.extensions)
    writer.append(repairedRid: rid, context.extensions)
    appendTransportElements(context, engine, now)
    let header = RTPHeader(
      marker: packet.marker, payloadType: type, sequenceNumber: sequence, timestamp: packet.timestamp,
      ssrc: retransmissionSSRC)
    guard header.write(into: buffer, extensions: writer) else { return false }
    let fits = withUnsafeBytes(of: packet.sequenceNumber.bigEndian) { buffer.append($0) }
    return fits && buffer.append(packet.payload)
  }

  /// True when a FIR is a new command and not a repetition (RFC 5104 section 4.3.1.2).
  func isNewCommand(_ entry: RTCPFullIntraEntry, from sender: SSRC) -> Bool {
    if let lastFIR, lastFIR.sender == sender, lastFIR.number == entry.commandSequence { return false }
    lastFIR = (sender, entry.commandSequence)
    return true
  }

  // MARK: Reports

  /// For forwarding: `rtp` belongs to `ntp` at `now`.
  func setSource(ntp: NTPTime, rtp: UInt32, at now: Instant) {
    // Zero says that the publisher has no clock (RFC 3550 section 6.4.1).
    if ntp.rawValue != 0 { anchor = (rtp, now, ntp) }
  }

  /// The sender report of this instant; nil before the first packet, or when the time is not known.
  func makeReport(wallClock: NTPTime, at now: Instant) -> RTCPSenderReport? {
    guard let anchor, packetCount > 0 else { return nil }
    let elapsed = (now - anchor.at).nanoseconds
    let rate = Int64(codec.clockRate.hertz)
    let (seconds, rest) = elapsed.quotientAndRemainder(dividingBy: 1_000_000_000)
    let ticks = seconds &* rate &+ rest &* rate / 1_000_000_000
    let ntp = anchor.ntp.map { NTPTime(nanoseconds: $0.nanoseconds &+ elapsed) } ?? wallClock
    if reports.count >= 8 { reports.removeFirst() }
    reports.append((ntp.middle32, now))
    return RTCPSenderReport(
      ssrc: ssrc, ntp: ntp, rtpTimestamp: anchor.rtp &+ UInt32(truncatingIfNeeded: ticks), packetCount: packetCount,
      octetCount: octetCount, reports: [])
  }

  /// The round trip time by a report block that came at `now`; nil when its sender report is not known.
  func roundTripTime(_ block: RTCPReportBlock, at now: Instant) -> Duration? {
    guard block.lastSenderReport != 0, let report = reports.last(where: { $0.middle == block.lastSenderReport })
    else { return nil }
    let delay = Duration.nanoseconds((Int64(block.delaySinceLastSenderReport) &* 1_000_000_000) >> 16)
    let time = now - report.sentAt - delay
    return time >= .zero ? time : nil
  }
}
