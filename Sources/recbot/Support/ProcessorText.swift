import MediaCore
import Session
import Settings

/// What is done to whose pictures and sound, as flags, files and commands say it.
enum ProcessorText {
  /// So many rules at most.
  static let most = 256

  /// Reads `PERSON=PROCESSOR,PROCESSOR`.
  static func rule(_ text: String) throws(ValueError) -> ProcessorRule {
    // A name may have an equals sign in it, a processor has none.
    guard let equals = text.lastIndex(of: "=") else {
      throw ValueError(
        "'\(RoomText.oneLine(text, limit: 80))' is not PERSON=PROCESSOR, such as 'Ann Lee=pixelate,voice-mask'")
    }
    let words = text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false).map {
      String(trimming: $0)
    }
    return try rule(String(trimming: text[..<equals]), words)
  }

  /// Reads whom a rule means, and what is done.
  static func rule(_ person: String, _ words: [String]) throws(ValueError) -> ProcessorRule {
    guard let selector = PersonSelector(person) else {
      throw ValueError(
        "'\(RoomText.oneLine(person, limit: 80))' means nobody: an identity, a name, attribute:KEY=VALUE or *")
    }
    do throws(TrackProcessors.WordError) {
      return ProcessorRule(selector, try TrackProcessors(words: words))
    } catch {
      throw problem(error)
    }
  }

  /// Reads rules that are separated by semicolons.
  static func rules(_ text: String) throws(ValueError) -> [ProcessorRule] {
    let parts = text.split(separator: ";").map { String(trimming: $0) }.filter { !$0.isEmpty }
    guard parts.count <= most else { throw ValueError("there are more than \(most) processors") }
    var rules: [ProcessorRule] = []
    for part in parts { rules.append(try rule(part)) }
    return rules
  }

  private static func problem(_ error: TrackProcessors.WordError) -> ValueError {
    switch error {
    case .unknown(let word): Values.noWord(RoomText.oneLine(word, limit: 80), "processor", among: TrackProcessors.known)
    case .both(let one, let other):
      ValueError("'\(one)' and '\(other)' cannot be together: one for pictures, one for sound")
    case .none:
      ValueError(
        "a processor is missing, or 'none' stands beside another: known are \(TrackProcessors.known.joined(separator: ", "))"
      )
    }
  }
}

extension String {
  /// A text without the spaces at its ends.
  fileprivate init(trimming text: Substring) {
    let start = text.drop { $0 == " " }
    self = String(start[..<(start.lastIndex { $0 != " " }.map { start.index(after: $0) } ?? start.startIndex)])
  }
}
