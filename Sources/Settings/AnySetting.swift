/// A setting, whatever its values are. Two are the same when their names are.
public struct AnySetting: Sendable, Hashable {
  /// Section and key: `recording.fps`.
  public let name: String
  /// The section of the file that it stands in.
  public let section: String
  /// Its key in the section.
  public let key: String
  /// What it is: one sentence without its dot.
  public let help: String
  /// The option of the command line that sets it: `--fps`.
  public let flag: String?
  /// What stands for a value in the help of the flag.
  public let placeholder: String?
  /// The environment variables that set it, the strongest first.
  public let variables: [String]
  /// The default as one would write it; nil: none, or one that depends on other things.
  public let fallback: String?
  /// What happens when it is set nowhere and there is no default.
  public let otherwise: String?
  /// A value as one could write it.
  public let example: String
  /// True for what must never be shown.
  public let isSecret: Bool
  /// Throws when a text is no value of the setting. The error never repeats a secret.
  public let check: @Sendable (String) throws(ValueError) -> Void

  init(
    name: String, help: String, flag: String?, placeholder: String?, variables: [String]?, fallback: String?,
    otherwise: String?, example: String, isSecret: Bool, check: @escaping @Sendable (String) throws(ValueError) -> Void
  ) {
    self.name = name
    section = String(name.prefix { $0 != "." })
    key = String(name.dropFirst(section.count + 1))
    self.help = help
    self.flag = flag
    self.placeholder = placeholder
    self.variables = variables ?? [Self.variable(section: section, key: key)]
    self.fallback = fallback
    self.otherwise = otherwise
    self.example = example
    self.isSecret = isSecret
    self.check = check
  }

  /// The variable of a setting that no other program has a name for.
  private static func variable(section: String, key: String) -> String {
    // Other sections have such keys, too.
    let words = ["talker", "room-server", "worker"].contains(section) ? [section, key] : [key]
    return "RECBOT_" + words.joined(separator: "_").uppercased().replacing("-", with: "_")
  }

  /// Compares names.
  public static func == (a: AnySetting, b: AnySetting) -> Bool { a.name == b.name }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension AnySetting {
  /// A value as it may be shown: secrets as `****`, and the password in a URL too.
  public func shown(_ text: String) -> String { isSecret ? "****" : Self.masked(text) }

  /// A text without the passwords of the URLs in it: `postgres://user:****@host/name`, `…?password=****`.
  public static func masked(_ text: String) -> String {
    text.split(separator: ",", omittingEmptySubsequences: false).map { maskedURL(String($0)) }.joined(separator: ",")
  }

  private static func maskedURL(_ text: String) -> String {
    guard let scheme = text.firstRange(of: "://") else { return text }
    var rest = String(text[scheme.upperBound...])
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // A password may itself hold an at sign that nobody escaped: the last one counts.
    if let at = authority.lastIndex(of: "@"), let colon = authority.firstIndex(of: ":"), colon < at {
      rest = rest[..<colon] + ":****" + rest[at...]
    }
    guard let query = rest.firstIndex(of: "?") else { return text[..<scheme.upperBound] + rest }
    let parts = rest[rest.index(after: query)...].split(separator: "&", omittingEmptySubsequences: false).map { part in
      let name = part.prefix { $0 != "=" }
      let isOpen = !["password", "sslpassword", "token", "secret", "key", "signature"].contains(name.lowercased())
      return isOpen ? String(part) : "\(name)=****"
    }
    return text[..<scheme.upperBound] + rest[...query] + parts.joined(separator: "&")
  }
}
