import ArgumentParser
import Glibc
import Layouts
import MediaCore
import Platform
import Recording
import Session
import SessionLog
import Settings
import UnixSignals

/// `recbot compose`: a file of a session that was logged.
struct ComposeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compose", abstract: "Makes a WebM file of a session log, in any layout.",
    discussion: """
      The log is what `recbot join --log FOLDER` has written. What is not given here is as it was live: layout, size, \
      pictures a second. Pins, titles, pauses and, without --layout, changes of the layout are followed; what was redacted \
      is not in the log.

        recbot compose talk.log --layout speaker --output speaker.webm
        recbot compose talk.log --size 720x1280 --layout portrait --output portrait.webm
        recbot compose talk.log --output talk.webm --also portrait:phone.webm --also audio:sound.webm
        recbot compose talk.log --exclude-participant bob --from 10m --to 25m30s --output part.webm
      """)

  @Argument(help: "The folder of the log.")
  var log: String

  @Option(name: .shortAndLong, help: ArgumentHelp("The file to write: NAME.webm.", valueName: "file"))
  var output: String

  @Option(help: ArgumentHelp("\(AlsoWish.help)", valueName: "what:file"))
  var also: [String] = []

  @OptionGroup var picture: PictureOptions

  @Option(
    help: ArgumentHelp("Begin here, in the time of the whole recording, such as 10m or 1h2m3s.", valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("End here.", valueName: "time"))
  var to: String?

  @Option(
    help: ArgumentHelp(
      "Take out this person: pictures, voice, name, messages. May be given several times.", valueName: "identity"))
  var excludeParticipant: [String] = []

  @Flag(help: "Write the mixed sound only.")
  var audioOnly = false

  @Flag(help: "Show exactly what the live recording showed: frames that came too late for it are left out.")
  var asLive = false

  @Flag(
    help: "Follow no pins, titles, marks, pauses and changes of the layout; what was redacted or hidden stays so.")
  var ignoreCommands = false

  @Option(help: .setting(.progress))
  var progress: String?

  @Option(help: .setting(.transcript))
  var transcript: String?

  @OptionGroup var stills: StillOptions
  @OptionGroup var shared: SharedOptions

  func run() async throws {
    let configuration = try shared.load()
    let logger = try shared.logger("recbot", configuration)
    var options = Composition.Options()
    options.presentation = asLive ? .asLive : .complete
    options.commands = CommandFilter(
      followsLayouts: !ignoreCommands && picture.layout == nil, followsOthers: !ignoreCommands)
    options.without = Set(excludeParticipant.map { ParticipantIdentity($0) })
    let begin = try from.map { try SharedOptions.duration($0, "--from") } ?? .zero
    options.from = .zero + begin
    let until = try to.map { try SharedOptions.duration($0, "--to") }
    if let until, until <= begin { throw Failure(.usage, "--to must lie after --from") }
    let mode = try configuration.value(.progress, flag: progress)
    try OutputPath.check(output)
    if let transcript { try OutputPath.check(transcript, endings: [".jsonl", ".srt", ".vtt"], flag: "--transcript") }
    try stills.check(isShown: !audioOnly)
    let reader = try LogAccess.open(log)
    try await LogAccess.check(options.without, areIn: log, "--exclude-participant")
    let (live, presentation) = (reader.beginning, options.presentation)
    var settings = try picture.settings(configuration, output: output) { layout, canvas, framesPerSecond in
      Composition.settings(
        of: live, presentation: presentation, canvas: canvas, layout: layout, framesPerSecond: framesPerSecond)
    }
    if let until {
      settings.session.maximumDuration = min(until, settings.session.maximumDuration ?? until)
    }
    settings.transcript = transcript
    settings.isAudioOnly = audioOnly
    settings.further = try picture.further(also, of: settings, configuration)
    let composition = Composition(reader, settings: settings, options: options, logger: logger)
    nonisolated(unsafe) let owned = composition
    let (log, from) = (log, options.from)
    let output = output
    let files = [output] + settings.further.map(\.path)
    let signals = Task {
      for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
        for file in files { unlink(file) }
        let what = files.count > 1 ? "were not complete and are deleted" : "was not complete and is deleted"
        Console.error("\nrecbot: stopped; \(files.joined(separator: ", ")) \(what)")
        Glibc.exit(ExitCode.forced.rawValue)
      }
    }
    defer { signals.cancel() }
    // It keeps a thread busy, and the cooperative ones are few.
    let summary: RecordingSummary = try await BlockingWork.run {
      var news = CompositionProgress(mode: mode, log: log)
      do throws(RecordingError) {
        let summary = try owned.run { (progress, read, size) in news.tell(progress, read: read, of: size) }
        news.end(summary)
        return summary
      } catch {
        news.clear()
        throw Failure(error)
      }
    }
    LogAccess.tellDamage(reader)
    guard summary.progress.time > .zero else {
      for file in files { unlink(file) }
      throw Failure(
        .usage, "nothing lies after --from \(from) s in \(log); `recbot log info \(log)` says how long the session was")
    }
    for file in summary.progress.further where file.failure == nil { Console.print(file.path) }
    // The composed file is whole, and no signal deletes it any more.
    signals.cancel()
    for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    let faults = await stills.draw(of: output)
    Console.print(output)
    if let failure = Failure(summary.progress, faults, beside: output) { throw failure }
  }
}

