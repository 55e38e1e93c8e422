/// JSON strings.
enum JSONText {
  /// The text as a JSON string with its quotes (RFC 8259 section 7).
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// Texts from the room, for the terminal and for file names.
enum RoomText {
  /// One line without control characters, shortened to `limit` characters.
  static func oneLine(_ text: String, limit: Int) -> String {
    var clean = ""
    for scalar in text.unicodeScalars.prefix(limit * 8) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: clean += " "
      default: clean.unicodeScalars.append(scalar)
      }
    }
    return clean.count <= limit ? clean : String(clean.prefix(limit - 1)) + "…"
  }

  /// A room's name as part of a file name: letters, digits, dot, dash and underscore; never hidden, never empty.
  static func fileName(_ room: String) -> String {
    var result = ""
    for scalar in room.unicodeScalars.prefix(80) {
      let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
      result.unicodeScalars.append(isPlain || scalar == "-" || scalar == "_" || scalar == "." ? scalar : "_")
    }
    while result.first == "." || result.first == "-" { result.removeFirst() }
    return result.isEmpty ? "room" : result
  }
}
