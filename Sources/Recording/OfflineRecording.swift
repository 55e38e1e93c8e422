import Logging
import MediaCore
import Session

/// A recording of events whose times are given instead of measured: as fast as the machine can, and the same on every
/// run. For previews. Everything between the events and the file is what a live recording uses. Confined to one thread.
public final class OfflineRecording {
  private let settings: RecordingSettings
  private let pipeline: Pipeline
  private var core: SessionCore
  private var sequence: UInt64 = 0
  private var now = SessionTime.zero

  /// Opens the file. The session begins at time zero; say `.joined` first.
  public init(settings: RecordingSettings, logger: Logger) throws(RecordingError) {
    self.settings = settings
    pipeline = try Pipeline(settings: settings, control: NoRoom(), listener: nil, logger: logger)
    core = SessionCore(settings: settings.planned)
  }

  /// Takes what happens at an instant; an instant before the last one counts as that.
  public func take(_ payload: SessionEvent.Payload, at time: SessionTime) throws(RecordingError) {
    if time > now {
      now = time
      core.advance(to: now)
      try perform()
    }
    var event = SessionEvent(sequence: sequence, arrived: now, payload: payload)
    sequence += 1
    pipeline.prepare(&event)
    core.handle(event)
  }

  /// Ends the recording at an instant and completes the file.
  public func finish(at time: SessionTime) throws(RecordingError) -> RecordingSummary {
    try take(.room(.ended(.stopped)), at: time)
    core.advance(to: now + settings.session.latency)
    try perform()
    try pipeline.finish(at: pipeline.progress.time)
    return RecordingSummary(end: .stopped, progress: pipeline.progress, output: settings.output)
  }

  private func perform() throws(RecordingError) {
    pipeline.beginBurst([])
    while let output = core.pollOutput() {
      if let found = try pipeline.perform(output, isLate: false) { core.take(found) }
    }
  }
}
