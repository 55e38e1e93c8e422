import ArgumentParser
import MediaCore
import Glibc
import Platform
import Recording
import Session
import SessionLog

/// `recbot log`: what is in session logs.
struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Looks into session logs, checks them, erases people from them.",
    discussion: "A session log is what `recbot join --log FOLDER` writes; `recbot compose` makes files of it.",
    subcommands: [Info.self, Dump.self, Check.self, Export.self, Erase.self, Prune.self])

  /// `recbot log info`
  struct Info: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows the room, its people and tracks, how long the session was, and what is missing.")

    @Argument(help: "The folder of the log.")
    var log: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      let (path, json) = (log, json)
      try await BlockingWork.run {
        let report = try LogReport(path)
        if json { Console.print(report.json) } else { Console.printText(report.text) }
      }
    }
  }

  /// `recbot log check`
  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Reads a log to its end; ends with 42 when anything in it is damaged or missing.")

    @Argument(help: "The folder of the log.")
    var log: String

    func run() async throws {
      let path = log
      try await BlockingWork.run {
        let report = try LogReport(path)
        let faults = report.faults
        for fault in faults.prefix(100) { Console.error("recbot: \(fault)") }
        guard faults.isEmpty else {
          throw Failure(
            .inputUnusable,
            "\(path): \(faults.count) \(faults.count == 1 ? "fault" : "faults"); all else can be composed")
        }
        Console.print("\(path): whole, \(ProgressReporter.clock(report.contents.length))")
      }
    }
  }

  /// `recbot log dump`
  struct Dump: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints what is in a log, a line an entry; frames without their bytes.")

    @Argument(help: "The folder of the log.")
    var log: String

    @Flag(help: "Leave the frames out.")
    var events = false

    func run() async throws {
      let (path, onlyEvents) = (log, events)
      try await BlockingWork.run {
        let reader = try LogAccess.open(path)
        do {
          while let entry = try reader.next() {
            if onlyEvents, case .event(let event) = entry, case .frame = event.payload { continue }
            Console.print(entry.json)
          }
        } catch let error as LogError {
          throw Failure(error)
        }
        LogAccess.tellDamage(reader)
      }
    }
  }

  /// `recbot log export`
  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes each track into a file of its own, as it came, and timeline.json.",
      discussion: """
        VP8, VP9, AV1 and Opus become WebM, the others Matroska (.mkv). All files have one clock: their times are those \
        of the live recording.
        """)

    @Argument(help: "The folder of the log.")
    var log: String

    @Argument(help: "The folder for the files, which is made; one that is there must be empty.")
    var folder: String

    @Option(help: ArgumentHelp("Leave out this person. May be given several times.", valueName: "identity"))
    var excludeParticipant: [String] = []

    @OptionGroup var shared: SharedOptions

    func run() async throws {
      let logger = try shared.logger("recbot", shared.load())
      let without = Set(excludeParticipant.map { ParticipantIdentity($0) })
      try await LogAccess.check(without, areIn: log, "--exclude-participant")
      try OutputPath.checkFolder(folder, flag: "the tracks")
      let (log, folder) = (log, folder)
      try await BlockingWork.run {
        let reader = try LogAccess.open(log)
        mkdir(folder, 0o700)
        do throws(RecordingError) {
          let export = TrackExport(reader, folder: folder, without: without, logger: logger)
          let summary = try export.run { _, _ in }
          for file in summary.files {
            Console.print(
              "\(folder)/\(file.name): \(file.codec.title), \(ProgressReporter.clock(file.start)) to "
                + "\(ProgressReporter.clock(file.end)), \(file.frames) frames")
          }
          if summary.leftOut > 0 {
            Console.error("recbot: \(summary.leftOut) frames are in no file: nothing before them can be decoded")
          }
        } catch {
          throw Failure(error)
        }
        LogAccess.tellDamage(reader)
      }
    }
  }

  /// `recbot log erase`
  struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes people out of a log for good: pictures, voices, names, messages.",
      discussion: "Files that were composed before, and copies of the log, still have them.")

    @Argument(help: "The folder of the log.")
    var log: String

    @Option(help: ArgumentHelp("Whom: an identity. May be given several times.", valueName: "identity"))
    var participant: [String] = []

    func run() async throws {
      guard !participant.isEmpty else { throw Failure(.usage, "whom? give --participant IDENTITY") }
      let (path, people) = (log, Set(participant.map { ParticipantIdentity($0) }))
      try await BlockingWork.run {
        do {
          let summary = try SessionLogEraser.erase(people, from: path, layouts: LogAccess.layouts)
          if summary.unreadable > 0 {
            Console.error(
              "recbot: \(summary.unreadable) bytes could not be read, so nobody can say whose they were: erased too")
          }
          Console.print("\(path): \(summary.records) records erased, \(summary.bytes) bytes")
        } catch let error as LogError {
          throw Failure(error)
        }
      }
    }
  }

  /// `recbot log prune`
  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes the logs in a folder whose time (--log-keep) is over.")

    @Argument(help: "The folder in which the folders of logs are.")
    var folder: String

    @Flag(help: "Only say what would be deleted.")
    var dryRun = false

    func run() async throws {
      let (folder, dryRun) = (folder, dryRun)
      try await BlockingWork.run {
        do {
          let pruned = try LogRetention.prune(
            folder, at: WallClock.nanoseconds, layouts: LogAccess.layouts, isDryRun: dryRun)
          for path in pruned { Console.print("\(path)\(dryRun ? ": would be deleted" : ": deleted")") }
        } catch let error as LogError {
          throw Failure(error)
        }
      }
    }
  }
}
