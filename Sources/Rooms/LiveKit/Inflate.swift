import CZlib

/// Unpacks data that was compressed with DEFLATE (RFC 1951), for text streams whose sender packs them; zlib does it. Total:
/// damaged input gives nil, and no more than `limit` bytes are ever made.
enum Inflate {
  /// Bytes that zlib makes at once.
  private static let piece = 16_384

  /// The unpacked bytes; when there are more than `limit`, the first ones and `isCut`. What follows the last block is not
  /// looked at.
  static func unpack(_ input: [UInt8], limit: Int) -> (bytes: [UInt8], isCut: Bool)? {
    var stream = z_stream()
    // zlib knows a stream again by its address.
    return withUnsafeMutablePointer(to: &stream) { stream in
      // A negative window: without zlib's own header and checksum.
      guard inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
        return nil
      }
      defer { inflateEnd(stream) }
      return input.withUnsafeBufferPointer { input in
        // zlib does not write there; its header only lacks a `const`.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.pointee.avail_in = UInt32(clamping: input.count)
        return run(stream, limit: limit)
      }
    }
  }

  /// Lets zlib work to the end of its input, or until there is one byte more than `limit`.
  private static func run(_ stream: UnsafeMutablePointer<z_stream>, limit: Int) -> (bytes: [UInt8], isCut: Bool)? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: piece) { room in
      var output: [UInt8] = []
      while true {
        let wanted = min(room.count, limit - output.count + 1)
        stream.pointee.next_out = room.baseAddress
        stream.pointee.avail_out = UInt32(wanted)
        let status = inflate(stream, Z_NO_FLUSH)
        output += room[..<(wanted - Int(stream.pointee.avail_out))]
        if output.count > limit { return (Array(output.prefix(limit)), true) }
        if status == Z_STREAM_END { return (output, false) }
        // Anything else than progress: the data is damaged, or ends too early.
        guard status == Z_OK else { return nil }
      }
    }
  }
}
