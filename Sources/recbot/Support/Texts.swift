import MediaCore

/// Texts from the room, for the terminal and for file names.
enum RoomText {
  /// One line without what acts on a terminal and without secrets, shortened to `limit` characters (`PeerText`).
  static func oneLine(_ text: String, limit: Int) -> String { PeerText.line(text, limit: limit) }

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
