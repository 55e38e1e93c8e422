/// Makes text from the network fit to be drawn.
enum NameText {
  /// Longer names are cut: nobody reads more, and Pango's work must stay bounded.
  static let maximumCharacters = 80
  /// A character may carry any number of combining marks; the whole text may not.
  static let maximumScalars = 240

  /// One line without control, formatting-override or unassigned characters; runs of white space become one space.
  static func cleaned(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var count = 0
    var isSpacePending = false
    for scalar in text.unicodeScalars.prefix(4 * maximumScalars) {
      if scalar.properties.isWhitespace {
        isSpacePending = count > 0
        continue
      }
      guard isDrawable(scalar) else { continue }
      if isSpacePending {
        result.append(" ")
        count += 1
      }
      isSpacePending = false
      result.append(scalar)
      count += 1
      if count >= maximumScalars { break }
    }
    return String(String(result).prefix(maximumCharacters))
  }

  private static func isDrawable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // Zero-width (non-)joiner: part of Persian and Indic spelling and of emoji.
    case 0x200c, 0x200d: return true
    // Tags make flags of emoji.
    case 0xe0020...0xe007f: return true
    default: break
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
    default: return true
    }
  }

  /// Up to two capitals: of the first and the last word, or of the only one. Empty when there is no letter or digit.
  static func initials(_ name: String) -> String {
    let words = name.split(whereSeparator: { $0 == " " || $0 == "." || $0 == "_" || $0 == "-" || $0 == "@" })
    let letters = words.compactMap { $0.first { $0.isLetter || $0.isNumber } }
    guard let first = letters.first else { return "" }
    var result = first.uppercased().prefix(1)
    // Ideographs and syllables are wide, and one of them says as much as two letters.
    if letters.count > 1, let last = letters.last, last.isLetter, !isWide(first) {
      // Letters of Arabic and of the scripts of India would run together: a space keeps them two initials.
      if isJoining(first) { result += " " }
      result += last.uppercased().prefix(1)
    }
    return String(result)
  }

  private static func isWide(_ character: Character) -> Bool {
    guard let scalar = character.unicodeScalars.first else { return false }
    // Hangul syllables and kana are no ideographs, but as wide.
    return scalar.properties.isIdeographic || (0xac00...0xd7a3).contains(scalar.value)
      || (0x3040...0x30ff).contains(scalar.value)
  }

  private static func isJoining(_ character: Character) -> Bool {
    // The blocks from Arabic to Tibetan, and what extends Arabic.
    guard let value = character.unicodeScalars.first?.value else { return false }
    return (0x0600...0x0fff).contains(value) || (0xfb50...0xfdff).contains(value) || (0xfe70...0xfeff).contains(value)
  }

  /// Divides text into pieces for `StampRenderer.run`: single digits, and what stands between them. Text that runs from right
  /// to left stays whole.
  static func forEachRun(_ text: String, _ body: (Substring) -> Void) {
    let isLeftToRight = text.unicodeScalars.allSatisfy { !(0x0590...0x08ff).contains($0.value) && $0.value < 0xfb1d }
    guard isLeftToRight else { return body(text[...]) }
    var start = text.startIndex
    var index = start
    while index < text.endIndex {
      let next = text.index(after: index)
      if isDigit(text[index]) {
        if start < index { body(text[start..<index]) }
        body(text[index..<next])
        start = next
      }
      index = next
    }
    if start < text.endIndex { body(text[start...]) }
  }

  static func isDigit(_ character: Character) -> Bool { ("0"..."9").contains(character) }
}
