import Foundation

/// How large the types of the package are: their lines in all files, and what they store. Read from the text: comments and
/// strings are blanked, braces counted.
struct TypeSizes {
  struct Size: Equatable {
    /// Lines of its declaration and of its extensions, nested types included.
    var lines = 0
    /// Stored properties of its own, those of nested types not included.
    var stored = 0
    /// The comment before its declaration.
    var comment = ""
  }

  /// By name, as `Target.Type`.
  private(set) var sizes: [String: Size] = [:]

  private struct Open {
    var name: String
    var depth: Int
  }

  /// Reads one file of a target.
  mutating func read(_ text: String, target: String) {
    let raw = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let rows = Self.blanked(Array(text.utf8)).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    var stack: [Open] = []
    var depth = 0
    var comment: [String] = []
    for (row, line) in zip(rows, raw) {
      var pending: Open?
      switch Self.declared(row) {
      case .type(let kind, let name):
        let full = "\(stack.first?.name ?? target).\(name)"
        pending = Open(name: full, depth: depth)
        // Another target's type is not declared here: an extension says why.
        if stack.isEmpty, kind != "extension" || comment.contains(where: { $0.contains("Large: ") }) {
          sizes[full, default: Size()].comment = comment.joined(separator: "\n")
        }
      case .stored:
        if let open = stack.last, depth == open.depth + 1 { sizes[open.name, default: Size()].stored += 1 }
      case nil: break
      }
      if let outermost = stack.first ?? pending { sizes[outermost.name, default: Size()].lines += 1 }
      let shown = line.drop { $0 == UInt8(ascii: " ") }
      if shown.starts(with: "//".utf8) {
        comment.append(String(decoding: shown, as: UTF8.self))
      } else if shown.first != UInt8(ascii: "@") {
        comment = []
      }
      for byte in row {
        if byte == UInt8(ascii: "{") {
          if let type = pending { stack.append(type) }
          pending = nil
          depth += 1
        } else if byte == UInt8(ascii: "}") {
          depth -= 1
          if stack.last?.depth == depth { stack.removeLast() }
        }
      }
      // Its body begins on a later line.
      if let pending { stack.append(pending) }
    }
  }

  private enum Declared {
    case type(kind: String, name: String)
    case stored
  }

  private static let kinds: Set = ["class", "struct", "enum", "actor", "extension"]
  private static let modifiers: Set = [
    "public", "package", "internal", "fileprivate", "private", "final", "indirect", "nonisolated", "lazy", "weak",
    "unowned",
  ]

  /// What a line declares, when that is a type or something that its type stores.
  private static func declared(_ row: ArraySlice<UInt8>) -> Declared? {
    guard row.contains(where: { $0 != UInt8(ascii: " ") }) else { return nil }
    let words = String(decoding: row, as: UTF8.self).split(separator: " ")
    let rest = words.drop { modifiers.contains(String($0.prefix { $0 != "(" })) || $0.hasPrefix("@") }
    guard let word = rest.first.map(String.init), let next = rest.dropFirst().first else { return nil }
    if kinds.contains(word) {
      let name = next.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
      return name.isEmpty ? nil : .type(kind: word, name: String(name))
    }
    guard word == "var" || word == "let" else { return nil }
    // A body, and no value before it: computed.
    guard word == "var", let body = rest.firstIndex(where: { $0.hasPrefix("{") }) else { return .stored }
    return rest[..<body].contains("=") || rest[body...].contains("didSet") ? .stored : nil
  }

  /// The text with comments and strings as spaces, line by line.
  private static func blanked(_ text: [UInt8]) -> [UInt8] {
    let (newline, quote, slash) = (UInt8(ascii: "\n"), UInt8(ascii: "\""), UInt8(ascii: "/"))
    var result = text
    var index = 0
    func at(_ place: Int) -> UInt8 { place < text.count ? text[place] : 0 }
    func skip(to end: Int) {
      for place in index..<min(end, text.count) where text[place] != newline { result[place] = UInt8(ascii: " ") }
      index = end
    }
    while index < text.count {
      if text[index] == slash, at(index + 1) == slash {
        skip(to: text[index...].firstIndex(of: newline) ?? text.count)
      } else if text[index] == quote, at(index + 1) == quote, at(index + 2) == quote {
        var end = index + 3
        while end < text.count, !(text[end] == quote && at(end + 1) == quote && at(end + 2) == quote) { end += 1 }
        skip(to: end + 3)
      } else if text[index] == quote {
        var end = index + 1
        while end < text.count, text[end] != quote, text[end] != newline {
          end += text[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        skip(to: end + 1)
      } else {
        index += 1
      }
    }
    return result
  }
}
