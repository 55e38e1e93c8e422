import Yams

/// YAML from files: the one door to Yams. Bounded before Yams sees it: in bytes, and in what an alias can cost. (In depth
/// libyaml bounds itself: 1000.)
///
/// Yams copies what an alias stands for without copying its bytes, so a few lines can stand for more values than there
/// is memory. Readers count what they walk over; but Yams itself hashes the keys of every mapping, wholly. So where
/// there are aliases, keys must be plain words.
package enum YAMLText {
  /// A larger file is none of ours.
  package static let maximumBytes = 1 << 20

  /// The only document of a text; nil when there is none. Throws `YamlError`, or `ConfigurationError` for what is more
  /// than is read.
  package static func compose(_ text: String) throws -> Node? {
    guard text.utf8.count <= maximumBytes else {
      throw ConfigurationError(description: "larger than 1 MiB is no file of settings or layouts")
    }
    guard !hasAliasesAndOtherKeys(text.utf8) else {
      throw ConfigurationError(description: "where there are aliases, keys must be plain words")
    }
    return try Yams.compose(yaml: text)
  }

  /// What is wrong with a text that is no YAML, as a line that begins with the place.
  package static func fault(_ error: YamlError, in text: String, file: String) -> String {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return "\(file):\(mark.line):\(mark.column): \(explained(problem, line: text.line(mark.line)))"
    case .duplicatedKeysInMapping(let keys, let context):
      let names = keys.map { "'\($0)'" }.joined(separator: ", ")
      return "\(file):\(context.mark.line):\(context.mark.column): given twice: \(names)"
    default: return "\(file): \(error)"
    }
  }

  /// A text without line breaks, for errors: what they quote may have some, also of two characters.
  package static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// What libyaml says, and what most likely led to it.
  private static func explained(_ problem: String, line: Substring) -> String {
    if line.prefix(while: { $0 == " " || $0 == "\t" }).contains("\t") {
      return "the line is indented with a tab; YAML wants spaces"
    }
    if problem.hasPrefix("did not find expected") || problem.hasPrefix("mapping values are not allowed") {
      return "\(problem); is the line indented like its neighbours?"
    }
    if problem.hasPrefix("found character that cannot start") { return "\(problem); put the text in quotes" }
    return problem
  }

  /// True when there may be an anchor, an alias, and a key that is no scalar: `? `, `]:`, `}:` or `*alias :`. Says so of
  /// some texts that only look like it.
  private static func hasAliasesAndOtherKeys(_ text: String.UTF8View) -> Bool {
    var (hasAnchor, hasAlias, hasKey) = (false, false, false)
    // What a colon would make a key of now: the end of a list or mapping, or an alias, with blanks behind it.
    var mayBeKey = false
    var isInAlias = false
    var isMark = false
    var last = UInt8(ascii: "\n")
    for byte in text {
      let begins = isBlank(last) || isBreak(last) || "[{,-?:".utf8.contains(last)
      if byte == UInt8(ascii: ":"), mayBeKey { hasKey = true }
      if isBlank(byte) || isBreak(byte), isMark { hasKey = true }
      isMark = byte == UInt8(ascii: "?") && begins
      if byte == UInt8(ascii: "&"), begins { hasAnchor = true }
      if byte == UInt8(ascii: "*"), begins {
        (hasAlias, isInAlias, mayBeKey) = (true, true, true)
      } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") {
        (isInAlias, mayBeKey) = (false, true)
      } else if isBlank(byte) {
        isInAlias = false
      } else if !isInAlias || isBreak(byte) || byte == UInt8(ascii: ",") {
        (isInAlias, mayBeKey) = (false, false)
      }
      last = byte
    }
    return hasAnchor && hasAlias && (hasKey || isMark)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
  private static func isBreak(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0d }
}

extension String {
  /// A line, counted from 1; empty when there is none.
  fileprivate func line(_ number: Int) -> Substring {
    let lines = split(maxSplits: max(0, number), omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return number >= 1 && number <= lines.count ? lines[number - 1] : ""
  }
}
