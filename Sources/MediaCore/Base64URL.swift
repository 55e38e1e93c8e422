/// Base64 with the URL alphabet (RFC 4648 section 5).
public enum Base64URL {
  /// Encodes bytes with the standard alphabet (RFC 4648 section 4) and padding.
  package static func encodeStandard(_ bytes: [UInt8]) -> String {
    String(decoding: encode(bytes, padding: true), as: UTF8.self).replacing("-", with: "+").replacing("_", with: "/")
  }

  /// Encodes bytes, with `=` at the end when `padding` is set.
  public static func encode(_ bytes: [UInt8], padding: Bool) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var result: [UInt8] = []
    result.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let rest = bytes.count - index
      let word =
        UInt32(bytes[index]) << 16 | (rest > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
        | (rest > 2 ? UInt32(bytes[index + 2]) : 0)
      for digit in 0..<min(4, rest + 1) {
        result.append(alphabet[Int(word >> UInt32(18 - 6 * digit)) & 63])
      }
      if padding && rest < 3 {
        result.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - rest))
      }
      index += 3
    }
    return result
  }

  /// Decodes text of either alphabet, with or without padding; nil when a character is not of the alphabet or the
  /// length is impossible.
  public static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var word: UInt32 = 0
    var bits: UInt32 = 0
    var ended = false
    for character in text {
      let value: UInt8
      switch character {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character + 4
      case UInt8(ascii: "-"), UInt8(ascii: "+"): value = 62
      case UInt8(ascii: "_"), UInt8(ascii: "/"): value = 63
      case UInt8(ascii: "="):
        ended = true
        continue
      default: return nil
      }
      if ended { return nil }
      word = (word << 6 | UInt32(value)) & 0xffff
      bits += 6
      if bits >= 8 {
        bits -= 8
        result.append(UInt8(truncatingIfNeeded: word >> bits))
      }
    }
    return bits == 6 ? nil : result
  }

  /// Decodes as RFC 7515 wants it: the URL alphabet, no padding, no other character, spare bits zero; nil for everything
  /// else. Equal bytes have one spelling.
  package static func decodeStrict(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    return text.withUnsafeBufferPointer { text in
      var result: [UInt8] = []
      result.reserveCapacity(text.count / 4 * 3 + 2)
      var word: UInt32 = 0
      var bits: UInt32 = 0
      for character in text {
        let value = values[Int(character)]
        guard value < 64 else { return nil }
        word = word << 6 | UInt32(value)
        bits += 6
        if bits >= 8 {
          bits -= 8
          result.append(UInt8(truncatingIfNeeded: word >> bits))
        }
      }
      return word & (1 << bits - 1) == 0 ? result : nil
    }
  }

  /// The value of each character of the URL alphabet; 255 for all others.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }()
}
