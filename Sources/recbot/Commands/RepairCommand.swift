import ArgumentParser
import Glibc
import MediaCore
import Platform
import Session
import Settings
import WebM

/// `recbot repair`: killed and damaged files become files that seek.
struct RepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair", abstract: "Gives killed and damaged WebM files their length, index and chapters.",
    discussion: """
      Works in the file itself: media that can be read is not moved or changed, and a crash at any moment leaves a \
      file that plays as before. What cannot be read becomes an empty element; what lies before and \
      behind it is kept. A file that needs nothing is not touched. Files of other programs may need --output.

        recbot repair talk.webm
      """)

  @Argument(help: "The files.")
  var files: [String]

  @Flag(help: "Only say what is missing or damaged; exit code 51 when there is something.")
  var check = false

  @Option(help: ArgumentHelp("Write a repaired copy there, and leave the file alone.", valueName: "file"))
  var output: String?

  @Option(
    help: ArgumentHelp(
      "The recording's timeline (--timeline of `recbot join`), from which its chapters are made.", valueName: "file"))
  var timeline: String?

  @Option(
    help: ArgumentHelp("What begins a chapter, as for `recbot join`; with --timeline.", valueName: "level"))
  var chapters = ChapterDetail.marks.rawValue

  @Flag(help: "Print a line of JSON for each file.")
  var json = false

  func run() async throws {
    guard files.count == 1 || output == nil && timeline == nil else {
      throw Failure(.usage, "--output and --timeline are for one file, not for \(files.count)")
    }
    guard !check || output == nil else { throw Failure(.usage, "--check writes nothing; leave --output out") }
    if let output { try OutputPath.check(output, endings: [".webm", ".mkv"]) }
    let detail: ChapterDetail
    do throws(ValueError) {
      detail = try Values.word(chapters, ChapterDetail.what)
    } catch {
      throw Failure(.usage, "--chapters: \(error)")
    }
    let chapters = try timeline.map { try Self.chapters($0, detail) } ?? []
    var worst: ExitCode?
    for file in files {
      do {
        // Reading and writing files may block, and the cooperative threads are few.
        let report = try await BlockingWork.run { try work(on: file, chapters) }
        Console.print(json ? Self.jsonLine(report) : RepairText(report, isCheck: check).line)
        if check, report.needsRepair { worst = worst ?? .incomplete }
      } catch let error as WebMError {
        Console.error("recbot: \(PeerText.line(error.description, limit: 2000))")
        if json {
          Console.print("{\"file\":\(JSONText.quoted(file)),\"error\":\(JSONText.quoted(error.description))}")
        }
        worst = worst ?? exitCode(error)
      }
    }
    if let worst { throw ArgumentParser.ExitCode(worst.rawValue) }
  }

  private func work(on file: String, _ chapters: [WebMRepair.Chapter]) throws -> WebMRepair.Report {
    if check { return try WebMRepair.examine(file, chapters: chapters) }
    return try WebMRepair.repair(file, output: output, chapters: chapters, now: WallClock.nanoseconds)
  }

  private func exitCode(_ error: WebMError) -> ExitCode {
    switch error.code {
    case .exists where error.path == output: .outputExists
    case .write, .full, .sync: .outputNotWritable
    case .open where error.path == output: .outputNotWritable
    default: .inputUnusable
    }
  }

  // MARK: - Chapters

  /// Reads a timeline line by line; a line that a kill cut off is none.
  private static func chapters(_ path: String, _ detail: ChapterDetail) throws -> [WebMRepair.Chapter] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw Failure(.inputUnusable, "--timeline \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var maker = ChapterMaker(detail)
    var chapters: [WebMRepair.Chapter] = []
    func add(_ found: [TimelineChapter]) {
      chapters += found.map { WebMRepair.Chapter(start: $0.start, title: $0.title) }
    }
    var line: [UInt8] = []
    var last: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.inputUnusable, "--timeline \(path): \(String(cString: strerror(errno)))")
      }
      guard count > 0, chapters.count < 10_000 else {
        add(maker.finish(lastLine: last))
        return chapters
      }
      for byte in chunk[..<count] {
        if byte != 10 {
          // What is longer is no line of a timeline; it is read to its end, and nothing of it kept.
          if line.count <= ChapterMaker.longestLine { line.append(byte) }
          continue
        }
        add(maker.take(line: line))
        swap(&line, &last)
        line.removeAll(keepingCapacity: true)
      }
    }
  }

  // MARK: - Texts

  private static func jsonLine(_ report: WebMRepair.Report) -> String {
    func microseconds(_ time: SessionTime?) -> String { time.map { "\($0.nanoseconds / 1000)" } ?? "null" }
    let holes = report.holes.map {
      "{\"position\":\($0.position),\"length\":\($0.length),\"start\":\(microseconds($0.before)),"
        + "\"end\":\(microseconds($0.after))}"
    }
    let parts = report.parts.map { JSONText.quoted($0.rawValue) }
    return "{\"file\":\(JSONText.quoted(report.path)),\"needs_repair\":\(report.needsRepair),"
      + "\"repaired\":\(report.repaired.map(JSONText.quoted) ?? "null"),"
      + "\"obstacle\":\(report.obstacle.map(JSONText.quoted) ?? "null"),\"duration\":\(report.duration.microseconds),"
      + "\"frames\":\(report.frames),\"cues\":\(report.cues),\"missing\":[\(parts.joined(separator: ","))],"
      + "\"head_damage\":\(report.headDamage.map { "\($0)" } ?? "null"),"
      + "\"holes\":[\(holes.joined(separator: ","))],\"cut\":\(report.tail)}"
  }
}

/// A report in one line for people.
private struct RepairText {
  private static let holesNamed = 3
  let line: String

  init(_ report: WebMRepair.Report, isCheck: Bool) {
    let what =
      if !report.needsRepair {
        "needs no repair"
      } else if let copy = report.repaired {
        copy == report.path ? "repaired" : "repaired copy in \(copy)"
      } else {
        "needs repair"
      }
    var facts = [TimeText.length(report.duration.microseconds), "\(report.cues) cues"]
    if isCheck, !report.parts.isEmpty {
      facts.append("missing or wrong: " + report.parts.map(Self.name).joined(separator: ", "))
    }
    for hole in report.holes.prefix(Self.holesNamed) { facts.append(Self.text(hole)) }
    if report.holes.count > Self.holesNamed { facts.append("\(report.holes.count - Self.holesNamed) more holes") }
    if report.tail > 0 {
      let isCut = report.repaired != nil
      facts.append(
        "the last \(report.tail) bytes, from byte \(report.size - report.tail), "
          + (isCut ? "could not be read and were cut off" : "cannot be read"))
    }
    if let place = report.headDamage { facts.append("its head is damaged at byte \(place), which stays so") }
    if isCheck, let obstacle = report.obstacle { facts.append("\(obstacle), so it needs --output") }
    line = "\(report.path): \(what): \(facts.joined(separator: ", "))"
  }

  private static func text(_ hole: WebMRepair.Hole) -> String {
    func time(_ time: SessionTime?) -> String { time.map { TimeText.length($0.nanoseconds / 1000) } ?? "…" }
    return "hole of \(hole.length) bytes at byte \(hole.position) (\(time(hole.before))-\(time(hole.after)))"
  }

  private static func name(_ part: WebMRepair.Part) -> String {
    switch part {
    case .segmentSize: "Segment size"
    case .clusterSizes: "sizes of Clusters"
    case .duration: "Duration"
    case .cues: "Cues"
    case .seekHead: "SeekHead"
    case .chapters: "Chapters"
    }
  }
}
