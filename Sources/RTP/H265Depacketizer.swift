import MediaCore

/// Reads the H.265 payload format (RFC 7798) as WebRTC uses it: single NAL units, aggregation packets and fragmentation units
/// in the order of decoding (`sprop-max-don-diff` 0), one stream, one layer. PACI packets are not taken.
public enum H265Depacketizer: NALDepacketizer {
  /// What a packet's payload says; nil when it is cut short, its sizes lie, or it is of another kind.
  public static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPayload? { Self.payload(payload) }

  static func packet(_ payload: UnsafeRawBufferPointer) -> NALPacket? {
    guard payload.count > 2, let first = payload.byte(0), let second = payload.byte(1) else { return nil }
    switch first >> 1 & 0x3f {
    case 0...47: return .unit
    case 48: return .aggregate(from: 2)
    case 49:
      guard let fragment = payload.byte(2), payload.count > 3 else { return nil }
      return .fragment(
        NALPacket.Header(first: first & 0x81 | (fragment & 0x3f) << 1, second: second), isFirst: fragment & 0x80 != 0,
        isLast: fragment & 0x40 != 0, from: 3)
    default: return nil
    }
  }

  static func kind(_ header: UInt8) -> NALUnit.Kind { NALUnit.h265Kind(header) }

  static func look(at unit: UnsafeRawBufferPointer, _ kind: NALUnit.Kind, _ result: inout VideoPayload) {
    switch kind {
    case .delimiter: result.start = .always
    case .videoParameters: result.start = .unlessContinued
    case .sequenceParameters:
      result.start = .unlessContinued
      if let parameters = H265SequenceParameters(unit.rest(2)) {
        (result.width, result.height) = (parameters.width, parameters.height)
      }
    case .keySlice:
      // Parameter sets may have stood before it.
      result.isKeyframe = true
      result.start = .afterAnother
    case .slice:
      // `first_slice_segment_in_pic_flag`.
      let isFirst = unit.byte(2).map { $0 & 0x80 != 0 } ?? false
      result.start = isFirst ? .unlessContinued : .afterAnother
    case .pictureParameters, .other: result.start = .afterAnother
    }
  }
}
