import JobsAPI
import Logging

/// The recording of a job: its processes (`RunRecorder`), what they write (`RunParts`) and what they are told
/// (`RunCommands`).
///
/// | while | what | then |
/// | --- | --- | --- |
/// | a process runs | it tells that it said how it ended, and ends | the recording ends as it said; with a hand-over, elsewhere |
/// | | it breaks off | its file is looked at, and the next process follows; with a hand-over, elsewhere |
/// | | it breaks off for the sixth time in a row | the attempt fails |
/// | | it says nothing for 30 s | it is killed, and breaks off |
/// | none runs | the lease is lost | it ends, for somebody else has it |
/// | | a stop, nothing left of the longest duration, or the deadline with parts | what there is, is the recording |
/// | | the deadline without parts | the job fails |
/// | | a hand-over | it goes on elsewhere |
/// | | none of these, and the pause after a crash is over | the next process is started |
///
/// A pure value; the job, with its newest lease, and the time come in as arguments.
struct RunRecording: Hashable, Sendable {
  /// What follows for the run.
  struct Effects: Hashable, Sendable {
    var actions: [RunAction] = []
    /// The backend should hear of it soon.
    var isNews = false
    /// The recording is over, and what comes of it.
    var ending: RunEnding?

    fileprivate mutating func log(_ level: Logger.Level, _ text: String, _ metadata: [String: String] = [:]) {
      actions.append(.log(RunLog(level: level, text: text, metadata: metadata)))
    }
  }

  private let settings: RunSettings
  /// The parts that were made here.
  private(set) var parts = RunParts()
  /// What it was told.
  private(set) var commands: RunCommands
  /// It is to go on elsewhere.
  private(set) var isHandingOver = false
  private var recorder = RunRecorder()
  /// The file that is uploaded while it grows, or was.
  private var uploaded: String?

  /// A recording that begins with what the parts before were told.
  init(_ settings: RunSettings, steering: JobSteering) {
    self.settings = settings
    commands = RunCommands(steering: steering)
  }

  /// The state that the newest process told.
  var state: JobState { recorder.state }
  /// The id of the room's life, as the newest process was told it.
  var roomSID: String? { recorder.roomSID }
  /// When `due` has something; nil: not before an event.
  var nextDeadline: Duration? { recorder.nextDeadline }
  /// True while a process runs.
  var isRunning: Bool { recorder.isRunning }

  // MARK: What it is told

  /// Takes the commands that wait at the backend: each is passed on once.
  mutating func take(_ waiting: [JobCommand]) -> [RunAction] {
    // Without a process, the next one begins with them.
    commands.take(waiting).flatMap { tell(.command($0)) }
  }

  /// Tells the process something, while there is one.
  func tell(_ input: RecordingInput) -> [RunAction] { isRunning ? [.tell(input)] : [] }

  /// Ends it here, for another worker to go on.
  mutating func handOver() -> [RunAction] {
    isHandingOver = true
    return tell(.command(JobCommand(sequence: 0, verb: .stop)))
  }

  /// Refuses the commands that nobody carries out any more. True when there were any.
  mutating func refusePending() -> Bool { commands.refusePending() }

  /// The backend has heard this.
  mutating func told(_ part: JobPart?, _ refusals: [CommandRefusal]) {
    if let part { parts.told(part) }
    commands.told(refusals)
  }

  /// The backend may know nothing of any part.
  mutating func forgetTold() { parts.forgetTold() }

  /// Forgets the upload. True when there was one.
  mutating func dropUpload() -> Bool {
    defer { uploaded = nil }
    return uploaded != nil
  }

  /// True when the file was uploaded while it grew, which is used now.
  mutating func useUpload(of path: String) -> Bool { uploaded == path && dropUpload() }

  // MARK: Its processes

  /// What is due by time, or because of what else has happened.
  mutating func due(_ job: Job, _ ticket: RoomTicket, isLost: Bool, now: RunTime) -> Effects {
    var effects = Effects()
    if recorder.isSilent(now.elapsed) {
      effects.log(.error, "the recording's process says nothing any more: it is ended")
      recorder.kill(now: now.elapsed)
      effects.actions.append(.killRecorder)
    }
    guard !isRunning, isLost || commands.isStopping || isHandingOver || recorder.isReady(now.elapsed) else {
      return effects
    }
    effects.ending = endingBeforeNext(job, isLost: isLost, now: now)
    if effects.ending == nil { effects.actions += start(job, ticket, now: now) }
    return effects
  }

  private mutating func start(_ job: Job, _ ticket: RoomTicket, now: RunTime) -> [RunAction] {
    let piece = RunPiece(number: recorder.nextNumber, job: job, settings: settings)
    recorder.start(piece, now: now.elapsed)
    parts.begin(piece)
    let (opening, rest) = commands.forNextProcess
    let order = RecordingOrder(
      job: job.id, attempt: job.attempt, request: job.request, ticket: ticket, output: piece.path, log: piece.log,
      remaining: remaining(of: job), steering: commands.steering, commands: opening,
      turnCredential: settings.turnCredential)
    return [.startRecorder(order)] + rest.map { .tell(.command($0)) }
  }

