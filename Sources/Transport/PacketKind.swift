/// Which protocol a datagram of a BUNDLE'd transport belongs to, told by its first bytes (RFC 7983 section 7, RFC 5761
/// section 4 for RTCP).
public enum PacketKind: Sendable, Hashable {
  /// First byte 0...3; RFC 8489. ICE has taken its own messages out before.
  case stun
  /// First byte 16...19; RFC 6189. Not supported.
  case zrtp
  /// First byte 20...63 and at least a record header's 13 bytes; RFC 6347.
  case dtls
  /// First byte 64...79; a TURN channel (RFC 8656).
  case turnChannel
  /// Version 2, payload type outside 64...95, at least 12 bytes.
  case rtp
  /// Version 2, packet type 192...223, at least 8 bytes.
  case rtcp
  /// Anything else, too short packets included.
  case unknown

  /// Looks at the first two bytes and the length. Total: every input has an answer.
  public init(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else {
      self = .unknown
      return
    }
    switch first {
    case 0...3: self = bytes.count >= 20 ? .stun : .unknown
    case 16...19: self = .zrtp
    case 20...63: self = bytes.count >= 13 ? .dtls : .unknown
    case 64...79: self = bytes.count >= 4 ? .turnChannel : .unknown
    case 128...191:
      guard bytes.count >= 8 else {
        self = .unknown
        return
      }
      let isControl = (64...95).contains(bytes[1] & 0x7f)
      self = isControl ? .rtcp : bytes.count >= 12 ? .rtp : .unknown
    default: self = .unknown
    }
  }
}
