import ArgumentParser
import Control
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

  @Option(help: .setting(.segments))
  var segments: String?

  /// The settings of a recording into `output` with this picture.
  func settings(
    _ configuration: Configuration, _ picture: PicturePlan, output: String, title: String,
    maximumDuration: Duration? = nil, stopWhenEmpty: Duration? = nil
  ) throws -> RecordingSettings {
    var settings = try picture.settings(output: output)
    settings.session.maximumDuration = maximumDuration
    settings.session.stopWhenEmpty = stopWhenEmpty
    settings.session.talker = try configuration.talker()
    settings.session.title = title
    return settings
  }

  /// Where the session is logged. A folder that can't be it is refused before anything is recorded.
  func logSettings(_ configuration: Configuration) throws -> LogSettings? {
    let keep = try logKeep(configuration)
    guard let folder = configuration.text(.log, flag: log) else {
      if logKeep != nil {
        throw Failure(.usage, "--log-keep says how long a log is kept; there is none: give --log FOLDER")
      }
      return nil
    }
    return try Self.logSettings(folder, keep: keep)
  }

  /// The session is logged into `folder`, which must not hold anything.
  static func logSettings(_ folder: String, keep: Duration?) throws -> LogSettings {
    try OutputPath.checkFolder(folder, flag: "--log")
    return LogSettings(folder: folder, keep: keep, program: "recbot \(Build.version)")
  }

  /// The segments of the recording into `output`, NAME.webm: in NAME.segments. A folder that can't be it is refused before anything
  /// is recorded.
  func segmentSettings(_ configuration: Configuration, output: String) throws -> SegmentSettings? {
    guard let length = try configuration.value(.segments, flag: segments) else { return nil }
    let folder = output.dropLast(".webm".count) + ".segments"
    try OutputPath.checkFolder(String(folder), flag: "--segments")
    return SegmentSettings(folder: String(folder), length: length)
  }

  /// How long the log is kept; nil: for ever.
  func logKeep(_ configuration: Configuration) throws -> Duration? {
    try configuration.value(.logKeep, flag: logKeep)
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

  /// How a recording of these settings can be commanded while it runs. `look` changes the layouts that are asked for;
  /// `usualName` is its name where no flag gives it one.
  func commands(
    _ configuration: Configuration, _ picture: PicturePlan, of settings: RecordingSettings,
    look: @escaping @Sendable (Layout) -> Layout = { $0 }, usualName: String? = nil
  ) throws -> JobCommands {
    let layouts = picture.finder.layouts(for: settings.session.canvas)
    var commands = JobCommands(
      address: nil, pausePolicy: try configuration.value(.pausePolicy),
      layouts: { name throws(ValueError) in look(try layouts(name)) })
    guard try configuration.value(.control) else { return commands }
    let name = try configuration.value(.job, flag: job ?? usualName)
    let file = settings.isChatOnly ? settings.transcript ?? "" : settings.output
    commands.address = JobAddress(
      job: name ?? RunDirectory.name(from: file), isChosen: name != nil,
      directory: RunDirectory(named: configuration.text(.runDirectory), environment: Environment.all))
    return commands
  }

  /// How progress is told.
  func progressMode(_ configuration: Configuration) throws -> ProgressMode {
    try configuration.value(.progress, flag: progress)
  }
}
