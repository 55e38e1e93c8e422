import MediaCore

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
