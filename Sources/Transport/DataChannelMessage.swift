/// Messages of the data channel establishment protocol (RFC 8832 section 5).
enum DataChannelMessage: Equatable {
  case open(label: String, ordered: Bool, maxRetransmits: UInt16?)
  case acknowledgement

  private static let openType: UInt8 = 0x03
  private static let acknowledgementType: UInt8 = 0x02
  // Channel types of RFC 8832 section 5.1; the high bit means unordered.
  private static let reliable: UInt8 = 0x00
  private static let retransmissionsLimited: UInt8 = 0x01
  private static let lifetimeLimited: UInt8 = 0x02

  /// Nil for anything malformed or unknown.
  init?(_ bytes: [UInt8]) {
    guard let type = bytes.first else { return nil }
    if type == DataChannelMessage.acknowledgementType {
      self = .acknowledgement
      return
    }
    guard type == DataChannelMessage.openType, bytes.count >= 12 else { return nil }
    let labelLength = Int(bytes[8]) << 8 | Int(bytes[9])
    let protocolLength = Int(bytes[10]) << 8 | Int(bytes[11])
    guard bytes.count >= 12 + labelLength + protocolLength else { return nil }
    let parameter = UInt32(bytes[4]) << 24 | UInt32(bytes[5]) << 16 | UInt32(bytes[6]) << 8 | UInt32(bytes[7])
    let maxRetransmits: UInt16?
    switch bytes[1] & 0x7f {
    case DataChannelMessage.reliable: maxRetransmits = nil
    case DataChannelMessage.retransmissionsLimited: maxRetransmits = UInt16(clamping: parameter)
    // What is limited in time only is not resent for long: never resending keeps within any limit.
    case DataChannelMessage.lifetimeLimited: maxRetransmits = 0
    default: return nil
    }
    self = .open(
      label: String(decoding: bytes[12..<(12 + labelLength)], as: UTF8.self), ordered: bytes[1] & 0x80 == 0,
      maxRetransmits: maxRetransmits)
  }

  /// As it goes on the wire. A label is cut at 65,535 bytes.
  var bytes: [UInt8] {
    switch self {
    case .acknowledgement: return [DataChannelMessage.acknowledgementType]
    case .open(let label, let ordered, let maxRetransmits):
      let text = Array(label.utf8.prefix(65_535))
      var type = maxRetransmits == nil ? DataChannelMessage.reliable : DataChannelMessage.retransmissionsLimited
      if !ordered { type |= 0x80 }
      let parameter = maxRetransmits ?? 0
      return [
        DataChannelMessage.openType, type, 0, 0, 0, 0, UInt8(parameter >> 8), UInt8(parameter & 0xff),
        UInt8(text.count >> 8), UInt8(text.count & 0xff), 0, 0,
      ] + text
    }
  }
}

/// SCTP payload protocol identifiers of data channels (RFC 8831 section 8).
enum DataChannelPayload {
  static let control: UInt32 = 50
  static let string: UInt32 = 51
  static let binaryPartial: UInt32 = 52
  static let binary: UInt32 = 53
  static let stringPartial: UInt32 = 54
  static let stringEmpty: UInt32 = 56
  static let binaryEmpty: UInt32 = 57
}
