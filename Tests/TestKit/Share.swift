import MediaCore

/// A part of a whole, exact to a millionth: so that what is random is the same on every machine.
public struct Share: Hashable, Sendable {
  /// 0 to 1,000,000.
  public let millionths: Int64

  /// Nothing.
  public static let none = Share(millionths: 0)

  /// Makes a share; values outside of 0 to 1,000,000 become the nearest.
  public init(millionths: Int64) { self.millionths = min(max(0, millionths), 1_000_000) }

  /// So many percent.
  public static func percent(_ value: Int64) -> Share { Share(millionths: value &* 10_000) }

  /// True for this share of all values of `bits` (64 random bits).
  public func holds(_ bits: UInt64) -> Bool {
    // The upper 32 bits, as a fraction of 2^32.
    Int64(bits >> 32) &* 1_000_000 < millionths << 32
  }
}

extension SeededRandom {
  /// The generator of one of several streams that belong to `seed`: what one stream draws changes no other.
  public init(seed: UInt64, stream: UInt64) {
    var seeds = SeededRandom(seed: seed ^ (stream &* 0xd134_2543_de82_ef95))
    self.init(seed: seeds.next())
  }

  /// 0 up to and without `bound`, from 64 bits that were drawn; 0 for bounds below 1.
  public static func below(_ bound: Int64, _ bits: UInt64) -> Int64 {
    bound < 1 ? 0 : Int64(truncatingIfNeeded: bits.multipliedFullWidth(by: UInt64(bound)).high)
  }
}
