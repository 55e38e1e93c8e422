/// CRC-32C (Castagnoli; RFC 3720 appendix B.4), by which a log's reader knows that a record is whole.
enum Checksum {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in (value >> 1) ^ (value & 1 == 1 ? 0x82f6_3b78 : 0) }
  }

  /// Eight tables, so that eight bytes are taken at a time: `tables[k * 256 + byte]` is `byte` followed by k zero bytes.
  private static let tables: [UInt32] = {
    var tables = table
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append((before >> 8) ^ table[Int(before & 0xff)])
    }
    return tables
  }()

  /// The checksum of `bytes`, which follow bytes whose checksum is `before` (0: none).
  static func crc32c(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
    var value = ~before
    tables.withUnsafeBufferPointer { tables in
      var index = 0
      while index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian ^ UInt64(value)
        value = 0
        for place in 0..<8 { value ^= tables[(7 - place) * 256 + Int((word >> (8 * UInt64(place))) & 0xff)] }
        index += 8
      }
      while index < bytes.count {
        value = (value >> 8) ^ tables[Int((value ^ UInt32(bytes[index])) & 0xff)]
        index += 1
      }
    }
    return ~value
  }
}
