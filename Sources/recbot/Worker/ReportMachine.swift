import JobsAPI
import Recording

/// What a recording tells its worker, and when it carries the worker's commands out. A value: what the recording has come
/// to and the time come in, what is to be done and said comes out; `ReportOutput` does it.
///
/// ```
///             first picture          the room went, came back
///   waiting ----------------> running <-----------------------> reconnecting
///      |                         | ^
///      |                   pause | | resume
///      |                         v |
///      |                       paused
///      | finish                  | finish
///      v                         v
///   finishing, which is told until the worker has it; then nothing more
/// ```
struct ReportMachine: Sendable {
  /// What the recording is to do.
  enum Order: Hashable, Sendable {
    /// Carry a command out, and give `answered` what came of it.
    case carryOut(JobCommand)
    /// End the recording.
    case stop
  }

  /// How the recording stands.
  struct Standing: Sendable {
    var progress: RecordingProgress
    /// The id of this life of the room; nil: not known.
    var roomSID: String?
  }

  /// A command is in the pictures only after the time for which they are held back. A stop that comes together with
  /// others, as after a loss of the backend, waits for so long after them.
  static let settlingTime = Duration.milliseconds(600)
  /// How many of the newest refusals are told each time; a line must not get longer than a pipe takes whole.
  static let mostRefusals = 4
  /// So often the worker is told that nothing has changed but the numbers.
  static let interval = Duration.seconds(1)

  private var report = RecordingReport(state: .waiting)
  /// What the worker has, and since when.
  private var told: (report: RecordingReport, at: ContinuousClock.Instant)?
  /// Commands that were not carried out yet, oldest first.
  private var waiting: [JobCommand] = []
  /// When the newest command was carried out.
  private var carriedOut: ContinuousClock.Instant?
  /// When a stop that was commanded is due.
  private var stopTime: ContinuousClock.Instant?
  /// The end of the time in which the job may record; nil: there is none, or it was obeyed.
  private var deadline: Timestamp?

  /// A recording that may last until `deadline`.
  init(deadline: Timestamp?) { self.deadline = deadline }

  /// What the recording begins with, before it is started.
  mutating func begin(_ beginning: JobBeginning) {
    // What the recording was told before is told again, under a number that no command has.
    if let pause = beginning.steering.pause {
      waiting.append(JobCommand(sequence: 0, verb: .pause, argument: pause.isEmpty ? nil : pause))
    }
    report.confirmed = beginning.confirmed
    report.refusals = Array(beginning.refusals.suffix(Self.mostRefusals))
  }

  /// A command came.
  mutating func take(_ command: JobCommand, now: ContinuousClock.Instant) {
    guard command.verb == .stop || command.verb == .cancel else { return waiting.append(command) }
    // What waits before it is not answered by it.
    if waiting.isEmpty { report.confirmed = max(report.confirmed, command.sequence) }
    let settled = carriedOut.map { $0 + Self.settlingTime } ?? now
    let time = command.verb == .stop ? max(now, settled) : now
    stopTime = min(stopTime ?? time, time)
  }

  /// What is to be done now.
  mutating func orders(_ standing: Standing, now: ContinuousClock.Instant, date: Timestamp) -> [Order] {
    guard report.end == nil else { return [] }
    fill(standing.progress, date: date)
    report.roomSID = standing.roomSID.map { String($0.prefix(64)) }
    var orders: [Order] = []
    if let deadline, deadline <= date {
      self.deadline = nil
      orders.append(.stop)
    }
    // No more at once than can be told of, and none before that was told: the worker must hear of each refusal.
    if standing.progress.phase != .waiting, (told?.report.confirmed ?? 0) == report.confirmed {
      orders += waiting.prefix(Self.mostRefusals).map { .carryOut($0) }
      waiting.removeFirst(min(waiting.count, Self.mostRefusals))
    }
    if let time = stopTime, time <= now {
      stopTime = nil
      orders.append(.stop)
    }
    return orders
  }

  /// A command was carried out, or refused for a reason.
  mutating func answered(_ command: JobCommand, refusal: String?, now: ContinuousClock.Instant) {
    if command.sequence > 0 { carriedOut = now }
    report.confirmed = max(report.confirmed, command.sequence)
    guard let refusal else { return }
    let told = CommandRefusal(sequence: command.sequence, message: String(refusal.prefix(300)))
    report.refusals = report.refusals.suffix(Self.mostRefusals - 1) + [told]
  }

  /// The recording is over, with this progress if it ever began.
  mutating func finish(_ end: RecordingReport.End, _ progress: RecordingProgress?, date: Timestamp) {
    guard report.end == nil else { return }
    if let progress { fill(progress, date: date) }
    report.state = .finishing
    report.end = end
  }

  /// What the worker is to be told now; nil: it knows enough.
  func news(now: ContinuousClock.Instant) -> RecordingReport? {
    guard let told else { return report }
    let isKnown =
      told.report.state == report.state && told.report.confirmed == report.confirmed
      && told.report.startedAt == report.startedAt && told.report.roomSID == report.roomSID
      && told.report.end == report.end
    return isKnown && (now - told.at < Self.interval || report.end != nil) ? nil : report
  }

  /// The worker was told.
  mutating func wasTold(_ report: RecordingReport, now: ContinuousClock.Instant) { told = (report, now) }

  private mutating func fill(_ progress: RecordingProgress, date: Timestamp) {
    report.duration = progress.time.nanoseconds / 1000
    report.size = Int64(clamping: progress.bytes)
    report.droppedFrames = Int64(clamping: progress.droppedFrames)
    report.sparedFrames = Int64(clamping: progress.sparedFrames)
    report.degradation = progress.degradation.rawValue
    report.participants = progress.participants
    if report.startedAt == nil, progress.phase != .waiting, progress.frames > 0 {
      report.startedAt = date - .microseconds(report.duration)
    }
    report.state =
      switch progress.phase {
      case .waiting: .waiting
      case .recording: progress.frames == 0 ? .waiting : progress.pause != nil ? .paused : .running
      case .reconnecting: .reconnecting
      case .finished: .finishing
      }
  }
}
