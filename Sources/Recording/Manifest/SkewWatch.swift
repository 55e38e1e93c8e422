import MediaCore
import Session

/// Counts by how much pictures come before or after the sound that was captured with them. Pure.
struct SkewWatch: Hashable {
  /// What is told apart, and the most that is.
  private static let step = Duration.milliseconds(5), most = 100
  /// Pictures by their skew, in steps from `-most` to `most`; empty before the first.
  private var counts: [UInt32] = []

  /// A picture is shown so much after its sound is heard; negative: before it.
  mutating func add(_ skew: Duration) {
    if counts.isEmpty { counts = Array(repeating: 0, count: 2 * Self.most + 1) }
    let steps = max(-Double(Self.most), min(Double(Self.most), (skew / Self.step).rounded()))
    let place = Self.most + Int(steps)
    counts[place] += counts[place] == .max ? 0 : 1
  }

  /// By how much 95 of 100 pictures come after their sound at most, and by how much before it; nil before the first. Steps of
  /// 5 ms, up to 500 ms.
  var usual: (late: Duration, early: Duration)? {
    let total = counts.reduce(into: 0) { $0 += Int($1) }
    guard total > 0 else { return nil }
    func place(_ counts: some Sequence<UInt32>) -> Int {
      var seen = 0
      for (index, count) in counts.enumerated() {
        seen += Int(count)
        if seen * 20 >= total * 19 { return index - Self.most }
      }
      return Self.most
    }
    return (Self.step * max(0, place(counts)), Self.step * max(0, place(counts.reversed())))
  }
}
