import MediaCore

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

  /// Whether it means somebody as they are now.
  func means(_ participant: Participant) -> Bool {
    switch self {
    case .everybody: true
    case .person(let text):
      participant.identity.rawValue == text || participant.displayName.lowercased() == text.lowercased()
    case .attribute(let key, let value): participant.attributes[key] == value
    }
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

/// What is done to the pictures and the sound of somebody.
public struct ProcessorRule: Hashable, Sendable, CustomStringConvertible {
  /// Whose.
  public var selector: PersonSelector
  /// What.
  public var processors: TrackProcessors

  /// Makes a rule; see the properties.
  public init(_ selector: PersonSelector, _ processors: TrackProcessors) {
    self.selector = selector
    self.processors = processors
  }

  /// `ann=pixelate,voice-mask`.
  public var description: String { "\(selector)=\(processors)" }
}
