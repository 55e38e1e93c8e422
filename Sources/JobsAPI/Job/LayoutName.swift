/// How callers name a layout. They know names only: what a worker's own settings may name besides, a file, is not theirs
/// to have opened.
public enum LayoutName {
  /// A layout's name without the theme that may stand after it: `grid` of `grid-light`.
  public static func withoutTheme(_ name: String) -> String {
    ["-dark", "-light"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
  }

  /// What is wrong with a name, in one line; nil: nothing.
  public static func problem(with name: String) -> String? {
    guard (1...256).contains(name.utf8.count) else { return "1 to 256 bytes" }
    let lower = name.lowercased()
    let isFile =
      name.unicodeScalars.contains { $0.value < 32 || $0 == "/" || $0 == "\\" } || lower.hasPrefix("twilio:")
      || [".yaml", ".yml", ".json"].contains { lower.hasSuffix($0) }
    return isFile ? "the name of a layout is expected, not a file" : nil
  }
}