/// How far `recbot compose` is, on standard error: a line that is written over on a terminal, or one now and then.
private struct CompositionProgress {
  private let mode: ProgressMode
  private let log: String
  private let began = ContinuousClock.now
  private var toldAt: ContinuousClock.Instant?

  init(mode: ProgressMode, log: String) {
    self.mode = mode == .auto ? Console.errorIsTerminal ? .auto : .plain : mode
    self.log = log
  }

  mutating func tell(_ progress: RecordingProgress, read: Int64, of size: Int64) {
    guard mode != .none else { return }
    let now = ContinuousClock.now
    let interval: Duration = mode == .auto ? .milliseconds(200) : mode == .json ? .seconds(1) : .seconds(10)
    guard now - (toldAt ?? began) >= interval else { return }
    toldAt = now
    let share = size > 0 ? min(1000, Int(read * 1000 / size)) : 1000
    let elapsed = (now - began).components.seconds
    // The log is read evenly, more or less.
    let left = share > 0 ? elapsed * Int64(1000 - share) / Int64(share) : 0
    if mode == .json {
      Console.print(
        "{\"log\":\(JSONText.quoted(log)),\"time_ms\":\(progress.time.milliseconds),\"per_mille\":\(share),"
          + "\"seconds_left\":\(left)}")
      return
    }
    let bar = String(repeating: "█", count: share / 50) + String(repeating: "░", count: 20 - share / 50)
    let line =
      "\(bar) \(share / 10) %  \(ProgressReporter.clock(progress.time)) composed, about "
      + "\(ProgressReporter.clock(.seconds(left))) left"
    if mode == .auto { Console.status(line) } else { Console.error(line) }
  }

  func end(_ summary: RecordingSummary) {
    let progress = summary.progress
    let seconds = max(0.001, Double((ContinuousClock.now - began) / .milliseconds(1)) / 1000)
    let speed = Int(Double(progress.time.milliseconds) / 100 / seconds)
    let frames = progress.frames > 0 ? "\(progress.frames) frames, " : ""
    let text =
      "Composed \(ProgressReporter.clock(progress.time)) (\(frames)\(ProgressReporter.size(progress.bytes))), "
      + "\(speed / 10).\(speed % 10) times as fast as live."
    switch mode {
    case .auto: Console.errorOverStatus(text)
    case .plain: Console.error(text)
    case .json, .none: return
    }
    for line in ProgressReporter.lines(progress.further) { Console.error(line) }
  }

  func clear() { if mode == .auto { Console.status("") } }
}
