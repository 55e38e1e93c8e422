/// JSON, written by hand where no reader is needed.
public enum JSONText {
  /// A text as a JSON string with its quotes (RFC 8259 section 7). Also fit for one line of a terminal: what acts instead
  /// of being seen (`PeerText.isActive`) is escaped, and so kept.
  public static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: append(scalar, to: &result)
      }
    }
    return result + "\""
  }

  /// JSON that another writer made, fit for one line of a terminal: what acts is escaped. Such characters stand in
  /// strings only, so the value stays the same; JSON over several lines becomes none.
  public static func escaped(_ json: String) -> String {
    guard json.unicodeScalars.contains(where: PeerText.isActive) else { return json }
    var result = ""
    for scalar in json.unicodeScalars { append(scalar, to: &result) }
    return result
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
    guard PeerText.isActive(scalar) else { return text.unicodeScalars.append(scalar) }
    for unit in String(scalar).utf16 {
      let hex = String(unit, radix: 16)
      text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }
  }
}
