import MediaCore

/// Which payload type a retransmission payload type repairs: the `apt` parameters of one m-line (RFC 4588
/// section 8.1).
public struct RTXPayloadTypes: Sendable {
  private var pairs: [(rtx: PayloadType, media: PayloadType)] = []
  /// A map without entries.
  public init() {}
  /// Says that `rtx` carries retransmissions of `media`; replaces an earlier entry of `rtx`.
  public mutating func set(rtx: PayloadType, media: PayloadType) {
    pairs.removeAll { $0.rtx == rtx }
    pairs.append((rtx, media))
  }
  /// What a retransmission payload type repairs; nil when it isn't one.
  public func media(of rtx: PayloadType) -> PayloadType? { pairs.first { $0.rtx == rtx }?.media }
  /// The retransmission payload type of a media payload type; nil when there is none.
  public func rtx(of media: PayloadType) -> PayloadType? { pairs.first { $0.media == media }?.rtx }
}

/// The retransmission payload format (RFC 4588 section 4): the original sequence number, then the original payload.
public enum RTX {
  /// Rebuilds in `buffer` the packet that a retransmission carries. Header extensions are kept, padding is dropped.
  /// Nil for packets without an original sequence number (padding sent as probe) and when it doesn't fit.
  public static func unwrap(
    _ packet: RTPPacket, ssrc: SSRC, payloadType: PayloadType, into buffer: MediaBuffer
  ) -> RTPPacket? {
    guard let original = packet.payload.uint16(0) else { return nil }
    let header = RTPHeader(
      marker: packet.marker, payloadType: payloadType, sequenceNumber: original, timestamp: packet.timestamp,
      ssrc: ssrc)
    guard copyHead(of: packet, header, into: buffer), buffer.append(packet.payload.rest(2)) else { return nil }
    return RTPPacket(buffer)
  }

  /// Makes in `buffer` the retransmission of a packet. False when it doesn't fit.
  @discardableResult
  public static func wrap(
    _ packet: RTPPacket, ssrc: SSRC, payloadType: PayloadType, sequenceNumber: UInt16, into buffer: MediaBuffer
  ) -> Bool {
    let header = RTPHeader(
      marker: packet.marker, payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: packet.timestamp,
      ssrc: ssrc)
    guard copyHead(of: packet, header, into: buffer) else { return false }
    let fits = withUnsafeBytes(of: packet.sequenceNumber.bigEndian) { buffer.append($0) }
    return fits && buffer.append(packet.payload)
  }

  private static func copyHead(of packet: RTPPacket, _ header: RTPHeader, into buffer: MediaBuffer) -> Bool {
    buffer.setCount(0)
    guard let head = packet.buffer.bytes.part(0, packet.payloadOffset), buffer.append(head),
      let first = head.byte(0)
    else { return false }
    // The copy carries no padding.
    buffer.mutableBytes[0] = first & ~0x20
    header.overwrite(buffer)
    return true
  }
}
