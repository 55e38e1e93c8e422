/// What only the transport knows of how a track came in: packets since the bot received it.
public struct ReceptionCounts: Sendable, Hashable {
  /// Packets that the sender numbered.
  public var expected: Int64 = 0
  /// Packets that did not come in time, after all repair.
  public var lost: Int64 = 0
  /// Packets that were missing and came after all: sent again, or as copies in later ones.
  public var repaired: Int64 = 0
  /// Keyframes that were asked for.
  public var keyframeRequests: Int64 = 0

  /// Nothing came.
  public init(expected: Int64 = 0, lost: Int64 = 0, repaired: Int64 = 0, keyframeRequests: Int64 = 0) {
    self.expected = expected
    self.lost = lost
    self.repaired = repaired
    self.keyframeRequests = keyframeRequests
  }

  /// True when there is nothing to tell.
  public var isEmpty: Bool { self == ReceptionCounts() }

  /// Takes over what a counter stands at, and gives by how much it has grown. Where a counter went back, since one of the
  /// sources that it counts is gone, it has not grown.
  public mutating func advance(to new: ReceptionCounts) -> ReceptionCounts {
    defer { self = new }
    return ReceptionCounts(
      expected: max(0, new.expected &- expected), lost: max(0, new.lost &- lost),
      repaired: max(0, new.repaired &- repaired), keyframeRequests: max(0, new.keyframeRequests &- keyframeRequests))
  }

  /// Adds what came later.
  public static func += (sum: inout ReceptionCounts, more: ReceptionCounts) {
    sum.expected &+= more.expected
    sum.lost &+= more.lost
    sum.repaired &+= more.repaired
    sum.keyframeRequests &+= more.keyframeRequests
  }
}