  /// What ends the recording before another piece is begun.
  private func endingBeforeNext(_ job: Job, isLost: Bool, now: RunTime) -> RunEnding? {
    if isLost { return .fenced }
    if commands.isStopping { return .recorded(nil) }
    if let remaining = remaining(of: job), remaining <= 0 { return .recorded(nil) }
    if job.deadline <= now.calendar {
      let error = JobError(name: "deadlinePassed", message: "the deadline passed before anything was recorded")
      return hasParts(job) ? .recorded(nil) : .failed(error, mayRetry: false)
    }
    return isHandingOver ? .handedOver : nil
  }

  private func hasParts(_ job: Job) -> Bool { !parts.all.isEmpty || !job.parts.isEmpty }

  /// What is left of the longest duration, in microseconds.
  private func remaining(of job: Job) -> Int64? {
    guard let most = job.request.maxDuration else { return nil }
    let recorded = parts.all(after: job.parts).reduce(0) { $0 &+ $1.duration }
    return most.multipliedReportingOverflow(by: 1_000_000).partialValue &- recorded
  }

  /// The folders of a process can't be made, for a reason of one line.
  mutating func notPrepared(_ reason: String) -> RunEnding {
    recorder.notStarted()
    return .failed(JobError(name: "dataFolder", message: reason), mayRetry: true)
  }

  /// The process tells how it stands.
  mutating func reported(_ report: RecordingReport, hasLog: Bool, _ job: Job, now: RunTime) -> Effects {
    guard let piece = recorder.piece else { return Effects() }
    var effects = Effects()
    let (answered, refused) = commands.confirm(upTo: report.confirmed, refused: report.refusals)
    for refusal in refused { effects.log(.warning, "a command was refused", ["reason": refusal.message]) }
    let (before, isNews) = recorder.reported(report, now: now.elapsed)
    effects.isNews = isNews || answered > 0
    effects.actions.append(.countReport(report, after: before))
    guard let startedAt = report.startedAt else { return effects }
    let part = part(of: piece, job, startedAt: startedAt, duration: report.duration, hasLog: hasLog)
    let isFirst = parts.update(part)
    if isFirst {
      effects.isNews = true
      effects.actions.append(.journal(JournalEntry(kind: .part, job: job.id, fence: job.fence, part: part)))
    }
    if settings.isUploadedLive, uploaded == nil, parts.all.count == 1, job.parts.isEmpty {
      uploaded = piece.path
      effects.actions.append(.beginUpload(piece.path, startedAt: startedAt, attempt: job.attempt))
    }
    if isFirst { effects.actions.append(.follow(piece.path)) }
    return effects
  }

  /// The process is gone.
  mutating func ended(_ exit: RecordingProcess.Exit, _ job: Job, isLost: Bool, now: RunTime) -> Effects {
    guard let (piece, end) = recorder.ended(now: now.elapsed) else { return Effects() }
    guard !isLost else { return Effects(ending: .fenced) }
    var effects = Effects()
    if case .said(let end) = end {
      // A file that no picture came into is no part.
      if !parts.close(piece.path) { effects.actions.append(.delete(piece)) }
      effects.ending = ending(after: end, job)
      return effects
    }
    // The next process doesn't wait for a look at what this one has left.
    parts.breakOff(piece.path)
    effects.actions.append(.probe(piece))
    guard !isHandingOver else {
      effects.ending = .handedOver
      return effects
    }
    effects.log(.error, "the recording's process broke off", ["reason": exit.description])
    if end == .givenUp {
      effects.ending = .failed(JobError(name: "recorderCrashed", message: exit.description), mayRetry: true)
    }
    return effects
  }

  private func ending(after end: RecordingReport.End, _ job: Job) -> RunEnding {
    guard let error = end.error else {
      return isHandingOver && !commands.isStopping ? .handedOver : .recorded(end.lack)
    }
    if commands.isStopping, hasParts(job) { return .recorded(end.lack) }
    if end.mayRetry { return isHandingOver ? .handedOver : .failed(error, mayRetry: true) }
    // Trying again can't help: what there is, is the recording.
    return hasParts(job) ? .recorded(error) : .failed(error, mayRetry: false)
  }

  /// A file that a process left was looked at; nil: there is nothing in it that could be played.
  mutating func probed(
    _ piece: RunPiece, _ found: PartFile?, hasLog: Bool, _ job: Job, isLost: Bool, now: RunTime
  ) -> Effects {
    parts.settle(piece.path)
    guard let found, !isLost else { return Effects() }
    let startedAt =
      parts.part(at: piece.path)?.startedAt ?? found.startedAt
      ?? now.calendar - .microseconds(found.duration)
    let part = part(of: piece, job, startedAt: startedAt, duration: found.duration, hasLog: hasLog)
    var effects = Effects()
    effects.isNews = parts.update(part)
    effects.actions = [.journal(JournalEntry(kind: .part, job: job.id, fence: job.fence, part: part))]
    return effects
  }

  private func part(
    of piece: RunPiece, _ job: Job, startedAt: Timestamp, duration: Int64, hasLog: Bool
  ) -> JobPart {
    JobPart(
      attempt: job.attempt, piece: piece.number, worker: settings.worker, location: piece.path, startedAt: startedAt,
      duration: duration, log: hasLog ? piece.log : nil)
  }
}
