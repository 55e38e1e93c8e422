import MediaCore
import Session

/// The file with what people wrote and said: chat, captions, and in the JSON form also data messages. Each entry is
/// written at once and never changed. Confined to the recording's thread.
final class Transcript {
  /// How it is written, by the file name's ending.
  enum Format: String, CaseIterable {
    /// A JSON object a line.
    case jsonl
    /// SubRip subtitles.
    case srt
    /// WebVTT (W3C).
    case vtt

    /// Nil for an ending that is not known.
    init?(path: String) {
      guard let dot = path.lastIndex(of: ".") else { return nil }
      self.init(rawValue: path[path.index(after: dot)...].lowercased())
    }
  }

  private let file: LineFile
  private let format: Format
  private var cues = Cues()

  /// Creates the file, which must not exist.
  init(creating path: String) throws(RecordingError) {
    guard let format = Format(path: path) else {
      throw RecordingError.output("transcript \(path): the name must end in .jsonl, .srt or .vtt")
    }
    self.format = format
    file = try LineFile(creating: path)
    if format == .vtt { file.append("WEBVTT\n") }
  }

  /// True once something could not be written: the disk is full, for example.
  var isBroken: Bool { file.isBroken }

  /// Writes an entry; what is no message is left out.
  func append(_ entry: TimelineEntry, startDate: Int64) {
    switch format {
    case .jsonl:
      // Interim captions are there only to tell when the speech began.
      if case .caption(let caption, _) = entry.event, !caption.isFinal {
        cues.begin(caption, at: entry.time)
        return
      }
      file.append(entry.json(startDate: startDate, begins: cues.beginning(of: entry)))
    case .srt, .vtt:
      guard let cue = cues.cue(for: entry) else { return }
      file.append(format == .srt ? cue.srt : cue.vtt)
    }
  }
}

/// One subtitle.
struct Cue: Hashable {
  /// Counted from 1.
  var number: Int
  /// When it is shown, in the file.
  var start: SessionTime
  /// Until when.
  var end: SessionTime
  /// Who wrote or spoke; may be empty.
  var name: String
  /// Lines of text, none of them empty.
  var lines: [String]

  /// As SubRip has it, with the empty line that ends it. SubRip knows no escapes: what players take for markup is
  /// written with signs that look alike.
  var srt: String {
    let words = name.isEmpty ? lines : [name + ": " + lines[0]] + lines.dropFirst()
    let plain = words.map { line in
      line.replacing("-->", with: "→").replacing("<", with: "‹").replacing(">", with: "›").replacing("{\\", with: "{/")
    }
    return "\(number)\n\(Self.clock(start, ",")) --> \(Self.clock(end, ","))\n\(plain.joined(separator: "\n"))\n"
  }

  /// As WebVTT has it (section 4.1), with the empty line that ends it.
  var vtt: String {
    let words = lines.map(Self.escaped).joined(separator: "\n")
    let voice = name.isEmpty ? "" : "<v \(Self.escaped(name))>"
    return "\(Self.clock(start, ".")) --> \(Self.clock(end, "."))\n\(voice)\(words)\n"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// `01:02:03.004`.
  static func clock(_ time: SessionTime, _ mark: String) -> String {
    let total = max(0, time.milliseconds)
    func digits(_ value: Int64, _ count: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let seconds = total / 1000
    return "\(digits(seconds / 3600, 2)):\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2))\(mark)"
      + digits(total % 1000, 3)
  }
}

/// Makes subtitles of messages.
struct Cues {
  /// Stretches of speech whose beginning is remembered.
  private static let limit = 256
  /// Characters and lines of one subtitle.
  private static let longestText = 600
  private static let mostLines = 8

  private var number = 0
  private var lastStart = SessionTime.zero
  private var beginnings: [(id: String, time: SessionTime)] = []

  /// Speech began, or goes on.
  mutating func begin(_ caption: Caption, at time: SessionTime) {
    let id = Self.id(caption)
    guard !beginnings.contains(where: { $0.id == id }) else { return }
    if beginnings.count >= Self.limit { beginnings.removeFirst() }
    beginnings.append((id, time))
  }

  /// When the speech of a caption began; the time of the entry for everything else.
  mutating func beginning(of entry: TimelineEntry) -> SessionTime {
    guard case .caption(let caption, _) = entry.event else { return entry.time }
    let id = Self.id(caption)
    guard let index = beginnings.firstIndex(where: { $0.id == id }) else { return entry.time }
    return beginnings.remove(at: index).time
  }

  /// The subtitle of an entry; nil for what is none.
  mutating func cue(for entry: TimelineEntry) -> Cue? {
    var begins = entry.time
    let shown: (words: String, name: String)
    switch entry.event {
    case .chat(let chat, let name):
      // What stands in the file can't be taken back; what was meant is said by the JSON form.
      guard chat.action != .deleted else { return nil }
      shown = (chat.text, chat.action == .edited ? name + " (edited)" : name)
    case .caption(let caption, let name):
      guard caption.isFinal else {
        begin(caption, at: entry.time)
        return nil
      }
      begins = beginning(of: entry)
      shown = (caption.text, name)
    default: return nil
    }
    let lines = Self.lines(shown.words)
    guard !lines.isEmpty else { return nil }
    number += 1
    // WebVTT wants the beginnings in order; a file that is only appended to gets them so.
    lastStart = max(lastStart, begins)
    let reading = Duration.milliseconds(min(8_000, 2_000 + 60 * Int64(lines.reduce(0) { $0 + $1.count })))
    let end = max(entry.time, lastStart + reading)
    return Cue(
      number: number, start: lastStart, end: end, name: Self.lines(shown.name).joined(separator: " "), lines: lines)
  }

  private static func id(_ caption: Caption) -> String { "\(caption.participant?.rawValue ?? "")\u{0}\(caption.id)" }

  /// Lines without control characters, and none of them empty, for an empty line ends a subtitle.
  static func lines(_ text: String) -> [String] {
    var lines: [String] = [""]
    for scalar in text.unicodeScalars.prefix(longestText) {
      switch scalar {
      case "\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}": lines.append("")
      case "\t": lines[lines.count - 1].append(" ")
      // What acts on a player or a terminal, or turns the direction of text around, is left out.
      case _ where PeerText.isActive(scalar): break
      default: lines[lines.count - 1].unicodeScalars.append(scalar)
      }
    }
    if text.unicodeScalars.count > longestText { lines[lines.count - 1].append("…") }
    return lines.map(trimmed).filter { !$0.isEmpty }.prefix(mostLines).map { $0 }
  }

  private static func trimmed(_ line: String) -> String {
    var rest = line[...]
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }
}
