import Foundation

/// The texts in the small XML documents that stores answer with. Not a parser for XML in general: it finds elements by
/// name, without regard to prefixes or nesting of the same name, and is total on any input.
struct XMLText {
  private let text: Substring

  /// Takes a document; damaged UTF-8 is repaired.
  init(_ bytes: [UInt8]) { text = Substring(String(decoding: bytes, as: UTF8.self)) }

  private init(_ text: Substring) { self.text = text }

  /// The text of the first element of a name.
  func value(_ name: String) -> String? { elements(name, limit: 1).first.map { XMLText.unescaped($0.text) } }

  /// All elements of a name.
  func elements(_ name: String, limit: Int = 10_000) -> [XMLText] {
    var found: [XMLText] = []
    var rest = text
    while found.count < limit, let open = rest.range(of: "<\(name)") {
      let after = rest[open.upperBound...]
      // `<Part` is also the beginning of `<PartNumber`.
      guard let next = after.first, ">/ \t\r\n".contains(next), let end = after.firstIndex(of: ">") else {
        rest = after
        continue
      }
      let content = after[after.index(after: end)...]
      if after[..<end].last == "/" {
        found.append(XMLText(content.prefix(0)))
        rest = content
        continue
      }
      guard let close = content.range(of: "</\(name)>") else { break }
      found.append(XMLText(content[..<close.lowerBound]))
      rest = content[close.upperBound...]
    }
    return found
  }

  /// True when there is an element of that name.
  func has(_ name: String) -> Bool { !elements(name, limit: 1).isEmpty }

  /// A text as the content of an element.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }

  private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  private static func unescaped(_ text: Substring) -> String {
    var result = ""
    var rest = text
    while let start = rest.firstIndex(of: "&") {
      result += rest[..<start]
      rest = rest[start...]
      let name = rest.dropFirst().prefix { $0 != ";" && $0 != "&" }
      let end = rest.index(rest.startIndex, offsetBy: name.count + 1)
      guard end < rest.endIndex, rest[end] == ";", let text = entities[String(name)] ?? numbered(name) else {
        result += "&"
        rest = rest.dropFirst()
        continue
      }
      result += text
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }

  private static func numbered(_ name: Substring) -> String? {
    guard name.first == "#" else { return nil }
    let digits = name.dropFirst()
    let value = digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
    return value.flatMap(Unicode.Scalar.init).map { String($0) }
  }
}
