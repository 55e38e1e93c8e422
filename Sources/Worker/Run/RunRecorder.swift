import JobsAPI

/// The processes of a run's recording, one after the other.
///
///                     says how it ended
///     idle ──► running ───────────────► idle
///      ▲        │   ▲
///      │        │   └ silent for 30 s: it is to be killed, and breaks off
///      │        ▼ breaks off
///      └───── pausing    none, 250, 500, 1000, 2000 ms; the sixth time in a row, it is given up
///
/// A process that ran for more than a minute begins the row anew. A pure value; times are those of `RunTime.elapsed`.
struct RunRecorder: Hashable, Sendable {
  /// What the end of a process means.
  enum End: Hashable, Sendable {
    /// It said how its recording ended.
    case said(RecordingReport.End)
    /// It broke off; another one follows.
    case brokeOff
    /// It broke off, and so did those before it.
    case givenUp
  }

  /// The crashes in a row after which the job is given back.
  private static let crashes = 6
  /// A recording that says nothing for so long has got stuck.
  private static let silence = Duration.seconds(30)
  /// A process that ran so long has begun anew.
  private static let healthyTime = Duration.seconds(60)

  private struct Process: Hashable {
    let piece: RunPiece
    let startedAt: Duration
    var heardAt: Duration
    var report: RecordingReport?
  }

  /// The state that the newest process told.
  private(set) var state = JobState.waiting
  /// The id of the room's life, as the newest process was told it.
  private(set) var roomSID: String?
  private var process: Process?
  /// The number of the next piece.
  private(set) var nextNumber = 0
  private var failures = 0
  private var pauseEnd: Duration?

  /// True while a process runs.
  var isRunning: Bool { process != nil }
  /// What the process writes.
  var piece: RunPiece? { process?.piece }
  /// When it has been silent for too long, or the pause is over.
  var nextDeadline: Duration? { process.map { $0.heardAt + Self.silence } ?? pauseEnd }

  /// True when the process has said nothing for too long.
  func isSilent(_ now: Duration) -> Bool { process.map { now - $0.heardAt >= Self.silence } ?? false }
  /// True when no process runs, and the next one may be started.
  func isReady(_ now: Duration) -> Bool { !isRunning && pauseEnd.map { $0 <= now } ?? true }

  /// A process is started.
  mutating func start(_ piece: RunPiece, now: Duration) {
    process = Process(piece: piece, startedAt: now, heardAt: now)
    nextNumber += 1
    pauseEnd = nil
  }

  /// The process is killed for its silence; it has as much time again to be gone.
  mutating func kill(now: Duration) { process?.heardAt = now }

  /// The process has told something. Gives what it told before, and whether there is news for the backend.
  mutating func reported(_ report: RecordingReport, now: Duration) -> (before: RecordingReport?, isNews: Bool) {
    let before = process?.report
    process?.report = report
    process?.heardAt = now
    var isNews = false
    if report.state != state, report.state != .finishing {
      state = report.state
      isNews = true
    }
    if let sid = report.roomSID, sid != roomSID {
      roomSID = sid
      isNews = true
    }
    return (before, isNews)
  }

  /// The process could not be started.
  mutating func notStarted() { process = nil }

  /// The process is gone, and all that it told has been taken; nil when there was none.
  mutating func ended(now: Duration) -> (piece: RunPiece, end: End)? {
    guard let process else { return nil }
    self.process = nil
    if let end = process.report?.end { return (process.piece, .said(end)) }
    failures = now - process.startedAt > Self.healthyTime ? 1 : failures + 1
    guard failures < Self.crashes else { return (process.piece, .givenUp) }
    // At once at first: each moment is one that is not recorded.
    pauseEnd = now + (failures > 1 ? .milliseconds(250 << (failures - 2)) : .zero)
    return (process.piece, .brokeOff)
  }
}
