/// Finds what somebody meant who wrote something else.
public enum Spelling {
  /// The name of those that are known that is nearest to a word, when it is near enough to be meant.
  public static func nearest(to word: String, among known: [String]) -> String? {
    let best = known.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    guard let (name, distance) = best, distance <= max(1, word.count / 3) else { return nil }
    return name
  }

  /// `; did you mean 'x'?`, or, when nothing is near, all that is known, after a semicolon.
  public static func hint(for word: String, among known: [String]) -> String {
    nearest(to: word, among: known).map { "; did you mean '\($0)'?" } ?? "; known: \(known.joined(separator: ", "))"
  }

  /// Edit distance; two letters the wrong way round count as one edit (optimal string alignment).
  private static func distance(_ a: String, _ b: String) -> Int {
    let a = Array(a.prefix(64))
    let b = Array(b.prefix(64))
    var before = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var row = [i + 1]
      for (j, y) in b.enumerated() {
        var cost = min(last[j] + (x == y ? 0 : 1), row[j] + 1, last[j + 1] + 1)
        if i > 0, j > 0, x == b[j - 1], a[i - 1] == y { cost = min(cost, before[j - 1] + 1) }
        row.append(cost)
      }
      (before, last) = (last, row)
    }
    return last[b.count]
  }
}
