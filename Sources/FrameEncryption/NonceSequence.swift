/// Nonces of AES-GCM, none twice: 64 bits of chance that are one sender's alone, and a count (NIST SP 800-38D section 8.2.1).
struct NonceSequence {
  private var prefix: UInt64
  private var count: UInt32

  /// Begins with chance of its own.
  init(seed: UInt64, count: UInt32 = 0) { (prefix, self.count) = (seed, count) }

  /// The next one, 12 bytes.
  mutating func next() -> [UInt8] {
    defer {
      count &+= 1
      if count == 0 { prefix &+= 1 }
    }
    let high = (0..<8).map { UInt8(truncatingIfNeeded: prefix >> (56 - 8 * $0)) }
    return high + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
  }
}
