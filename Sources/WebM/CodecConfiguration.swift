import MediaCore

/// What files say of a stream before its first frame, made of that frame. Total: nil when it is not in there.
enum CodecConfiguration {
  /// AVCDecoderConfigurationRecord (ISO/IEC 14496-15 section 5.3.3.1).
  static func h264(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
    let units = ByteStream.units(frame)
    func all(_ kind: NALUnit.Kind) -> [UnsafeRawBufferPointer] {
      units.filter { $0.first.map(NALUnit.h264Kind) == kind && $0.count < 65_536 }
    }
    let (sequences, pictures) = (all(.sequenceParameters).prefix(31), all(.pictureParameters).prefix(255))
    guard let first = sequences.first, first.count >= 4, !pictures.isEmpty else { return nil }
    // Version, profile, constraints, level, lengths of four bytes.
    var record: [UInt8] = [1, first[1], first[2], first[3], 0xff, 0xe0 | UInt8(sequences.count)]
    for unit in sequences { append(unit, to: &record) }
    record.append(UInt8(pictures.count))
    for unit in pictures { append(unit, to: &record) }
    // Of these profiles the form of samples too: 8 bits 4:2:0, the one that is received.
    if [100, 110, 122, 144].contains(first[1]) { record += [0xfd, 0xf8, 0xf8, 0] }
    return record
  }

  /// HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 section 8.3.3.1).
  static func h265(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
    let units = ByteStream.units(frame)
    func all(_ kind: NALUnit.Kind) -> [UnsafeRawBufferPointer] {
      units.filter { $0.first.map(NALUnit.h265Kind) == kind && $0.count < 65_536 }
    }
    let kinds: [(number: UInt8, units: [UnsafeRawBufferPointer])] = [
      (32, all(.videoParameters)), (33, all(.sequenceParameters)), (34, all(.pictureParameters)),
    ]
    guard kinds.allSatisfy({ !$0.units.isEmpty }), let sequence = kinds[1].units.first else { return nil }
    // Behind header and first byte of the set: profile, compatibility, constraints, level, in 12 bytes.
    let body = withoutEmulation(UnsafeRawBufferPointer(rebasing: sequence.dropFirst(2)), most: 13)
    guard body.count == 13 else { return nil }
    // No segmentation, no parallelism told; 8 bits 4:2:0, the form that is received; lengths of four bytes.
    var record: [UInt8] = [1] + body[1...] + [0xf0, 0, 0xfc, 0xfd, 0xf8, 0xf8, 0, 0, 0x0f, UInt8(kinds.count)]
    for (number, units) in kinds {
      record += [0x80 | number, 0, UInt8(min(255, units.count))]
      for unit in units.prefix(255) { append(unit, to: &record) }
    }
    return record
  }

  /// AV1CodecConfigurationRecord (AV1 in ISO base media file format, section 2.3.3).
  static func av1(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let unit = ByteStream.openUnits(frame).first(where: { $0.kind == .sequenceHeader }),
      let header = AV1SequenceHeader(unit.payload), let first = unit.payload.first
    else { return nil }
    // Marker and version; profile and level; main tier, 8 bits 4:2:0, the form that is received; no delay told.
    var record: [UInt8] = [0x81, (first & 0xe0) | UInt8(header.level & 0x1f), 0x0c, 0]
    unit.append(to: &record)
    return record
  }

  /// WAVEFORMATEX (mmreg.h of the Windows SDK), of one channel and 64 kbit/s.
  static func wave(format: Int, rate: Int, bitsPerSample: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return little(format, 2) + little(1, 2) + little(rate, 4) + little(8000, 4) + little(1, 2)
      + little(bitsPerSample, 2) + little(0, 2)
  }

  /// Two bytes of length, and the unit.
  private static func append(_ unit: UnsafeRawBufferPointer, to record: inout [UInt8]) {
    record.append(UInt8(truncatingIfNeeded: unit.count >> 8))
    record.append(UInt8(truncatingIfNeeded: unit.count))
    record.append(contentsOf: unit)
  }

  /// The first bytes of a unit without the threes that keep start codes out of it.
  private static func withoutEmulation(_ bytes: UnsafeRawBufferPointer, most: Int) -> [UInt8] {
    var result: [UInt8] = []
    var zeros = 0
    for byte in bytes {
      guard result.count < most else { break }
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      result.append(byte)
    }
    return result
  }
}
