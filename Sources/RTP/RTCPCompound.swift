import MediaCore

/// Walks through the packets of one RTCP datagram (RFC 3550 section 6.1, reduced size as of RFC 5506). Total: any
/// bytes can be given. Packets of unknown type are skipped, a broken length ends the walk; both are counted.
///
/// The bytes must stay valid while the walk goes on; what `next()` returns is a copy.
public struct RTCPCompound: Sequence, IteratorProtocol {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  /// Well-formed packets of types (or feedback formats) that are not known here, so far.
  public private(set) var skippedCount = 0
  /// Packets whose content contradicts itself, so far. A bad length ends the walk and counts once.
  public private(set) var malformedCount = 0

  /// Starts at the first packet of a decrypted datagram.
  public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The next packet of a known type; nil at the end.
  public mutating func next() -> RTCPPacket? {
    while offset < bytes.count {
      guard let first = bytes.byte(offset), let type = bytes.byte(offset + 1), let words = bytes.uint16(offset + 2),
        first >> 6 == 2, let body = bytes.part(offset + 4, 4 * Int(words))
      else {
        malformedCount += 1
        offset = bytes.count
        return nil
      }
      offset += 4 + body.count
      var content = body
      if first & 0x20 != 0 {
        guard let last = body.byte(body.count - 1), last > 0, let inner = body.part(0, body.count - Int(last)) else {
          malformedCount += 1
          continue
        }
        content = inner
      }
      switch RTCPCompound.parse(type: type, countOrFormat: first & 0x1f, content) {
      case .known(let packet): return packet
      case .unknown: skippedCount += 1
      case .malformed: malformedCount += 1
      }
    }
    return nil
  }

  private enum Outcome {
    case known(RTCPPacket)
    case unknown
    case malformed
    init(_ packet: RTCPPacket?) { self = packet.map { .known($0) } ?? .malformed }
  }

  private static func parse(type: UInt8, countOrFormat: UInt8, _ body: UnsafeRawBufferPointer) -> Outcome {
    switch (type, countOrFormat) {
    case (RTCPType.senderReport, _): Outcome(senderReport(body, Int(countOrFormat)))
    case (RTCPType.receiverReport, _): Outcome(receiverReport(body, Int(countOrFormat)))
    case (RTCPType.sourceDescription, _): Outcome(sourceDescription(body, Int(countOrFormat)))
    case (RTCPType.goodbye, _): Outcome(goodbye(body, Int(countOrFormat)))
    case (RTCPType.transportFeedback, RTCPType.nack): Outcome(nack(body))
    case (RTCPType.transportFeedback, RTCPType.transportWide):
      Outcome(TransportFeedback(body).map { .transportFeedback($0) })
    case (RTCPType.payloadFeedback, RTCPType.pictureLoss): Outcome(pictureLoss(body))
    case (RTCPType.payloadFeedback, RTCPType.fullIntra): Outcome(fullIntra(body))
    case (RTCPType.payloadFeedback, RTCPType.applicationLayer):
      body.uint32(8) == RTCPType.remb ? Outcome(bandwidth(body)) : .unknown
    default: .unknown
    }
  }

  private static func reports(_ body: UnsafeRawBufferPointer, from start: Int, count: Int) -> [RTCPReportBlock]? {
    guard body.has(start, 24 * count) else { return nil }
    var reports: [RTCPReportBlock] = []
    reports.reserveCapacity(count)
    for index in 0..<count {
      let at = start + 24 * index
      guard let ssrc = body.uint32(at), let loss = body.uint32(at + 4), let highest = body.uint32(at + 8),
        let jitter = body.uint32(at + 12), let last = body.uint32(at + 16), let delay = body.uint32(at + 20)
      else { return nil }
      reports.append(
        RTCPReportBlock(
          ssrc: SSRC(ssrc), fractionLost: UInt8(truncatingIfNeeded: loss >> 24),
          cumulativeLost: Int32(bitPattern: loss << 8) >> 8, highestSequence: highest, jitter: jitter,
          lastSenderReport: last, delaySinceLastSenderReport: delay))
    }
    return reports
  }

