/// Extends 16-bit RTP sequence numbers to 64 bits that never wrap (RFC 3550 appendix A.1).
///
/// A number up to half the range ahead of the highest is newer, all others are older. A sender that starts again far
/// behind (two consecutive numbers more than `maximumMisorder` behind) is taken as a jump ahead, so that a restarted
/// stream does not look late for ever.
public struct SequenceUnwrapper: Sendable {
  /// Numbers further behind than this are not late packets but signs of a restart.
  public static let maximumMisorder: Int64 = 4096

  /// The highest extended number so far; nil before the first.
  public private(set) var highest: Int64?
  private var restartCandidate: UInt16?

  /// Starts without a number; the first one extends to itself.
  public init() {}

  /// Extends a number. Never traps; results before the first number may be negative.
  public mutating func unwrap(_ value: UInt16) -> Int64 {
    guard let highest else {
      self.highest = Int64(value)
      return Int64(value)
    }
    let forward = value &- UInt16(truncatingIfNeeded: highest)
    let delta = Int64(Int16(bitPattern: forward))
    if delta < -SequenceUnwrapper.maximumMisorder {
      if restartCandidate == value {
        restartCandidate = nil
        let extended = highest &+ Int64(forward)
        self.highest = extended
        return extended
      }
      restartCandidate = value &+ 1
      return highest &+ delta
    }
    restartCandidate = nil
    let extended = highest &+ delta
    if delta > 0 { self.highest = extended }
    return extended
  }
}
