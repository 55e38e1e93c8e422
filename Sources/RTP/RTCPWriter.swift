import MediaCore

/// Appends RTCP packets to one compound datagram. Reuse a writer with `removeAll()`: it then allocates nothing.
/// A compound begins with an SR or RR (RFC 3550 section 6.1) unless reduced size was negotiated (RFC 5506).
public struct RTCPWriter: Sendable {
  /// The datagram so far, plain (SRTCP comes after).
  public private(set) var bytes: [UInt8] = []

  /// An empty datagram.
  public init() { bytes.reserveCapacity(1500) }

  /// True when nothing has been written.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Bytes written.
  public var count: Int { bytes.count }

  /// Starts the next datagram.
  public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Calls `body` with the datagram.
  public func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try bytes.withUnsafeBytes(body)
  }

  private mutating func begin(_ type: UInt8, _ countOrFormat: Int) -> Int {
    let start = bytes.count
    bytes.append(0x80 | UInt8(truncatingIfNeeded: countOrFormat & 0x1f))
    bytes.append(type)
    bytes.put16(0)
    return start
  }

  private mutating func end(_ start: Int) {
    while (bytes.count - start) % 4 != 0 { bytes.append(0) }
    bytes.set16(UInt16(truncatingIfNeeded: (bytes.count - start) / 4 - 1), at: start + 2)
  }

  private mutating func put(_ reports: ArraySlice<RTCPReportBlock>) {
    for report in reports {
      bytes.put32(report.ssrc.rawValue)
      bytes.append(report.fractionLost)
      let lost = min(0x7f_ffff, max(-0x80_0000, report.cumulativeLost))
      bytes.put24(UInt32(bitPattern: lost) & 0xff_ffff)
      bytes.put32(report.highestSequence)
      bytes.put32(report.jitter)
      bytes.put32(report.lastSenderReport)
      bytes.put32(report.delaySinceLastSenderReport)
    }
  }

  /// Appends an SR; report blocks beyond 31 follow in RRs of the same source.
  public mutating func senderReport(_ report: RTCPSenderReport) {
    let first = report.reports.prefix(31)
    let start = begin(RTCPType.senderReport, first.count)
    bytes.put32(report.ssrc.rawValue)
    bytes.put64(report.ntp.rawValue)
    bytes.put32(report.rtpTimestamp)
    bytes.put32(report.packetCount)
    bytes.put32(report.octetCount)
    put(first)
    end(start)
    let others = report.reports.dropFirst(31)
    if !others.isEmpty { receiverReport(ssrc: report.ssrc, reports: Array(others)) }
  }

  /// Appends an RR, or several when there are more than 31 blocks. Without blocks: an empty RR.
  public mutating func receiverReport(ssrc: SSRC, reports: [RTCPReportBlock]) {
    var rest = reports[...]
    repeat {
      let some = rest.prefix(31)
      rest = rest.dropFirst(31)
      let start = begin(RTCPType.receiverReport, some.count)
      bytes.put32(ssrc.rawValue)
      put(some)
      end(start)
    } while !rest.isEmpty
  }

  /// Appends an SDES packet with a canonical name, of which at most 255 bytes of UTF-8 are sent.
  public mutating func sourceDescription(ssrc: SSRC, cname: String) {
    let start = begin(RTCPType.sourceDescription, 1)
    bytes.put32(ssrc.rawValue)
    let text = cname.utf8.prefix(255)
    bytes.append(1)
    bytes.append(UInt8(truncatingIfNeeded: text.count))
    bytes.append(contentsOf: text)
    bytes.append(0)
    end(start)
  }

  /// Appends a BYE for at most 31 sources; the others are left out.
  public mutating func goodbye(_ sources: [SSRC]) {
    let some = sources.prefix(31)
    let start = begin(RTCPType.goodbye, some.count)
    for source in some { bytes.put32(source.rawValue) }
    end(start)
  }

  /// Appends a generic NACK for sequence numbers in ascending order (they may wrap); numbers within 16 of another
  /// share its entry. Does nothing for an empty list.
  public mutating func nack(sender: SSRC, media: SSRC, sequenceNumbers: [UInt16]) {
    guard let first = sequenceNumbers.first else { return }
    let start = begin(RTCPType.transportFeedback, Int(RTCPType.nack))
    bytes.put32(sender.rawValue)
    bytes.put32(media.rawValue)
    var packetID = first
    var bitmask: UInt16 = 0
    for number in sequenceNumbers.dropFirst() {
      let distance = number &- packetID
      if distance == 0 { continue }
      if distance <= 16 {
        bitmask |= 1 << (distance - 1)
      } else {
        bytes.put16(packetID)
        bytes.put16(bitmask)
        packetID = number
        bitmask = 0
      }
    }
    bytes.put16(packetID)
    bytes.put16(bitmask)
    end(start)
  }

  /// Appends a PLI.
  public mutating func pictureLossIndication(sender: SSRC, media: SSRC) {
    let start = begin(RTCPType.payloadFeedback, Int(RTCPType.pictureLoss))
    bytes.put32(sender.rawValue)
    bytes.put32(media.rawValue)
    end(start)
  }

  /// Appends a FIR; the media source of its header is 0 (RFC 5104 section 4.3.1.2).
  public mutating func fullIntraRequest(sender: SSRC, entries: [RTCPFullIntraEntry]) {
    let start = begin(RTCPType.payloadFeedback, Int(RTCPType.fullIntra))
    bytes.put32(sender.rawValue)
    bytes.put32(0)
    for entry in entries {
      bytes.put32(entry.media.rawValue)
      bytes.append(entry.commandSequence)
      bytes.put24(0)
    }
    end(start)
  }

  /// Appends a REMB message for at most 255 streams. The bitrate is rounded down to 18 significant bits.
  public mutating func receiverEstimatedMaximumBitrate(_ bandwidth: RTCPBandwidth) {
    let start = begin(RTCPType.payloadFeedback, Int(RTCPType.applicationLayer))
    bytes.put32(bandwidth.sender.rawValue)
    bytes.put32(0)
    bytes.put32(RTCPType.remb)
    let streams = bandwidth.streams.prefix(255)
    bytes.append(UInt8(truncatingIfNeeded: streams.count))
    let exponent = max(0, 46 - bandwidth.bitsPerSecond.leadingZeroBitCount)
    bytes.put24(UInt32(exponent) << 18 | UInt32(truncatingIfNeeded: bandwidth.bitsPerSecond >> UInt64(exponent)))
    for stream in streams { bytes.put32(stream.rawValue) }
    end(start)
  }

  /// Appends transport-wide feedback made by `TransportFeedbackRecorder`.
  public mutating func transportFeedback(_ feedback: TransportFeedback) {
    let start = begin(RTCPType.transportFeedback, Int(RTCPType.transportWide))
    feedback.write(to: &bytes)
    end(start)
  }
}
