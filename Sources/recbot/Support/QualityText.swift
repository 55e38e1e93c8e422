import Glibc
import Recording

/// The report of `recbot probe --quality`.
enum QualityText {
  /// Tracks that are told one by one; those behind them are the best.
  private static let mostTracks = 200

  /// Reads a manifest. What is none gives one line and the exit code of unusable input.
  static func read(_ path: String) throws -> QualityReport {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else {
      let hint = errno == ENOENT ? "; it is written with --manifest of `recbot join`, or given with --manifest" : ""
      throw Failure(.inputUnusable, "the manifest \(path): \(String(cString: strerror(errno)))\(hint)")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure(.inputUnusable, "the manifest \(path) is not a file")
    }
    guard status.st_size <= QualityReport.longest else {
      throw Failure(.inputUnusable, "the manifest \(path) is too long: more than \(QualityReport.longest >> 20) MiB")
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      count += got
    }
    do {
      return try QualityReport(Array(bytes.prefix(count)))
    } catch {
      throw Failure(.inputUnusable, "the manifest \(path): \(error)")
    }
  }

  /// The lines of a report. What the document says is made safe for a terminal.
  static func lines(_ report: QualityReport) -> [String] {
    var lines = [
      RoomText.oneLine(
        "\(report.title.isEmpty ? "RoomRecording" : report.title), \(report.start), \(QualityReport.clock(report.length)) long",
        limit: 200)
    ]
    lines += report.remarks.map { RoomText.oneLine("! \($0)", limit: 400) }
    var people = Table("PERSON", "NAME", "THERE", "TALKED")
    for person in report.people.prefix(mostTracks) {
      people.add(
        person.identity, person.name, QualityReport.clock(person.present), QualityReport.clock(person.talked))
    }
    lines += [""] + people.lines
    lines += more(report.people.count, "people")
    var tracks = Table("PERSON", "TRACK", "CODEC", "LOST", "REPAIRED", "WORST AT", "JUDGEMENT")
    for track in report.tracks.prefix(mostTracks) {
      tracks.add(
        track.participant, track.source, track.codec, track.lost.map { share($0) } ?? "?",
        track.repaired.map { "\($0)" } ?? "?", track.worstAt.map(QualityReport.clock) ?? "", track.judgement)
    }
    lines += [""] + tracks.lines
    lines += more(report.tracks.count, "tracks")
    let noticed = report.tracks.count { $0.grade != .clean }
    let verdict =
      report.tracks.isEmpty
      ? "There were no tracks."
      : noticed == 0 ? "All tracks are clean." : "\(noticed) of \(report.tracks.count) tracks were not clean."
    return lines + ["", verdict]
  }

  private static func share(_ lost: Int) -> String { lost == 0 ? "0" : QualityReport.percent(Int64(lost)) }

  private static func more(_ count: Int, _ what: String) -> [String] {
    count > mostTracks ? ["… and \(count - mostTracks) more \(what)"] : []
  }
}
