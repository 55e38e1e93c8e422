import MediaCore
import Session

/// What carries out the outputs of a session's core. Confined to the recording's thread.
protocol OutputHandler: AnyObject {
  /// How it stands.
  var progress: RecordingProgress { get }
  /// Looks at an event before the core does.
  func prepare(_ event: inout SessionEvent)
  /// These outputs of a few slots follow.
  func beginBurst(_ outputs: [SessionOutput])
  /// Carries out one output; gives what the core has to know of it. `isLate`: the machine does not keep up, so what is only for
  /// the eye is left out.
  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding?
  /// From now on does without this.
  func degrade(to step: DegradationStep) throws(RecordingError)
  /// Takes over, for progress, what the core knows of the room at this instant.
  func tell(_ core: borrowing SessionCore, at now: SessionTime)
  /// Remembers what happened before the part of the session that is recorded.
  func remember(_ entry: TimelineEntry)
  /// Completes what was written.
  func finish(at end: SessionTime) throws(RecordingError)
  /// Completes what else was written, when the recording itself can't be.
  func finishFurther()
}

extension OutputHandler {
  /// There is nothing to do without.
  func degrade(to step: DegradationStep) throws(RecordingError) {}
  /// What came before is nobody's concern.
  func remember(_ entry: TimelineEntry) {}
  /// There is nothing else.
  func finishFurther() {}
}

/// A recording without media: only the transcript is written.
final class TranscriptPipeline: OutputHandler {
  private(set) var progress = RecordingProgress()
  private let settings: RecordingSettings
  private let notes: Notes
  private var attendance = AttendanceList()

  /// Opens the files.
  init(settings: RecordingSettings, listener: TimelineListener?) throws(RecordingError) {
    self.settings = settings
    notes = try Notes(settings: settings, listener: listener)
    progress.phase = .recording
    progress.title = settings.session.title
  }

  func prepare(_ event: inout SessionEvent) {}

  func beginBurst(_ outputs: [SessionOutput]) {}

  func perform(_ output: SessionOutput, isLate: Bool) throws(RecordingError) -> SessionFinding? {
    switch output {
    case .compose(let plan):
      progress.time = settings.session.slotTime(plan.slot + 1)
      progress.participants = plan.participants
      progress.talker = plan.talker
      progress.phase = plan.isReconnecting ? .reconnecting : .recording
    case .note(let entry): notes.take(entry, &progress)
    case .composeFurther, .decode, .usePictures, .audio, .process, .requestKeyframe, .subscribe, .receive, .view,
      .release,
      .ended:
      break
    }
    return nil
  }

  func tell(_ core: borrowing SessionCore, at now: SessionTime) { attendance.tell(core, &progress, at: now) }

  func finish(at end: SessionTime) throws(RecordingError) {
    progress.time = end
    progress.phase = .finished
  }
}

/// Who is in the room, for those who ask for progress: a list that is not made anew more often than anybody asks.
struct AttendanceList {
  private static let interval = Duration.milliseconds(200)
  private var told: (revision: UInt64, at: SessionTime)?

  /// Takes over who is there, if that has changed and was not taken over just now.
  mutating func tell(_ core: borrowing SessionCore, _ progress: inout RecordingProgress, at now: SessionTime) {
    guard core.peopleRevision != told?.revision, told.map({ now - $0.at >= Self.interval }) ?? true else { return }
    told = (core.peopleRevision, now)
    progress.people = core.participants
  }
}

/// Where what happens is written down: the timeline, the transcript, and whoever listens.
final class Notes {
  private let startDate: Int64
  private let timeline: LineFile?
  private let transcript: Transcript?
  private let listener: TimelineListener?
  private let notesResolution: Bool

  /// Opens the files.
  init(settings: RecordingSettings, listener: TimelineListener?) throws(RecordingError) {
    notesResolution = settings.notesResolution
    startDate = settings.session.startDate
    self.listener = listener
    timeline = try settings.timeline.map { (path) throws(RecordingError) in try LineFile(creating: path) }
    transcript = try settings.transcript.map { (path) throws(RecordingError) in try Transcript(creating: path) }
  }

  /// Writes an entry where it belongs, and keeps what progress tells.
  func take(_ entry: TimelineEntry, _ progress: inout RecordingProgress) {
    if entry.event.isMessage {
      transcript?.append(entry, startDate: startDate)
      if entry.event.isWhole { progress.messages += 1 }
      return
    }
    let line = entry.json(startDate: startDate)
    timeline?.append(line)
    if notesResolution || entry.event.name != "resolution" { listener?(line) }
    switch entry.event {
    case .title(let title): progress.title = title
    case .processors(let identity, _, let processors):
      progress.processors[identity] = processors.isEmpty ? nil : processors
    case .left(let identity, _): progress.processors[identity] = nil
    case .paused(let policy): progress.pause = policy
    case .resumed: progress.pause = nil
    case .bandwidth(let alert): progress.bandwidth = alert
    case .path(let path): progress.path = path
    case .activeTalkers(let list): progress.talkers = list
    default: break
    }
  }
}
