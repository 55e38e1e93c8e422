/// Small text helpers. They work on UTF-8 bytes because `\r\n` is a single `Character` in Swift.
enum SDPText {
  /// The parts between single or repeated spaces.
  static func fields(_ text: Substring) -> [Substring] {
    text.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
  }

  /// The text before and after the first `separator`; nil when there is none.
  static func halves(_ text: Substring, at separator: Unicode.Scalar) -> (Substring, Substring)? {
    guard let byte = UInt8(exactly: separator.value), let index = text.utf8.firstIndex(of: byte) else { return nil }
    return (text[..<index], text[text.utf8.index(after: index)...])
  }

  /// The text without spaces at both ends.
  static func trimmed(_ text: Substring) -> Substring {
    var view = text.utf8
    while view.first == UInt8(ascii: " ") { view.removeFirst() }
    while view.last == UInt8(ascii: " ") { view.removeLast() }
    return Substring(view)
  }

  /// The same text on one line: a value that came from outside must not be able to add lines.
  static func oneLine(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x0a || $0 == 0x0d || $0 == 0 }) else { return text }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" && $0 != "\0" })
    return String(scalars)
  }
}
