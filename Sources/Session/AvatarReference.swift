/// Finds what a participant's application says about their image: the attribute `avatar`, or the text under the key
/// `avatar` of metadata that is a JSON object. Total: whatever the texts hold, nothing traps, and work is bounded.
enum AvatarReference {
  /// Longer references are none.
  static let maximumLength = 2048
  /// Longer metadata are not looked at.
  static let maximumMetadata = 1 << 16

  /// The reference; empty when there is none.
  static func find(attributes: [String: String], metadata: String) -> String {
    let found = attributes["avatar"] ?? Scanner.text(under: "avatar", in: metadata) ?? ""
    return found.utf8.count <= maximumLength ? found : ""
  }

  /// Reads as much of JSON (RFC 8259) as it takes to find one text in the outermost object.
  private struct Scanner {
    private let bytes: [UInt8]
    private var position = 0

    static func text(under key: String, in json: String) -> String? {
      guard json.utf8.count <= maximumMetadata, json.utf8.contains(UInt8(ascii: "{")) else { return nil }
      var scanner = Scanner(bytes: Array(json.utf8))
      return scanner.find(key)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
      while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
      skipSpace()
      guard next == byte else { return false }
      position += 1
      return true
    }

    private mutating func find(_ key: String) -> String? {
      guard take(UInt8(ascii: "{")) else { return nil }
      repeat {
        skipSpace()
        guard let name = string(), take(UInt8(ascii: ":")) else { return nil }
        skipSpace()
        if name == key { return next == UInt8(ascii: "\"") ? string() : nil }
        guard skipValue() else { return nil }
      } while take(UInt8(ascii: ","))
      return nil
    }

    /// Passes over one value. Brackets are counted, not matched: what isn't JSON only leads to no text or another one.
    private mutating func skipValue() -> Bool {
      var depth = 0
      while let byte = next {
        switch byte {
        case UInt8(ascii: "\""): guard string() != nil else { return false }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          depth += 1
          position += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return true }
          depth -= 1
          position += 1
        case UInt8(ascii: ",") where depth == 0: return true
        default: position += 1
        }
      }
      return false
    }

    private mutating func string() -> String? {
      guard next == UInt8(ascii: "\"") else { return nil }
      position += 1
      var units: [UInt16] = []
      var run = position
      func text(_ end: Int) -> [UInt16] { Array(String(decoding: bytes[run..<end], as: UTF8.self).utf16) }
      while let byte = next {
        if byte == UInt8(ascii: "\"") {
          units += text(position)
          position += 1
          return String(decoding: units, as: UTF16.self)
        }
        guard byte == UInt8(ascii: "\\") else {
          position += 1
          continue
        }
        units += text(position)
        position += 1
        guard let unit = escaped() else { return nil }
        units.append(unit)
        run = position
      }
      return nil
    }

    /// The character after a backslash, as a UTF-16 unit.
    private mutating func escaped() -> UInt16? {
      guard let byte = next else { return nil }
      position += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt16(byte)
      case UInt8(ascii: "b"): return 8
      case UInt8(ascii: "f"): return 12
      case UInt8(ascii: "n"): return 10
      case UInt8(ascii: "r"): return 13
      case UInt8(ascii: "t"): return 9
      case UInt8(ascii: "u"):
        guard position + 4 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        position += 4
        return digits.allSatisfy(\.isHexDigit) ? UInt16(digits, radix: 16) : nil
      default: return nil
      }
    }
  }
}
