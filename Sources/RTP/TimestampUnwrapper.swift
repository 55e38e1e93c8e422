/// Extends 32-bit RTP timestamps to 64 bits that never wrap. Each value is taken as the one nearest to the value
/// before it, so gaps up to 2^31 ticks (6.6 h at 90 kHz, 12.4 h at 48 kHz) are understood.
public struct TimestampUnwrapper: Sendable {
  /// The last extended value; nil before the first.
  public private(set) var last: Int64?

  /// Starts without a value; the first one extends to itself.
  public init() {}

  /// Extends a timestamp and remembers it as the reference for the next.
  public mutating func unwrap(_ value: UInt32) -> Int64 {
    let extended = peek(value)
    last = extended
    return extended
  }

  /// Extends a timestamp without changing the reference.
  public func peek(_ value: UInt32) -> Int64 {
    guard let last else { return Int64(value) }
    return TimestampUnwrapper.extend(value, near: last)
  }

  /// The 64-bit value nearest to `reference` that has these low 32 bits.
  public static func extend(_ value: UInt32, near reference: Int64) -> Int64 {
    reference &+ Int64(Int32(bitPattern: value &- UInt32(truncatingIfNeeded: reference)))
  }
}
