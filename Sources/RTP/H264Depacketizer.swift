import MediaCore

/// Reads the H.264 payload format (RFC 6184) of the packetization modes 0 and 1: single NAL units, aggregates (STAP-A)
/// and fragments (FU-A). What only mode 2 has (interleaving) makes no sense here.
public enum H264Depacketizer: NALDepacketizer {
  /// What a packet's payload says; nil when it is cut short, its sizes lie, or it is of another kind.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? { Self.payload(payload) }

  static func packet(_ payload: UnsafeRawBufferPointer) -> NALPacket? {
    guard let first = payload.byte(0) else { return nil }
    switch first & 0x1f {
    case 1...23: return .unit
    case 24: return .aggregate(from: 1)
    case 28:
      guard let fragment = payload.byte(1), payload.count > 2 else { return nil }
      return .fragment(
        NALPacket.Header(first: first & 0xe0 | fragment & 0x1f), isFirst: fragment & 0x80 != 0,
        isLast: fragment & 0x40 != 0, from: 2)
    default: return nil
    }
  }

  static func kind(_ header: UInt8) -> NALUnit.Kind { NALUnit.h264Kind(header) }

  static func look(at unit: UnsafeRawBufferPointer, _ kind: NALUnit.Kind, _ result: inout VideoPayload) {
    switch kind {
    case .delimiter: result.start = .always
    case .sequenceParameters:
      result.start = .unlessContinued
      if let parameters = H264SequenceParameters(unit) {
        (result.width, result.height) = (parameters.width, parameters.height)
      }
    case .keySlice:
      // Parameter sets may have stood before it.
      result.isKeyframe = true
      result.start = .afterAnother
    case .slice:
      // `first_mb_in_slice` is zero: a single one bit.
      let isFirst = unit.byte(1).map { $0 & 0x80 != 0 } ?? false
      result.start = isFirst ? .unlessContinued : .afterAnother
    case .videoParameters, .pictureParameters, .other: result.start = .afterAnother
    }
  }

  /// The parameter sets of `sprop-parameter-sets` (RFC 6184 section 8.1) as a byte stream with start codes; empty when the
  /// text makes no sense or is longer than 4 kB.
  public static func parameterSets(_ text: String) -> [UInt8] {
    guard text.utf8.count <= 4096 else { return [] }
    var stream: [UInt8] = []
    for part in text.utf8.split(separator: UInt8(ascii: ",")) {
      guard let unit = base64(part), let first = unit.first else { return [] }
      switch NALUnit.h264Kind(first) {
      case .sequenceParameters, .pictureParameters: stream += NALUnit.startCode + unit
      default: return []
      }
    }
    return stream
  }

  private static func base64(_ text: Substring.UTF8View.SubSequence) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for character in text where character != UInt8(ascii: "=") {
      let value: UInt8
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
      case UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "/"): value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}
