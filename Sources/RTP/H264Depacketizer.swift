import MediaCore

/// Reads the H.264 payload format (RFC 6184) of the packetization modes 0 and 1: single NAL units, aggregates (STAP-A)
/// and fragments (FU-A). What only mode 2 has (interleaving) makes no sense here.
public enum H264Depacketizer {
  /// What a packet's payload says; nil when it is cut short, its sizes lie, or it is of another kind.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? {
    guard let first = payload.byte(0) else { return nil }
    var result = VideoPayload(headerCount: 0)
    switch first & 0x1f {
    case 1...23: look(at: payload, header: first, &result)
    case 24:
      var isFirst = true
      let isWhole = eachUnit(payload) { unit in
        var part = VideoPayload(headerCount: 0)
        look(at: unit, header: unit[0], &part)
        if isFirst { result.start = part.start }
        isFirst = false
        result.isKeyframe = result.isKeyframe || part.isKeyframe
        if part.width > 0 { (result.width, result.height) = (part.width, part.height) }
      }
      guard isWhole, !isFirst else { return nil }
    case 28:
      guard let fragment = payload.byte(1), payload.count > 2 else { return nil }
      guard fragment & 0x80 != 0 else {
        result.isKeyframe = H264NALUnit.kind(fragment) == .keySlice
        return result
      }
      // The unit's own header byte is missing; the rest of it follows.
      look(at: payload.rest(1), header: fragment, &result)
    default: return nil
    }
    return result
  }

  /// Notes what a NAL unit says. Its first byte is not looked at; `header` stands for it.
  private static func look(at unit: UnsafeRawBufferPointer, header: UInt8, _ result: inout VideoPayload) {
    switch H264NALUnit.kind(header) {
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
    case .pictureParameters, .other: result.start = .afterAnother
    }
  }

  /// Calls `body` with every unit of an aggregate; false when the sizes don't add up.
  static func eachUnit(_ payload: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    var offset = 1
    while offset < payload.count {
      guard let size = payload.uint16(offset), size > 0, let unit = payload.part(offset + 2, Int(size)) else {
        return false
      }
      body(unit)
      offset += 2 + Int(size)
    }
    return true
  }

  /// The parameter sets of `sprop-parameter-sets` (RFC 6184 section 8.1) as a byte stream with start codes; empty when the
  /// text makes no sense or is longer than 4 kB.
  public static func parameterSets(_ text: String) -> [UInt8] {
    guard text.utf8.count <= 4096 else { return [] }
    var stream: [UInt8] = []
    for part in text.utf8.split(separator: UInt8(ascii: ",")) {
      guard let unit = base64(part), let first = unit.first else { return [] }
      switch H264NALUnit.kind(first) {
      case .sequenceParameters, .pictureParameters: stream += H264NALUnit.startCode + unit
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
