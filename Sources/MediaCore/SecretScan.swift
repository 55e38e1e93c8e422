/// Finds what looks like a secret in a text; see `PeerText.masked`. One pass, from the left; nothing is looked at twice
/// but the name before a value.
struct SecretScan {
  /// The text, UTF-8.
  private let bytes: [UInt8]
  /// Only what is a secret by its form.
  private let tokensOnly: Bool

  init(_ bytes: [UInt8], tokensOnly: Bool) {
    self.bytes = bytes
    self.tokensOnly = tokensOnly
  }

  /// Where the secrets are, in order, not touching one another.
  mutating func secrets() -> [Range<Int>] {
    var found: [Range<Int>] = []
    var position = 0
    while position < bytes.count {
      guard let range = secret(at: position) else {
        position += 1
        continue
      }
      if let last = found.last, last.upperBound == range.lowerBound {
        found[found.count - 1] = last.lowerBound..<range.upperBound
      } else {
        found.append(range)
      }
      position = max(range.upperBound, position + 1)
      runEnd = max(runEnd, range.upperBound)
    }
    return found
  }

  /// Where the run of base64url and dots ends that was looked at last.
  private var runEnd = 0

  /// A secret that is found at this byte: it begins here, or its value begins after it.
  private mutating func secret(at index: Int) -> Range<Int>? {
    let byte = bytes[index]
    if index >= runEnd, Self.isTokenByte(byte) {
      var end = index
      while end < bytes.count, Self.isTokenByte(bytes[end]) { end += 1 }
      runEnd = end
      if let range = token(in: index..<end) { return range }
    }
    guard !tokensOnly else { return nil }
    switch byte {
    case UInt8(ascii: "="): return value(named: index)
    case UInt8(ascii: ":"): return userInfo(after: index) ?? value(named: index)
    case UInt8(ascii: "B"), UInt8(ascii: "b"): return scheme(at: index)
    case UInt8(ascii: "-"): return privateKey(at: index)
    default: return nil
    }
  }

  // MARK: Tokens and keys

  /// A token or key in a run of base64url's letters and dots.
  private func token(in run: Range<Int>) -> Range<Int>? {
    guard run.count >= Self.shortestKey else { return nil }
    var end = run.upperBound
    // A full stop that ends the sentence.
    while end > run.lowerBound, bytes[end - 1] == Self.dot { end -= 1 }
    let parts = bytes[run.lowerBound..<end].split(separator: Self.dot, omittingEmptySubsequences: false)
    let isSigned = parts.count >= 3 && parts[0].count >= 16 && parts[1].count >= 2 && parts[2].count >= 20
    // Of a signed token the head must be found; without the usual one, everything is hidden.
    for index in run.lowerBound..<(isSigned ? parts[0].endIndex : end) {
      for prefix in Self.keyPrefixes where end - index >= prefix.count + Self.shortestKey && has(prefix, at: index) {
        return index + prefix.count..<end
      }
      // What begins as a JSON object does, in base64.
      if end - index >= Self.shortestToken, has(Self.object, at: index) { return index..<wideEnd(from: end) }
    }
    return isSigned ? run.lowerBound..<end : nil
  }

  /// Where what follows a token's letters ends that belongs to it: base64's other letters, and percent-encoding.
  private func wideEnd(from end: Int) -> Int {
    var wide = end
    while wide < bytes.count, Self.isTokenByte(bytes[wide]) || Self.isWide(bytes[wide]) { wide += 1 }
    while wide > end, bytes[wide - 1] == Self.dot { wide -= 1 }
    return wide
  }

