import ArgumentParser
import Glibc
import JobsAPI
import Layouts
import MediaCore
import Recording
import Session
import Settings

/// The flags that shape a recording; shared by `join`, `record` and `demo`.
struct RecordingOptions: ParsableArguments {
  @OptionGroup var picture: PictureOptions

  @Option(help: .setting(.progress))
  var progress: String?

  @Option(help: .setting(.job))
  var job: String?

  @Option(help: .setting(.log))
  var log: String?

  @Option(help: .setting(.logKeep))
  var logKeep: String?

  /// The settings of a recording into `output`.
  func settings(
    _ configuration: Configuration, output: String, title: String, maximumDuration: SessionTime? = nil,
    stopWhenEmpty: SessionTime? = nil
  ) throws -> RecordingSettings {
    var settings = try picture.settings(configuration, output: output)
    settings.session.maximumDuration = maximumDuration
    settings.session.stopWhenEmpty = stopWhenEmpty
    settings.session.talker = try configuration.talker()
    settings.session.title = title
    return settings
  }

  /// Where the session is logged. A folder that can't be it is refused before anything is recorded.
  func logSettings(_ configuration: Configuration) throws -> LogSettings? {
    let keep = try configuration.value(.logKeep, flag: logKeep)
    guard let folder = configuration.text(.log, flag: log) else {
      if logKeep != nil {
        throw Failure(.usage, "--log-keep says how long a log is kept; there is none: give --log FOLDER")
      }
      return nil
    }
    try OutputPath.checkFolder(folder, flag: "--log")
    return LogSettings(folder: folder, keep: keep, program: "recbot \(Build.version)")
  }

  /// Says beforehand what a session log takes, where progress is for people.
  func tellLog(_ settings: LogSettings?, _ mode: ProgressMode) {
    guard let settings, mode == .auto || mode == .plain else { return }
    var disk = statvfs()
    let folder = settings.folder.lastIndex(of: "/").map { String(settings.folder[...$0]) } ?? "."
    let free = statvfs(folder, &disk) == 0 ? UInt64(disk.f_bavail) * UInt64(disk.f_frsize) / 1_000_000_000 : nil
    Console.error(
      "Session log: \(settings.folder), about half a gigabyte an hour for each camera"
        + (free.map { " (\($0) GB are free)." } ?? "."))
  }

  /// How the job can be commanded while it runs.
  func commands(
    _ configuration: Configuration, output: String, canvas: CanvasSize
  ) throws -> JobCommands {
    let policy = try configuration.value(.pausePolicy)
    var commands = JobCommands(
      address: nil, pausePolicy: policy, layouts: try picture.finder(configuration, canvas: canvas))
    guard try configuration.value(.control) else { return commands }
    let name = try configuration.value(.job, flag: job)
    commands.address = JobAddress(
      job: name ?? RunDirectory.name(from: output), isChosen: name != nil,
      directory: RunDirectory(named: configuration.text(.runDirectory), environment: Environment.all))
    return commands
  }

  /// How progress is told.
  func progressMode(_ configuration: Configuration) throws -> ProgressMode {
    try configuration.value(.progress, flag: progress)
  }
}
