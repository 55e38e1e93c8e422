import LayoutFiles
import MediaCore
import Platform
import SessionLog
import Settings

/// Opens session logs for commands.
enum LogAccess {
  /// Opens a log.
  static func open(_ path: String) throws(Failure) -> SessionLogReader {
    do {
      return try SessionLogReader(path: path, layouts: layouts)
    } catch {
      throw Failure(error)
    }
  }

  /// Reads the layouts that stand in logs.
  static let layouts: LayoutTextReader = { name, text throws(LogError) in
    do throws(LayoutError) {
      return try LayoutReader.read(text, file: "the log's layout '\(PeerText.line(name, limit: 64))'", name: name)
    } catch {
      throw LogError(.notALog, error.description)
    }
  }

  /// Refuses identities that nobody in a log has: who was to be taken out and is not, because of a wrong letter, would be in
  /// the file. `flag` is what gives them.
  static func check(_ people: Set<ParticipantIdentity>, areIn log: String, _ flag: String) async throws {
    guard !people.isEmpty else { return }
    let report = try await BlockingWork.run { try LogReport(log) }
    let known = report.contents.people.map(\.identity)
    guard let stranger = people.subtracting(known).sorted().first else { return }
    let names = known.map { PeerText.line($0.rawValue, limit: 80) }.joined(separator: ", ")
    throw Failure(
      .usage,
      "\(flag): nobody in \(log) has the identity '\(PeerText.line(stranger.rawValue, limit: 80))'; there are: "
        + (names.isEmpty ? "nobody" : names))
  }

  /// Tells, on standard error, what of a log could not be used.
  static func tellDamage(_ reader: SessionLogReader) {
    for damage in reader.damages.prefix(20) { Console.error("recbot: \(damage)") }
    if reader.damages.count > 20 { Console.error("recbot: \(reader.damages.count - 20) more places are damaged") }
    if reader.unknown > 0 {
      Console.error("recbot: \(reader.unknown) records are of a later version of recbot, and were left out")
    }
  }
}

extension Failure {
  /// A session log cannot be written or read.
  init(_ error: LogError) {
    let code: ExitCode =
      switch error.reason {
      case .exists: .outputExists
      case .write: .outputNotWritable
      case .open, .read, .notALog, .newer, .busy: .inputUnusable
      }
    self.init(code, error.description)
  }
}
