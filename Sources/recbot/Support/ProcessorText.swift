import MediaCore
import Settings

/// What is done to whose pictures and sound (`ProcessorRule`), with the errors of flags, files and commands.
enum ProcessorText {
  /// Reads `PERSON=PROCESSOR,PROCESSOR`.
  static func rule(_ text: String) throws(ValueError) -> ProcessorRule {
    try read { () throws(ProcessorRule.TextError) in try ProcessorRule(text: text) }
  }

  /// Reads whom a rule means, and what is done.
  static func rule(_ person: String, _ words: [String]) throws(ValueError) -> ProcessorRule {
    try read { () throws(ProcessorRule.TextError) in try ProcessorRule(person: person, words: words) }
  }

  /// Reads rules that are separated by semicolons.
  static func rules(_ text: String) throws(ValueError) -> [ProcessorRule] {
    try read { () throws(ProcessorRule.TextError) in try ProcessorRule.list(text) }
  }

  private static func read<Value>(
    _ body: () throws(ProcessorRule.TextError) -> Value
  ) throws(ValueError) -> Value {
    do throws(ProcessorRule.TextError) {
      return try body()
    } catch {
      throw ValueError(error.description)
    }
  }
}
