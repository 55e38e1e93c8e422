import Layouts
import MediaCore
import Settings

// The readers of single values.

extension LayoutReader {
  func error(_ node: DataNode, _ text: String) -> LayoutError {
    LayoutError("\(file):\(node.line):\(node.column): \(text)")
  }

  /// A text of the file as a message shows it: one line, not too long.
  func shown(_ text: String) -> String {
    let clean = String(String.UnicodeScalarView(text.unicodeScalars.prefix(60).map { $0.value < 0x20 ? " " : $0 }))
    return text.unicodeScalars.count > 60 ? clean + "…" : clean
  }

  func unknown(_ word: String, _ what: String, _ node: DataNode, among known: [String]) -> LayoutError {
    let hint = Values.suggestion(for: word, among: known).map { "did you mean '\($0)'?" }
    return error(node, "\(what): there is no '\(shown(word))'; \(hint ?? "known: \(known.joined(separator: ", "))")")
  }

  /// The members of a mapping; others than the known ones are refused. Members without a value count as not given.
  func fields(_ node: DataNode, _ what: String, among known: [String]) throws(LayoutError) -> [String: DataNode] {
    guard case .map(let pairs) = node.value else {
      throw error(node, "\(what) must be a mapping, for example '\(known[0]): …'")
    }
    var result: [String: DataNode] = [:]
    for pair in pairs {
      let (key, value) = (pair.key, pair.value)
      guard let name = key.text, known.contains(name) else {
        throw unknown(key.text ?? "", what, key, among: known)
      }
      if case .null = value.value { continue }
      result[name] = value
    }
    return result
  }

  func list(_ node: DataNode, _ key: String, most: Int) throws(LayoutError) -> [DataNode] {
    guard case .list(let items) = node.value else { throw error(node, "'\(key)' must be a list") }
    guard items.count <= most else { throw error(node, "'\(key)' has \(items.count) entries; at most \(most)") }
    return items
  }

  func listOrOne(_ node: DataNode, _ key: String) throws(LayoutError) -> [DataNode] {
    if case .list = node.value { return try list(node, key, most: 1000) }
    return [node]
  }

  func parsed<T>(_ node: DataNode, _ key: String, _ expected: String, _ parse: (String) -> T?) throws(LayoutError) -> T
  {
    guard let text = node.text else { throw error(node, "'\(key)' takes \(expected)") }
    guard let value = parse(text) else { throw error(node, "'\(key)': '\(shown(text))' is not \(expected)") }
    return value
  }

  func choice<T: RawRepresentable & CaseIterable>(
    _ node: DataNode, _ key: String
  ) throws(LayoutError) -> T where T.RawValue == String {
    let known = T.allCases.map(\.rawValue)
    guard let text = node.text else { throw error(node, "'\(key)' takes one of \(known.joined(separator: ", "))") }
    guard let value = T(rawValue: text) else { throw unknown(text, "'\(key)'", node, among: known) }
    return value
  }

  func boolean(_ node: DataNode, _ key: String) throws(LayoutError) -> Bool {
    try parsed(node, key, "yes or no") { text in
      switch text.lowercased() {
      case "yes", "true", "on": true
      case "no", "false", "off": false
      default: nil
      }
    }
  }

  func integer(_ node: DataNode, _ key: String, _ range: ClosedRange<Int>) throws(LayoutError) -> Int {
    let span = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    return try parsed(node, key, span) { text in
      guard text.utf8.count <= 9, let value = Int(text), range.contains(value) else { return nil }
      return value
    }
  }

  func length(_ node: DataNode, _ key: String) throws(LayoutError) -> Length {
    try parsed(node, key, "a length such as 12, 25%, 1/3, 0.6gu or 100% - 1.2gu") { Length(text: $0) }
  }

  /// A length that isn't negative.
  func distance(_ node: DataNode, _ key: String) throws(LayoutError) -> Length {
    let value = try length(node, key)
    guard value.pixels >= 0, value.millionths >= 0, value.milliUnits >= 0 else {
      throw error(node, "'\(key)' must not be negative")
    }
    return value
  }

  func color(_ node: DataNode, _ key: String) throws(LayoutError) -> RGBColor {
    try parsed(node, key, "a colour such as \"#1b1d22\" (in quotes), black or white") { RGBColor(text: $0) }
  }

  func opacity(_ node: DataNode) throws(LayoutError) -> UInt8 {
    try parsed(node, "opacity", "a share such as 80%") { text in
      if text.hasSuffix("/255") { return UInt8(text.dropLast(4)) }
      guard text.hasSuffix("%"), let percent = Length.decimal(text.dropLast(), digits: 0), percent <= 100 else {
        return nil
      }
      return UInt8((percent * 255 + 50) / 100)
    }
  }

  func duration(_ node: DataNode, _ key: String, _ expected: String) throws(LayoutError) -> Duration {
    try parsed(node, key, expected) { try? Values.duration($0) }
  }

  func words(
    _ node: DataNode, _ key: String, longest: Int, mayBeEmpty: Bool = false
  ) throws(LayoutError) -> String {
    guard let text = node.text else { throw error(node, "'\(key)' takes a text") }
    guard !text.isEmpty || mayBeEmpty else { throw error(node, "'\(key)' is empty") }
    guard text.unicodeScalars.count <= longest else {
      throw error(node, "'\(key)' is longer than \(longest) characters")
    }
    return text
  }

  /// The path of a picture; a relative one begins at the layout's folder.
  func path(_ node: DataNode) throws(LayoutError) -> String {
    let text = try words(node, "image", longest: 4096)
    guard !text.unicodeScalars.contains("\0") else { throw error(node, "'image' is not a path") }
    return text.hasPrefix("/") ? text : folder + text
  }
}
