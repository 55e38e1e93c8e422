import MediaCore

/// How records lie in a file: a marker, the length and the checksum of the body, the body. All numbers are little-endian.
///
///     bytes   0 ..< 4    marker: f1 'R' 'L' 8e
///             4 ..< 8    length of the body, at most `maximumBody`
///             8 ..< 12   CRC-32C of bytes 4 ..< 8 and of the body
///            12 ...      the body: a `Record` (session_log.proto)
///
/// A reader that meets anything else searches for the next marker whose record is whole.
enum RecordFraming {
  /// The four bytes with which a record begins. No UTF-8 text has the first one.
  static let marker: [UInt8] = [0xf1, 0x52, 0x4c, 0x8e]
  /// Bytes before the body.
  static let headSize = 12
  /// The longest body: a frame of 16 MiB with what is said of it.
  static let maximumBody = (16 << 20) + 4096

  /// Appends a record with this body, which is no longer than `maximumBody`.
  static func append(_ body: [UInt8], to bytes: inout [UInt8]) {
    bytes += marker
    let length = little(UInt32(truncatingIfNeeded: body.count))
    bytes += length
    bytes += little(checksum(length: length, body))
    bytes += body
  }

  private static func little(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func checksum(length: [UInt8], _ body: [UInt8]) -> UInt32 {
    let first = length.withUnsafeBytes { Checksum.crc32c($0) }
    return body.withUnsafeBytes { Checksum.crc32c($0, after: first) }
  }

  /// What stands at the beginning of some bytes.
  enum Finding: Equatable {
    /// A whole record; its body has so many bytes.
    case record(body: Int)
    /// The head of a record that needs so many bytes in all.
    case incomplete(needs: Int)
    /// No record, or a damaged one.
    case damage
  }

  /// Looks at the beginning of `bytes`.
  static func find(in bytes: UnsafeRawBufferPointer) -> Finding {
    guard zip(bytes, marker).allSatisfy({ $0 == $1 }) else { return .damage }
    guard bytes.count >= headSize else { return .incomplete(needs: headSize) }
    let length = Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian)
    guard length <= maximumBody else { return .damage }
    guard bytes.count >= headSize + length else { return .incomplete(needs: headSize + length) }
    let expected = bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self).littleEndian
    let first = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[4..<8]))
    let found = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[headSize..<headSize + length]), after: first)
    return found == expected ? .record(body: length) : .damage
  }
}
