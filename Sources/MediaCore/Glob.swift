/// A name with `*` for any number of characters, none included.
public struct Glob: Hashable, Sendable {
  /// As it was written.
  public let pattern: String

  /// Takes a pattern of 1 to 256 characters; nil when it is longer or empty.
  public init?(_ pattern: String) {
    guard !pattern.isEmpty, pattern.unicodeScalars.count <= 256 else { return nil }
    self.pattern = pattern
  }

  /// True when the whole text matches.
  public func matches(_ text: String, ignoringCase: Bool = false) -> Bool {
    ignoringCase ? Glob.matches(pattern.lowercased(), text.lowercased()) : Glob.matches(pattern, text)
  }

  /// True when the whole text matches a pattern of any length. In time proportional to the product of the lengths at
  /// worst; total.
  public static func matches(_ pattern: String, _ text: String) -> Bool {
    let (pattern, text) = (Array(pattern.unicodeScalars), Array(text.unicodeScalars))
    // The last star seen, and how much of the text it has taken: going back there is enough.
    var (p, t) = (0, 0)
    var star: (pattern: Int, text: Int)?
    while t < text.count {
      if p < pattern.count, pattern[p] == "*" {
        star = (p, t)
        p += 1
      } else if p < pattern.count, pattern[p] == text[t] {
        (p, t) = (p + 1, t + 1)
      } else if let last = star {
        star = (last.pattern, last.text + 1)
        (p, t) = (last.pattern + 1, last.text + 1)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == "*" }
  }
}
