import Glibc
import Logging
import MediaCore
import Platform
import Session
import SessionLog
import Synchronization

/// Why a recording could not go on. The text says what and where.
public enum RecordingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file could not be made or written.
  case output(String)
  /// An encoder failed.
  case encoder(String)
  /// What is recorded could not be read.
  case input(String)
  /// The session never began: nothing was written.
  case neverStarted

  /// One line.
  public var description: String {
    switch self {
    case .output(let text), .input(let text): text
    case .encoder(let text): "encoding failed: \(text)"
    case .neverStarted: "the recording never began"
    }
  }
}

/// What came of a recording.
public struct RecordingSummary: Sendable, Hashable {
  /// Why it ended.
  public var end: SessionEnd
  /// How it stood at the end.
  public var progress: RecordingProgress
  /// Path of the file that is recorded.
  public var output: String
}

/// Is told each line of the timeline, JSON, as it happens, on the recording's thread; must be quick.
public typealias TimelineListener = @Sendable (String) -> Void

/// One recording: takes the events that a room connection puts into its sequencer, and writes the file, live.
///
/// It begins with the first event and runs on a thread of its own until the session ends. The file exists from the
/// beginning on, and is playable at every moment.
public final class RoomRecording: Sendable {
  private struct State {
    var progress = RecordingProgress()
    var result: Result<RecordingSummary, RecordingError>?
    var waiter: CheckedContinuation<Result<RecordingSummary, RecordingError>, Never>?
    var isCancelled = false
    var sinks: [SinkServer] = []
  }

  /// Where the room connection puts what it hears.
  public let sequencer: Sequencer
  private let settings: RecordingSettings
  private let logger: Logger
  private let listener: TimelineListener?
  private let state = Mutex(State())

  /// Prepares a recording; nothing is opened yet.
  public init(settings: RecordingSettings, logger: Logger, listener: TimelineListener? = nil) {
    self.settings = settings
    self.logger = logger
    self.listener = listener
    sequencer = Sequencer()
  }

  /// Opens the sinks, and starts the thread. Keyframes and subscriptions are asked of `control`, which is told to leave when the
  /// recording ends by itself.
  ///
  /// - Throws: `output` when a sink cannot be had; nothing has been started then.
  public func start(control: any RoomControl) throws(RecordingError) {
    // Before the room is joined: a reader finds them, and a mistake is told at once.
    let sinks = try SinkServer.open(settings, logger: logger)
    state.withLock { $0.sinks = sinks }
    DetachedThread.start(name: "recording") { [self] in
      let result = record(control: control, sinks: sinks)
      SinkServer.finish(sinks)
      let waiter = state.withLock { state -> CheckedContinuation<Result<RecordingSummary, RecordingError>, Never>? in
        state.result = result
        if case .success(let summary) = result { state.progress = summary.progress }
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: result)
    }
  }

  /// Gives what the sink of this number has, counted in the order of the settings, to the reader at this connected socket, which is
  /// closed at the end. False, and it is closed at once, when nothing more comes. Any thread, after `start`.
  public func give(sink number: Int, to descriptor: Int32) -> Bool {
    let sinks = state.withLock { $0.sinks }
    guard sinks.indices.contains(number) else {
      Glibc.close(descriptor)
      return false
    }
    return sinks[number].give(to: descriptor)
  }

  /// A snapshot; may be called on any thread at any time.
  public var progress: RecordingProgress { state.withLock { $0.progress } }

  /// Ends a recording that has not begun, and its sinks; one that has begun ends with `.ended` in the stream.
  public func cancel() {
    let sinks = state.withLock { state in
      state.isCancelled = true
      return state.sinks
    }
    sequencer.interrupt()
    // Here, since nobody waits for the thread any more.
    SinkServer.finish(sinks)
  }

  /// Waits for the end.
  public func wait() async throws(RecordingError) -> RecordingSummary {
    let result = await withCheckedContinuation { continuation in
      let ready = state.withLock { state -> Result<RecordingSummary, RecordingError>? in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let ready { continuation.resume(returning: ready) }
    }
    return try result.get()
  }

  /// The thread's work.
  private func record(control: any RoomControl, sinks: [SinkServer]) -> Result<RecordingSummary, RecordingError> {
    let source = LiveSource(sequencer, mayRest: sinks.isEmpty)
    var events: [SessionEvent] = []
    events.reserveCapacity(1024)
    while source.take(into: &events, until: .zero + .seconds(1), pending: 0) == nil {
      if state.withLock({ $0.isCancelled }) { return .failure(.neverStarted) }
    }
    do throws(RecordingError) {
      var settings = settings
      settings.session.startDate = startDate()
      settings.session.utcOffset = Self.utcOffset(at: settings.session.startDate)
      settings.session.keepsPictures = settings.log != nil
      if settings.isChatOnly {
        let pipeline = try TranscriptPipeline(settings: settings, listener: listener)
        return .success(try run(pipeline, source, settings, control: control, first: events))
      }
      let pipeline = try Pipeline(
        settings: settings, control: control, listener: listener, sinks: sinks, logger: logger)
      let summary = try run(pipeline, source, settings, control: control, first: events)
      pipeline.writeManifest(sequencer.counts, end: summary.end)
      return .success(summary)
    } catch {
      logger.debug("the recording stopped", metadata: ["reason": "\(error)"])
      control.leave()
      return .failure(error)
    }
  }

  private func run(
    _ pipeline: some OutputHandler, _ source: LiveSource, _ settings: RecordingSettings, control: any RoomControl,
    first: [SessionEvent]
  ) throws(RecordingError) -> RecordingSummary {
    let log = try settings.log.map { (log) throws(RecordingError) in
      try LogThread(
        path: log.folder,
        beginning: LogBeginning(
          settings: settings.session, program: log.program,
          keepUntil: log.keep.map { settings.session.startDate &+ $0.nanoseconds }), logger: logger)
    }
    func progress() -> RecordingProgress {
      var progress = pipeline.progress
      progress.log = log?.progress
      return progress
    }
    do throws(RecordingError) {
      let degradation =
        settings.isWithoutPictures || settings.isChatOnly
        ? nil
        : Degradation(settings.session, budget: settings.cpuBudget) { ProcessorClock.now }
      let drive = Drive(
        source: source, handler: pipeline, settings: settings.session, logger: logger, log: log,
        degradation: degradation
      ) { _ in
        self.state.withLock { $0.progress = progress() }
      }
      let end = try drive.run(SessionCore(settings: settings.planned), first: first)
      if end != .stopped { control.leave() }
      try pipeline.finish(at: pipeline.progress.time)
      log?.finish(LogEnd(reason: end, length: pipeline.progress.time.sinceBeginning))
      return RecordingSummary(end: end, progress: progress(), output: settings.result)
    } catch {
      log?.finish(LogEnd(reason: .stopped, length: pipeline.progress.time.sinceBeginning))
      pipeline.finishFurther()
      throw error
    }
  }

  /// When the session began, nanoseconds since 1970-01-01 UTC.
  private func startDate() -> Int64 { WallClock.nanoseconds - sequencer.now.nanoseconds }

  /// What the local time is ahead of UTC, seconds.
  private static func utcOffset(at date: Int64) -> Int {
    var seconds = time_t(date / 1_000_000_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return parts.tm_gmtoff
  }
}
