import Layouts
import Logging
import MediaCore
import Platform
import Session
import SessionLog

/// Makes a file of a session that was logged: by the same core as a live recording, as fast as the machine can. Confined to
/// one thread, which it keeps busy.
public final class Composition {
  /// Which frames a plan may show.
  public enum Presentation: Sendable, Hashable {
    /// Those that the live recording had at that moment: the plans are the same.
    case asLive
    /// Also those that came too late for it.
    case complete
  }

  /// What is composed of the session.
  public struct Options: Sendable {
    /// Which frames a plan may show.
    public var presentation = Presentation.complete
    /// Which commands of the time are followed.
    public var commands = CommandFilter()
    /// People who are taken out.
    public var without: Set<ParticipantIdentity> = []
    /// Where the composed file begins, in the time of the whole one. Where it ends, `maximumDuration` says.
    public var from = SessionTime.zero

    /// All of the session.
    public init() {}
  }

  /// So long frames are waited for when all that came is used: a second more than any jitter buffer waits.
  private static let completeLatency = Duration.seconds(3)

  private let source: LogSource
  private let reader: SessionLogReader
  private let settings: RecordingSettings
  private let options: Options
  private let logger: Logger

  /// Prepares a composition of a log of which nothing has been read. `settings.session` says what is shown; its dates and
  /// limits are those of the log (see `settings(of:)`).
  public init(_ reader: SessionLogReader, settings: RecordingSettings, options: Options, logger: Logger) {
    self.reader = reader
    self.settings = settings
    self.options = options
    self.logger = logger
    source = LogSource(reader, without: options.without, commands: options.commands)
  }

  /// How a session is composed when nothing else is wanted than what the log says.
  public static func settings(
    of beginning: LogBeginning, presentation: Presentation, canvas: CanvasSize? = nil, layout: Layout? = nil,
    framesPerSecond: Int? = nil
  ) -> SessionCore.Settings {
    let live = beginning.settings
    var settings = SessionCore.Settings(
      canvas: canvas ?? live.canvas, layout: layout ?? live.layout,
      framesPerSecond: framesPerSecond ?? live.framesPerSecond,
      latency: presentation == .asLive ? live.latency : max(live.latency, completeLatency),
      noSignalAfter: live.noSignalAfter, screenNoSignalAfter: live.screenNoSignalAfter, dimFor: live.dimFor,
      talker: live.talker, receive: live.receive, maximumTalkers: live.maximumTalkers, title: live.title,
      startDate: live.startDate, utcOffset: live.utcOffset)
    settings.maximumDuration = live.maximumDuration
    settings.processors = live.processors
    // Who is taken out must not end the session for those who are left.
    settings.stopWhenEmpty = presentation == .asLive ? live.stopWhenEmpty : nil
    return settings
  }

  /// Composes; `report` is told how it stands, and how much of the log has been read, bytes of all bytes.
  public func run(
    report: (RecordingProgress, _ read: Int64, _ size: Int64) -> Void
  ) throws(RecordingError) -> RecordingSummary {
    // On one processor other threads would only cost: their queues, and each picture's way out of the caches.
    let isThreaded = Processors.count > 1
    let makeOutput = { [from = options.from] (settings: RecordingSettings) throws(RecordingError) -> any MediaOutput in
      var settings = settings
      settings.session.startDate &+= from.nanoseconds
      guard isThreaded else { return try FileOutput(settings) }
      return try ThreadedOutput(.waits) { () throws(RecordingError) in try FileOutput(settings) }
    }
    let pipeline = try Pipeline(
      settings: settings, control: NoRoom(), listener: nil, logger: logger,
      makeOutput: makeOutput, makeFurther: makeOutput)
    let excerpt = Excerpt(of: pipeline, from: options.from, settings: settings.session)
    let core = SessionCore(settings: settings.planned)
    // A failure of the file itself leaves the others as whole as they can be.
    defer { pipeline.finishFurther() }
    let end = try withoutActuallyEscaping(report) { (report) throws(RecordingError) in
      try Drive(source: source, handler: excerpt, settings: settings.session, logger: logger) { [reader] progress in
        report(progress, reader.position, reader.size)
      }.run(core, first: [])
    }
    try excerpt.finish(at: pipeline.progress.time)
    pipeline.writeManifest([:], end: end)
    return RecordingSummary(end: end, progress: pipeline.progress, output: settings.result)
  }
}

/// Nobody to ask: all there is comes by itself.
final class NoRoom: RoomControl {
  func requestKeyframe(_ track: TrackID) {}
  func subscribe(_ track: TrackID) {}
  func leave() {}
}
