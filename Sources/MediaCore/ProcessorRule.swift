/// What is done to the pictures and the sound of somebody. Its text is that of flags, files, commands and requests.
public struct ProcessorRule: Hashable, Sendable, CustomStringConvertible {
  /// A recording has so many at most.
  public static let most = 256

  /// Whose.
  public var selector: PersonSelector
  /// What.
  public var processors: TrackProcessors

  /// Makes a rule; see the properties.
  public init(_ selector: PersonSelector, _ processors: TrackProcessors) {
    self.selector = selector
    self.processors = processors
  }

  /// Why a text is no rule: one line that quotes it, fit to be shown.
  public struct TextError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line.
    public let description: String
  }

  /// Reads `PERSON=PROCESSOR,PROCESSOR`, such as `Ann Lee=pixelate,voice-mask`.
  public init(text: String) throws(TextError) {
    // A name may have an equals sign in it, a processor has none.
    guard let equals = text.lastIndex(of: "=") else {
      throw TextError(
        description:
          "'\(PeerText.line(text, limit: 80))' is not PERSON=PROCESSOR, such as 'Ann Lee=pixelate,voice-mask'")
    }
    let words = text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false)
    try self.init(person: Self.trimmed(text[..<equals]), words: words.map(Self.trimmed))
  }

  /// Reads whom a rule means (`PersonSelector`), and what is done (`TrackProcessors`).
  public init(person: String, words: [String]) throws(TextError) {
    guard let selector = PersonSelector(person) else {
      throw TextError(
        description:
          "'\(PeerText.line(person, limit: 80))' means nobody: an identity, a name, attribute:KEY=VALUE or *")
    }
    do throws(TrackProcessors.WordError) {
      self.init(selector, try TrackProcessors(words: words))
    } catch {
      throw TextError(description: Self.reason(of: error))
    }
  }

  private static func reason(of error: TrackProcessors.WordError) -> String {
    let known = TrackProcessors.known
    switch error {
    case .unknown(let word):
      return "there is no processor '\(PeerText.line(word, limit: 80))'\(Spelling.hint(for: word, among: known))"
    case .both(let one, let other):
      return "'\(one)' and '\(other)' cannot be together: one for pictures, one for sound"
    case .none:
      return "a processor is missing, or 'none' stands beside another: known are \(known.joined(separator: ", "))"
    }
  }

  /// A text without the spaces at its ends.
  static func trimmed(_ text: some StringProtocol) -> String {
    let start = text.drop { $0 == " " }
    return String(start[..<(start.lastIndex { $0 != " " }.map { start.index(after: $0) } ?? start.startIndex)])
  }

  /// Reads rules with semicolons between them; at most `most`.
  public static func list(_ text: String) throws(TextError) -> [ProcessorRule] {
    let parts = text.split(separator: ";").map(trimmed).filter { !$0.isEmpty }
    guard parts.count <= most else { throw TextError(description: "there are more than \(most) processors") }
    var rules: [ProcessorRule] = []
    for part in parts { rules.append(try ProcessorRule(text: part)) }
    return rules
  }

  /// `ann=pixelate,voice-mask`.
  public var description: String { "\(selector)=\(processors)" }
}
