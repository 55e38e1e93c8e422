import Settings

@testable import recbot

/// What the shipped files say of the settings.
enum SettingTexts {
  /// Where comments begin, and where lines end.
  private static let (column, width) = (34, 120)

  /// `Config/recbot.yaml`.
  static var file: String {
    var lines = [
      "# recbot's settings. Flags go first, then the environment, then this file; what is set nowhere has the value shown here,",
      "# unless its line names another default. `recbot config check` checks a file, and shows what is in force.",
      "# recbot reads the first that exists of: --config FILE, RECBOT_CONFIG, Config/recbot.yaml, /etc/recbot/recbot.yaml.",
      "# Keep secrets out of files that others can read: the environment variables named below serve as well.",
    ]
    for section in SettingSection.all {
      lines.append("")
      if let comment = section.comment { lines.append("# \(comment)") }
      lines.append("\(section.name):")
      for setting in section.settings { lines += self.lines(setting) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A section as a table of the documentation.
  static func table(_ section: SettingSection) -> String {
    let rows = section.settings.map { "| `\($0.key)` | `\($0.example)` | \($0.help) |\n" }
    return "| key | default | meaning |\n| --- | --- | --- |\n" + rows.joined()
  }

  /// A setting with its value, which is no more than a comment, and what it is.
  private static func lines(_ setting: AnySetting) -> [String] {
    // A brace would begin a mapping.
    let value = setting.example.hasPrefix("{") ? "\"\(setting.example)\"" : setting.example
    var line = "  # \(setting.key): \(value) "
    line += String(repeating: " ", count: max(1, column - line.count)) + "#"
    var lines: [String] = []
    for word in comment(setting).split(separator: " ") {
      if line.count + 1 + word.count > width {
        lines.append(line)
        line = "  #" + String(repeating: " ", count: column - 2)
      }
      line += " \(word)"
    }
    return lines + [line]
  }

  private static func comment(_ setting: AnySetting) -> String {
    let names = setting.variables.joined(separator: " or ") + (setting.flag.map { ", \($0)" } ?? "")
    // Only a plain word is written small here: no abbreviation, and no name with capitals in it.
    let isPlain = setting.help.dropFirst().prefix { $0 != " " }.allSatisfy { !$0.isUppercase }
    let first = String(setting.help.prefix(1))
    let help = (isPlain ? first.lowercased() : first) + setting.help.dropFirst()
    return "\(names): \(help)" + (setting.otherwise.map { "; default \($0)" } ?? "")
  }
}
