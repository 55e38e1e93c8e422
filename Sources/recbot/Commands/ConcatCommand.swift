import ArgumentParser
import JobsAPI
import MediaCore
import Platform
import Settings
import WebM

/// `recbot concat`: parts of a recording become one file.
struct ConcatCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "concat", abstract: "Joins the parts of a recording into one file, without decoding them.",
    discussion: """
      Parts may have been cut off by a crash. What lies between two of them is shown: a slate that says when there was no \
      picture, silence of the same length, and a chapter. When each part began is read from the file, or given with \
      --start; --gap says instead how long all gaps are. All parts must have the same picture size and tracks.

        recbot concat talk.webm talk-1.webm talk-2.webm
        recbot concat talk.webm talk-1.webm talk-2.webm --manifest talk.json
      """)

  @Argument(help: "The file to write, which must not exist.")
  var output: String

  @Argument(help: "The parts, in order.")
  var parts: [String]

  @Option(
    help: ArgumentHelp(
      "So long is every gap, whatever the dates say; 0: none.", valueName: "time"))
  var gap: String?

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp(
      "When each part began (RFC 3339), in their order, instead of what the files say.", valueName: "time"))
  var start: [String] = []

  @Option(
    help: ArgumentHelp(
      "Also join the parts' manifests, which are beside them (talk-1.json of talk-1.webm), into this one.",
      valueName: "file.json"))
  var manifest: String?

  @Option(
    help: ArgumentHelp(
      "Also join the parts' files of who talks when (talk-1.talkers.vtt of talk-1.webm) into this one.",
      valueName: "file.vtt"))
  var talkers: String?

  @Flag(help: "Print JSON: a line of progress each second on standard error, the result on standard output.")
  var json = false

  @OptionGroup var shared: SharedOptions

  func run() async throws {
    guard start.isEmpty || start.count == parts.count else {
      throw Failure(.usage, "--start: \(start.count) times for \(parts.count) parts; give one for each part")
    }
    let starts = try start.map { text in
      guard let time = Timestamp(text), abs(time.microseconds) < Int64.max / 1000 else {
        throw Failure(.usage, "--start: '\(text)' is not a time such as 2026-11-21T14:30:00Z")
      }
      return time.microseconds * 1000
    }
    let spacing: Concatenation.Spacing = try gap.map { .fixed(try SharedOptions.duration($0, "--gap")) } ?? .dates
    try OutputPath.check(output, flag: "the output's name")
    if let manifest { try OutputPath.check(manifest, endings: [".json"], flag: "--manifest") }
    if let talkers { try OutputPath.check(talkers, endings: [".vtt"], flag: "--talkers") }
    let parts = parts.enumerated().map { index, path in
      Concatenation.Part(path: path, start: starts.isEmpty ? nil : starts[index])
    }
    // Reading and writing files may block, and the cooperative threads are few.
    let summary = try await BlockingWork.run { try join(parts, spacing) }
    report(summary)
  }

  private func join(_ parts: [Concatenation.Part], _ spacing: Concatenation.Spacing) throws -> Concatenation.Summary {
    let joined: Concatenation
    do {
      joined = try Concatenation(parts, spacing: spacing)
    } catch {
      throw Failure(.inputUnusable, error.description)
    }
    var news = ConcatProgress(total: joined.size, isJSON: json)
    do {
      let summary = try joined.write(
        to: output,
        slate: { gap in
          guard let video = joined.configuration.video else { return [] }
          return try Slate.frames(for: gap, video: video)
        }, progress: { news.tell($0) })
      news.end()
      let besides = JoinedBesides(manifest: manifest, talkers: talkers)
      let settings = joined.configuration
      for fault in besides.write(summary, of: output, title: settings.title, date: settings.date) {
        Console.error("recbot: \(fault)")
      }
      return summary
    } catch let error as WebMError {
      news.end()
      let isInput = error.path != output
      throw Failure(
        isInput ? .inputUnusable : error.code == .exists ? .outputExists : .outputNotWritable, error.description)
    }
  }

  private func report(_ summary: Concatenation.Summary) {
    for path in summary.skipped { Console.error("recbot: \(path): no frame in it; left out") }
    for part in summary.parts where part.overlap >= .milliseconds(1) {
      Console.error(
        "recbot: \(part.path): by its date it begins \(part.overlap.inSeconds) s before the part before it ends; joined without a gap"
      )
    }
    if json {
      Console.print(jsonLine(summary))
    } else {
      let file = summary.file
      let gaps =
        summary.gaps.isEmpty ? "no gap" : summary.gaps.map { "gap \($0.start)-\($0.end) s" }.joined(separator: ", ")
      let length = "\(file.duration.inSeconds) s, \(file.size) bytes"
      Console.print("\(output): \(length), parts: \(summary.parts.count), \(gaps)")
    }
  }

  private func jsonLine(_ summary: Concatenation.Summary) -> String {
    func microseconds(_ time: SessionTime) -> Int64 { time.nanoseconds / 1000 }
    let parts = summary.parts.map { part in
      "{\"path\":\(JSONText.quoted(part.path)),\"start\":\(microseconds(part.start)),\"end\":\(microseconds(part.end)),"
        + "\"frames\":\(part.frames),\"whole\":\(part.isWhole)}"
    }
    let gaps = summary.gaps.map { "{\"start\":\(microseconds($0.start)),\"end\":\(microseconds($0.end))}" }
    let skipped = summary.skipped.map(JSONText.quoted)
    return "{\"file\":\(JSONText.quoted(output)),\"size\":\(summary.file.size),"
      + "\"duration\":\(summary.file.duration.microseconds),\"parts\":[\(parts.joined(separator: ","))],"
      + "\"gaps\":[\(gaps.joined(separator: ","))],\"skipped\":[\(skipped.joined(separator: ","))]}"
  }
}

/// How far `recbot concat` is, on standard error: a line that is written over on a terminal, or JSON.
private struct ConcatProgress {
  let total: Int64
  let isJSON: Bool
  private var told: Int64 = 0
  private var hasLine = false

  init(total: Int64, isJSON: Bool) {
    self.total = total
    self.isJSON = isJSON
  }

  mutating func tell(_ bytes: Int64) {
    guard isJSON || Console.errorIsTerminal else { return }
    let milliseconds = MonotonicClock.now.nanoseconds / 1_000_000
    guard milliseconds - told >= (isJSON ? 1000 : 200) else { return }
    told = milliseconds
    if isJSON {
      Console.error("{\"read\":\(bytes),\"of\":\(total)}")
    } else {
      Console.errorText("\r\(total > 0 ? min(100, bytes * 100 / total) : 100) %")
      hasLine = true
    }
  }

  mutating func end() {
    if hasLine { Console.errorText("\r     \r") }
    hasLine = false
  }
}
