/// Whom a rule means.
public enum PersonSelector: Hashable, Sendable, CustomStringConvertible {
  /// All people.
  case everybody
  /// One with this identity or display name; names count without regard to capitals.
  case person(String)
  /// All of whom the application says this (`Participant.attributes`), as long as it does.
  case attribute(key: String, value: String)

  private static let attributePrefix = "attribute:"

  /// Reads `*`, `attribute:KEY=VALUE`, or an identity or display name; nil for no text and for an attribute without a key.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.attributePrefix) else {
      guard !text.isEmpty else { return nil }
      self = text == "*" ? .everybody : .person(text)
      return
    }
    let rest = text.dropFirst(Self.attributePrefix.count)
    guard let equals = rest.firstIndex(of: "="), equals != rest.startIndex else { return nil }
    self = .attribute(key: String(rest[..<equals]), value: String(rest[rest.index(after: equals)...]))
  }

  /// As it is read.
  public var description: String {
    switch self {
    case .everybody: "*"
    case .person(let text): text
    case .attribute(let key, let value): "\(Self.attributePrefix)\(key)=\(value)"
    }
  }
}
