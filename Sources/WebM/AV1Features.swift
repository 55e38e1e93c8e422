import MediaCore

/// What a file says of an AV1 track: the AV1CodecConfigurationRecord (AV1 in ISO base media file format, section 2.3.3), which is
/// its CodecPrivate (Matroska codec mapping of AV1), and the codec string that players are asked with (the same, section 5).
struct AV1Features {
  /// seq_profile.
  private let profile: UInt8
  /// seq_level_idx of the first operating point.
  private let level: UInt8
  /// True in the high tier.
  private let isHighTier: Bool
  /// Bits of a sample.
  private let bitDepth: Int

  /// Reads a CodecPrivate; nil when it is none of AV1.
  init?(codecPrivate record: UnsafeRawBufferPointer) {
    guard record.count >= 4, record[0] == 0x81 else { return nil }
    (profile, level) = (record[1] >> 5, record[1] & 0x1f)
    isHighTier = record[2] & 0x80 != 0
    bitDepth = record[2] & 0x40 == 0 ? 8 : record[2] & 0x20 == 0 ? 10 : 12
  }

  /// Such as `av01.0.05M.08`: profile, level and tier, bits. What follows in such strings is optional, and the stream says it.
  var codecString: String {
    func twoDigits(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
    return "av01.\(profile).\(twoDigits(Int(level)))\(isHighTier ? "H" : "M").\(twoDigits(bitDepth))"
  }

  /// The unit with the sequence header in a CodecPrivate, with its header and size; nil when there is none.
  static func sequenceHeader(codecPrivate record: [UInt8]) -> [UInt8]? {
    record.withUnsafeBytes { bytes in
      guard AV1Features(codecPrivate: bytes) != nil else { return nil }
      let units = ByteStream.openUnits(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(4)))
      guard let unit = units.first(where: { $0.kind == .sequenceHeader }), AV1SequenceHeader(unit.payload) != nil else {
        return nil
      }
      var result: [UInt8] = []
      unit.append(to: &result)
      return result
    }
  }

  /// Whether decoding can start with a temporal unit: it has a sequence header, and its first frame header is that of a shown or
  /// hidden keyframe (AV1 specification section 5.9.2).
  static func isKeyframe(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var hasSequence = false
    for unit in ByteStream.openUnits(bytes) {
      switch (unit.kind, unit.header[0] >> 3 & 0xf) {
      case (.sequenceHeader, _): hasSequence = true
      // OBU_FRAME_HEADER and OBU_FRAME: show_existing_frame, then two bits of frame_type, 0 for a keyframe.
      case (.other, 3), (.other, 6): return hasSequence && unit.payload.first.map { $0 & 0xe0 == 0 } == true
      default: break
      }
    }
    return false
  }
}
