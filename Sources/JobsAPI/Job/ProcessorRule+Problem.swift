import MediaCore

extension ProcessorRule {
  /// The longest text of a rule that is kept, in bytes of UTF-8: a person's name and what is done.
  private static let longest = 512

  /// What is wrong with a text as a rule, in one line; nil: nothing.
  static func problem(with text: String) -> String? {
    guard text.utf8.count <= longest, !text.hasControlCharacters else {
      return "at most \(longest) bytes, no control characters"
    }
    do throws(TextError) {
      _ = try ProcessorRule(text: text)
      return nil
    } catch {
      return error.description
    }
  }
}
