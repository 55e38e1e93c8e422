/// Makes text from the network fit to be drawn.
enum NameText {
  /// Longer names are cut: nobody reads more, and Pango's work must stay bounded.
  static let maximumCharacters = 80
  /// A character may carry any number of combining marks; the whole text may not.
  static let maximumScalars = 240

  /// One line without control, formatting-override or unassigned characters; runs of white space become one space.
  static func cleaned(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var isSpacePending = false
    for scalar in text.unicodeScalars.prefix(4 * maximumScalars) {
      if scalar.properties.isWhitespace {
        isSpacePending = !result.isEmpty
        continue
      }
      guard isDrawable(scalar) else { continue }
      if isSpacePending { result.append(" ") }
      isSpacePending = false
      result.append(scalar)
      if result.count >= maximumScalars { break }
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
    // Ideographs are wide, and one of them says as much as two letters.
    if letters.count > 1, let last = letters.last, last.isLetter, !isIdeograph(first) {
      result += last.uppercased().prefix(1)
    }
    return String(result)
  }

  private static func isIdeograph(_ character: Character) -> Bool {
    character.unicodeScalars.first?.properties.isIdeographic ?? false
  }
}
