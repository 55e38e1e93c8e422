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
