import ArgumentParser
import Foundation

@testable import recbot

/// The project's folder, and texts in it.
enum Project {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The files below a folder with one of some endings, as paths in the project.
  static func files(in folder: String, endings: [String]) -> [String] {
    let base = root.appending(path: folder)
    let all = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
    return all.filter { path in endings.contains { path.hasSuffix($0) } }.sorted().map { "\(folder)/\($0)" }
  }
}

/// Every match of a pattern in a text: its first group, or the whole.
func matches(_ pattern: String, in text: String) throws -> [String] {
  let expression = try NSRegularExpression(pattern: pattern, options: [.anchorsMatchLines])
  return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).compactMap { match in
    Range(match.range(at: match.numberOfRanges > 1 ? 1 : 0), in: text).map { String(text[$0]) }
  }
}

/// The command line that recbot understands.
enum CommandLineReader {
  /// Why recbot would refuse these arguments before it does anything; nil when it takes them.
  ///
  /// The command that they name reads them by itself: a debug build looks through all commands below the root each time.
  static func complaint(_ arguments: [String]) -> String? {
    var command: any ParsableCommand.Type = Recbot.self
    var left = arguments[...]
    while let name = left.first, let next = command.configuration.subcommands.first(where: { $0._commandName == name })
    {
      command = next
      left = left.dropFirst()
    }
    do {
      _ = try command.parseAsRoot(Array(left))
      return nil
    } catch {
      // Help and version are no complaints.
      return Recbot.exitCode(for: error) == .success ? nil : Recbot.message(for: error)
    }
  }

  /// The long flags of all commands.
  static func flags() -> Set<String> {
    Set(((try? matches(#""name"\s*:\s*"([a-z0-9-]+)""#, in: Recbot._dumpHelp())) ?? []).map { "--\($0)" })
  }

  /// A shell's words of one line: quotes are taken off, nothing is filled in.
  static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    var isWord = false
    for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word.append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        isWord = true
      } else if character == " " {
        if isWord { words.append(word) }
        (word, isWord) = ("", false)
      } else {
        word.append(character)
        isWord = true
      }
    }
    if isWord { words.append(word) }
    return words
  }
}