  private static func senderReport(_ body: UnsafeRawBufferPointer, _ count: Int) -> RTCPPacket? {
    guard let ssrc = body.uint32(0), let ntp = body.uint64(4), let rtp = body.uint32(12),
      let packets = body.uint32(16), let octets = body.uint32(20),
      let reports = reports(body, from: 24, count: count)
    else { return nil }
    return .senderReport(
      RTCPSenderReport(
        ssrc: SSRC(ssrc), ntp: NTPTime(ntp), rtpTimestamp: rtp, packetCount: packets, octetCount: octets,
        reports: reports))
  }

  private static func receiverReport(_ body: UnsafeRawBufferPointer, _ count: Int) -> RTCPPacket? {
    guard let ssrc = body.uint32(0), let reports = reports(body, from: 4, count: count) else { return nil }
    return .receiverReport(RTCPReceiverReport(ssrc: SSRC(ssrc), reports: reports))
  }

  private static func sourceDescription(_ body: UnsafeRawBufferPointer, _ count: Int) -> RTCPPacket? {
    var chunks: [RTCPSourceDescription] = []
    var offset = 0
    for _ in 0..<count {
      guard let ssrc = body.uint32(offset) else { return nil }
      offset += 4
      var cname: String?
      while true {
        guard let item = body.byte(offset) else { return nil }
        offset += 1
        if item == 0 { break }
        guard let length = body.byte(offset), let text = body.part(offset + 1, Int(length)) else { return nil }
        if item == 1 { cname = String(decoding: text, as: UTF8.self) }
        offset += 1 + Int(length)
      }
      // The null item is padded to the next 32-bit boundary.
      offset = (offset + 3) & ~3
      if let cname { chunks.append(RTCPSourceDescription(ssrc: SSRC(ssrc), cname: cname)) }
    }
    return .sourceDescription(chunks)
  }

  private static func goodbye(_ body: UnsafeRawBufferPointer, _ count: Int) -> RTCPPacket? {
    guard body.has(0, 4 * count) else { return nil }
    return .goodbye((0..<count).compactMap { body.uint32(4 * $0).map { SSRC($0) } })
  }

  private static func nack(_ body: UnsafeRawBufferPointer) -> RTCPPacket? {
    guard let sender = body.uint32(0), let media = body.uint32(4), body.count >= 12 else { return nil }
    var numbers: [UInt16] = []
    var offset = 8
    while let first = body.uint16(offset), let bits = body.uint16(offset + 2) {
      numbers.append(first)
      for bit in 0..<16 where bits >> UInt16(bit) & 1 != 0 { numbers.append(first &+ 1 &+ UInt16(bit)) }
      offset += 4
    }
    return .nack(RTCPNack(sender: SSRC(sender), media: SSRC(media), sequenceNumbers: numbers))
  }

  private static func pictureLoss(_ body: UnsafeRawBufferPointer) -> RTCPPacket? {
    guard let sender = body.uint32(0), let media = body.uint32(4) else { return nil }
    return .pictureLossIndication(sender: SSRC(sender), media: SSRC(media))
  }

  private static func fullIntra(_ body: UnsafeRawBufferPointer) -> RTCPPacket? {
    guard let sender = body.uint32(0), body.count >= 16 else { return nil }
    var entries: [RTCPFullIntraEntry] = []
    var offset = 8
    while let media = body.uint32(offset), let number = body.byte(offset + 4), body.has(offset, 8) {
      entries.append(RTCPFullIntraEntry(media: SSRC(media), commandSequence: number))
      offset += 8
    }
    return .fullIntraRequest(sender: SSRC(sender), entries: entries)
  }

  private static func bandwidth(_ body: UnsafeRawBufferPointer) -> RTCPPacket? {
    guard let sender = body.uint32(0), let count = body.byte(12), let value = body.uint24(13),
      body.has(16, 4 * Int(count))
    else { return nil }
    let exponent = Int(value >> 18)
    let mantissa = UInt64(value & 0x3ffff)
    let bits = mantissa == 0 ? 0 : (mantissa.leadingZeroBitCount >= exponent ? mantissa << exponent : .max)
    return .receiverEstimatedMaximumBitrate(
      RTCPBandwidth(
        sender: SSRC(sender), bitsPerSecond: bits,
        streams: (0..<Int(count)).compactMap { body.uint32(16 + 4 * $0).map { SSRC($0) } }))
  }
}
