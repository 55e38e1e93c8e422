/// Reads bits, the most significant first, out of bytes that may lie: every read past the end is nil. Confined to the
/// life of the bytes.
public struct BitReader {
  private let bytes: UnsafeRawBufferPointer
  private let skipsEmulation: Bool
  private var position = 0
  private var bit = 0
  private var zeros = 0

  /// A reader of these bytes. `skipsEmulation`: passes over the emulation prevention bytes of a NAL unit (H.264 section
  /// 7.4.1.1: the 3 in 0 0 3).
  public init(_ bytes: UnsafeRawBufferPointer, skipsEmulation: Bool = false) {
    self.bytes = bytes
    self.skipsEmulation = skipsEmulation
  }

  /// Bits that were read or passed over, emulation prevention included.
  public var bitsRead: Int { position * 8 + bit }

  /// The next bit.
  public mutating func flag() -> Bool? {
    if bit == 0, skipsEmulation, zeros >= 2, position < bytes.count, bytes[position] == 3 {
      position += 1
      zeros = 0
    }
    guard position < bytes.count else { return nil }
    let value = bytes[position] >> UInt8(7 - bit) & 1 == 1
    bit += 1
    if bit == 8 {
      zeros = bytes[position] == 0 ? zeros + 1 : 0
      bit = 0
      position += 1
    }
    return value
  }

  /// The next `count` bits (0...32) as a number.
  public mutating func bits(_ count: Int) -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<min(max(0, count), 32) {
      guard let next = flag() else { return nil }
      value = value << 1 | (next ? 1 : 0)
    }
    return value
  }

  /// Passes over `count` bits; nil when they are not all there.
  public mutating func skip(_ count: Int) -> Void? {
    for _ in 0..<max(0, count) { guard flag() != nil else { return nil } }
    return ()
  }

  /// An unsigned Exp-Golomb code (H.264 section 9.1); nil beyond 32 bits.
  public mutating func exponentialGolomb() -> UInt32? {
    var length = 0
    while let next = flag() {
      if next {
        guard let rest = bits(length) else { return nil }
        return UInt32(truncatingIfNeeded: (UInt64(1) << UInt64(length)) - 1 + UInt64(rest))
      }
      length += 1
      guard length < 32 else { return nil }
    }
    return nil
  }

  /// A signed Exp-Golomb code (H.264 section 9.1.1).
  public mutating func signedExponentialGolomb() -> Int? {
    guard let code = exponentialGolomb() else { return nil }
    let half = Int(code / 2) + Int(code % 2)
    return code % 2 == 1 ? half : -half
  }
}