  private static func isWide(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "~"), UInt8(ascii: "%"): true
    default: false
    }
  }

  private static let dot = UInt8(ascii: ".")
  private static let object = Array("eyJ".utf8)
  private static let keyPrefixes = ["rbk_", "whsec_"].map { Array($0.utf8) }
  /// Bytes of a key after its prefix; of a token, also of one that was cut.
  private static let shortestKey = 6
  private static let shortestToken = 20

  /// The credentials after `Bearer` or `Basic` (RFC 9110 section 11.4).
  private func scheme(at index: Int) -> Range<Int>? {
    guard index == 0 || !Self.isNameByte(bytes[index - 1]) else { return nil }
    for name in Self.schemes where hasWord(name, at: index) {
      var start = index + name.count
      let gap = start
      while start < bytes.count, bytes[start] == UInt8(ascii: " ") { start += 1 }
      guard start > gap else { return nil }
      let range = start..<end(ofValueAt: start)
      return range.count >= 8 && !isPlainWord(range) ? range : nil
    }
    return nil
  }

  private static let schemes = ["bearer", "basic"].map { Array($0.utf8) }

  /// A private key in PEM, to its end line or the end of the text.
  private func privateKey(at index: Int) -> Range<Int>? {
    guard has(Self.pemBegin, at: index), index == 0 || bytes[index - 1] != UInt8(ascii: "-") else { return nil }
    let label = index + Self.pemBegin.count
    var position = label
    while position < bytes.count, position < label + 40, !has(Self.pemKey, at: position) { position += 1 }
    guard has(Self.pemKey, at: position) else { return nil }
    position += Self.pemKey.count
    while position < bytes.count, !has(Self.pemEnd, at: position) { position += 1 }
    return index..<position
  }

  private static let pemBegin = Array("-----BEGIN ".utf8)
  private static let pemKey = Array("PRIVATE KEY-----".utf8)
  private static let pemEnd = Array("-----END ".utf8)

  // MARK: Names and values

  /// The value after `=` or a colon, when the name before it says that it is secret.
  private func value(named separator: Int) -> Range<Int>? {
    var nameEnd = separator
    while nameEnd > 0, separator - nameEnd < 4, Self.isQuote(bytes[nameEnd - 1]) || Self.isGap(bytes[nameEnd - 1]) {
      nameEnd -= 1
    }
    var nameStart = nameEnd
    while nameStart > 0, nameEnd - nameStart < Self.longestName, Self.isNameByte(bytes[nameStart - 1]) {
      nameStart -= 1
    }
    let name = bytes[nameStart..<nameEnd].map(Self.lowered)
    guard name.count >= 3, Self.words.contains(where: { Self.contains(name, $0) }) else { return nil }

    var start = separator + 1
    while start < bytes.count, start - separator < 4, Self.isGap(bytes[start]) { start += 1 }
    // What was hidden before stays as it is: a text may pass here twice.
    guard start < bytes.count, !has(Self.hidden, at: start) else { return nil }
    if Self.isQuote(bytes[start]) {
      var end = start + 1
      while end < bytes.count, bytes[end] != bytes[start] { end += 1 }
      return end > start + 1 ? start + 1..<end : nil
    }
    if Self.contains(name, Self.authorization) {
      var end = start
      while end < bytes.count, bytes[end] != 0x0a, bytes[end] != 0x0d, !Self.isQuote(bytes[end]) { end += 1 }
      return end > start ? start..<end : nil
    }
    let range = start..<end(ofValueAt: start)
    guard !range.isEmpty, !(has(Self.slashes, at: start) && bytes[separator] == UInt8(ascii: ":")) else { return nil }
    // A sentence goes on after a colon: `the token: expired`.
    return bytes[separator] == UInt8(ascii: ":") && isPlainWord(range) ? nil : range
  }

  private static let authorization = Array("authorization".utf8)
  private static let hidden = Array(PeerText.hidden.utf8)
  private static let slashes = Array("//".utf8)
  private static let longestName = 64
  private static let words = [
    "secret", "password", "passwd", "passphrase", "token", "credential", "authorization", "signature", "apikey",
    "api-key", "api_key", "private_key", "private-key", "privatekey", "accesskey",
  ].map { Array($0.utf8) }

  /// `user:password@`, or `user@`, after the colon of `://`.
  private func userInfo(after colon: Int) -> Range<Int>? {
    guard has(Self.slashes, at: colon + 1) else { return nil }
    let start = colon + 3
    var (end, at) = (start, -1)
    while end < bytes.count, bytes[end] > 0x20, !Self.endsAuthority(bytes[end]) {
      if bytes[end] == UInt8(ascii: "@") { at = end }
      end += 1
    }
    return at > start ? start..<at : nil
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"): true
    default: isQuote(byte)
    }
  }

  /// Where a value without quotes ends: at white space, and at what stands between values.
  private func end(ofValueAt start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] > 0x20, !Self.isQuote(bytes[end]), !Self.isDelimiter(bytes[end]) { end += 1 }
    return end
  }

  /// True for what is a word of a sentence rather than a secret: a few lower-case letters, or very few of any case.
  private func isPlainWord(_ range: Range<Int>) -> Bool {
    range.count < 20 && bytes[range].allSatisfy { (0x61...0x7a).contains($0) || $0 == Self.dot }
      || range.count < 6 && bytes[range].allSatisfy { (0x61...0x7a).contains(Self.lowered($0)) }
  }

  // MARK: Bytes

  private func has(_ text: [UInt8], at index: Int) -> Bool {
    index + text.count <= bytes.count && text.indices.allSatisfy { bytes[index + $0] == text[$0] }
  }

  /// The same for lower-case `text`, in whatever case the bytes are.
  private func hasWord(_ text: [UInt8], at index: Int) -> Bool {
    index + text.count <= bytes.count && text.indices.allSatisfy { Self.lowered(bytes[index + $0]) == text[$0] }
  }

  private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
    guard text.count >= word.count else { return false }
    return (0...text.count - word.count).contains { start in
      word.indices.allSatisfy { text[start + $0] == word[$0] }
    }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), dot: true
    default: false
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool { isTokenByte(byte) }

  /// A space, or what escapes a quote where JSON stands in JSON.
  private static func isGap(_ byte: UInt8) -> Bool { byte == 0x20 || byte == UInt8(ascii: "\\") }

  private static func isQuote(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ")"), UInt8(ascii: "]"),
      UInt8(ascii: "}"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"):
      true
    default: false
    }
  }
}
