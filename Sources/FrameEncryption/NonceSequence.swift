import Digests

/// Nonces of AES-GCM, none twice: 64 bits of chance that are one sender's alone, and a count (NIST SP 800-38D section 8.2.1).
struct NonceSequence {
  private var prefix: UInt64
  private var count: UInt32

  /// Begins with chance of its own.
  init(seed: UInt64, count: UInt32 = 0) { (prefix, self.count) = (seed, count) }

  /// Writes the next one, 12 bytes, to the beginning of a buffer that has room for it.
  mutating func next(into buffer: UnsafeMutableRawBufferPointer) {
    buffer.storeBytes(of: prefix.bigEndian, as: UInt64.self)
    buffer.storeBytes(of: count.bigEndian, toByteOffset: 8, as: UInt32.self)
    count &+= 1
    if count == 0 { prefix &+= 1 }
  }

  /// The next one, 12 bytes.
  mutating func next() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: AESGCM.nonceLength) { buffer, count in
      next(into: UnsafeMutableRawBufferPointer(buffer))
      count = AESGCM.nonceLength
    }
  }
}
