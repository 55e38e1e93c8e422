import JobsAPI
import Logging

/// One job in a worker's hands, from the claim to its end: keeps the lease, has it recorded, and sees to it that the file
/// gets where it belongs. What is decided of it is decided here.
///
/// Whatever is lost, the recording goes on as long as it can: without the backend it is recorded on, and what must be
/// told stands in the journal. Only the word that somebody else has the job ends it at once.
///
///     idle ──► claiming ──► recording ──► settling ──► finishing ──► telling(complete) ──► tidying ─────────► over
///                 │             │            │            │                                                    ▲
///                 └─────────────┴──────┬─────┴────────────┘ it can't be done, or goes on elsewhere             │
///                                      ▼                                                                       │
///                          tellingParts ──► journaling ──► telling(fail, release) ──► sharing ─────────────────┤
///                                                                                                              │
///     the lease is lost ──► lookingUp ──► sharing, unless the job is over ─────────────────────────────────────┘
///
/// | state | what happens in it | it ends when |
/// | --- | --- | --- |
/// | claiming | the journal gets the claim | it has it: what is recorded is finished, what can't be delivered fails |
/// | recording | `RunRecording` | it says so |
/// | settling | files that processes have left are looked at | all of them were |
/// | finishing | `RunFinish` | the files are where they belong, or can't get there |
/// | tellingParts | heartbeats tell of parts | the backend has heard of all, or is away, or 20 were sent |
/// | journaling | the journal gets a failure | it has it |
/// | telling | `RunLastWord` | the backend has answered, or was not reached in time |
/// | tidying | what the finished job needs no more is deleted | it is gone |
/// | lookingUp | the backend is asked whether the job is over | it has answered or not |
/// | sharing | parts are brought to where other workers reach them | they are there, or can't get there |
///
/// After claiming, `RunLease` has heartbeats sent in every state. When the lease is lost, the process is killed, work of
/// the finishing that is under way is waited for, and nothing is told any more; only the answer to a last word that is
/// under way still counts, for it may be what ended the lease. A renewed lease changes the number with which everything
/// is told, and nothing else.
///
/// A pure value: events and the time in, actions out. `JobRun` is its shell.
struct RunMachine: Hashable, Sendable {
  private enum State: Hashable {
    case idle, claiming, recording
    case settling(RunEnding)
    case finishing
    case tellingParts(RunEnding, left: Int)
    case journaling(JobError, mayRetry: Bool)
    case telling(RunLastWord)
    case tidying, lookingUp
    case sharing(isRecorded: Bool)
    case over
  }

  /// Names of errors of the finishing alone.
  private static let passing: Set = [
    "deliveryFailed", "notFinished", "partsMissing", "dataFolder", "afterFailed", "alsoFailed",
  ]
  /// The most heartbeats that are sent for the backend to hear of all parts.
  private static let partHeartbeats = 20

  private let settings: RunSettings
  private var state = State.idle
  private var job: Job
  private var ticket: RoomTicket
  private var lease: RunLease
  private var recording: RunRecording
  /// The finishing, from the moment at which nothing more is recorded.
  private var finish: RunFinish?
  private var actions: [RunAction] = []

  /// A job that was given to this worker.
  init(_ assignment: Assignment, settings: RunSettings) {
    self.settings = settings
    job = assignment.job
    ticket = assignment.ticket
    lease = RunLease(fence: job.fence)
    recording = RunRecording(settings, steering: job.steering)
    guard job.isRecorded else { return }
    // What only kept an earlier attempt from finishing is no lack of the recording.
    finish = RunFinish(settings, shortfall: job.error.flatMap { Self.passing.contains($0.name) ? nil : $0 })
  }

  /// The fencing number with which everything is told.
  var fence: Int64 { lease.fence }

  /// When `timer` must be said at the latest, as `RunTime.elapsed`; nil: nothing is due by time.
  var nextDeadline: Duration? {
    let own: Duration? =
      switch state {
      case .recording: recording.nextDeadline
      case .finishing: finish?.nextDeadline
      case .telling(let word): word.nextDeadline
      default: nil
      }
    return [own, lease.nextDeadline].compactMap { $0 }.min()
  }

  /// True when the run goes on under a newer lease; else it has to end before another one begins.
  func accepts(_ assignment: Assignment) -> Bool {
    guard !lease.isLost, !recording.isHandingOver, assignment.job.fence > fence else { return false }
    switch state {
    case .idle, .claiming, .recording, .settling, .finishing: return true
    case .telling(let word): if case .complete = word.message { return true } else { return false }
    case .tellingParts, .journaling, .tidying, .lookingUp, .sharing, .over: return false
    }
  }

  /// Takes an event at `now` and says what to do.
  mutating func handle(_ event: RunEvent, now: RunTime) -> [RunAction] {
    defer { actions = [] }
    take(event, now)
    carryOutDue(now)
    return actions
  }

  private mutating func take(_ event: RunEvent, _ now: RunTime) {
    switch (state, event) {
    case (.over, _), (_, .timer): break
    case (.idle, .begun):
      log(.info, "taken", ["room": job.request.room, "attempt": "\(job.attempt)"])
      journal(.taken)
      state = .claiming
    case (_, .journaled(let kind, fence)): journaled(kind, now)
    case (_, .heartbeatAnswered(let number, let answer)): heartbeatAnswered(number, answer, now)
    case (_, .heartbeatFailed(let number, let error)): heartbeatFailed(number, error, now)
    case (_, .renewed(let assignment)): renew(assignment)
    // What is being finished is finished first.
    case (_, .handOver): if finish == nil { actions += recording.handOver() }
    case (.recording, .notPrepared(let reason)): conclude(recording.notPrepared(reason), now)
    case (.recording, .reported(let report, let hasLog)) where !lease.isLost:
      carryOut(recording.reported(report, hasLog: hasLog, job, now: now), now)
    case (.recording, .recorderEnded(let exit)):
      carryOut(recording.ended(exit, job, isLost: lease.isLost, now: now), now)
    case (_, .probed(let piece, let found, let hasLog)):
      carryOut(recording.probed(piece, found, hasLog: hasLog, job, isLost: lease.isLost, now: now), now)
      if case .settling(let ending) = state { conclude(ending, now) }
    case (.finishing, .finish(let event)):
      carryOut(finish?.handle(event, job, isWhole: recording.parts.isWhole, now: now.elapsed), now)
    case (.telling(let word), .lastWordAnswered(fence, let error)): answered(word, error, now)
    case (.lookingUp, .lookedUp(let needsParts)): needsParts ? share(isRecorded: false) : end()
    case (.sharing(let isRecorded), .shared):
      if isRecorded { log(.info, "done") }
      end()
    case (.tidying, .tidied): leave(.recorded(finish?.shortfall), isDone: true, now)
    default: break
    }
  }

  private mutating func carryOutDue(_ now: RunTime) {
    if state == .recording { carryOut(recording.due(job, ticket, isLost: lease.isLost, now: now), now) }
    if state == .finishing { carryOut(finish?.due(now.elapsed), now) }
    if case .telling(var word) = state, word.isDue(now.elapsed) {
      state = .telling(word)
      actions.append(.tellLast(word.message))
    }
    while let kind = lease.next(now.elapsed) { sendHeartbeat(kind, now) }
  }

  private mutating func journaled(_ kind: JournalEntry.Kind, _ now: RunTime) {
    switch (state, kind) {
    case (.claiming, .taken):
      lease.open(now.elapsed)
      actions += recording.take(job.commands)
      if let finish { return conclude(.recorded(finish.shortfall), now) }
      if let obstacle = settings.obstacle {
        // Told before anything is recorded, not afterwards.
        return conclude(.failed(JobError(name: "notDeliverable", message: obstacle), mayRetry: false), now)
      }
      state = .recording
    case (.finishing, _): carryOut(finish?.journaled(kind), now)
    case (.journaling(let error, let mayRetry), .failing):
      tellLast(.fail(FailRequest(fence: fence, error: error, mayRetry: mayRetry)), now)
    default: break
    }
  }

  // MARK: The lease

  private mutating func sendHeartbeat(_ kind: RunLease.Kind, _ now: RunTime) {
    let (part, refusals) = (recording.parts.untold.first, recording.commands.refusals)
    let state: JobState = finish.map { $0.isUploading ? .uploading : .finishing } ?? recording.state
    let report = JobReport(
      state: state, part: part, confirmed: recording.commands.confirmed, refusals: refusals.isEmpty ? nil : refusals,
      isRecorded: finish != nil, error: finish?.shortfall, roomSID: recording.roomSID)
    let number = lease.send(kind, part: part, refusals: refusals, now: now.elapsed)
    let wait = kind == .held ? settings.heartbeatTime : 0
    actions.append(.heartbeat(number, HeartbeatRequest(fence: fence, report: report), wait: wait))
  }

  private mutating func heartbeatAnswered(_ number: Int, _ answer: HeartbeatAnswer, _ now: RunTime) {
    guard let heartbeat = lease.takeBack(number), !lease.isLost else { return }
    let isHeard = heartbeat.fence == fence
    if isHeard {
      if lease.answered() { log(.notice, "the backend is back") }
      recording.told(heartbeat.part, heartbeat.refusals)
      if !recording.parts.untold.isEmpty { lease.addNews() }
      if let fresh = answer.ticket {
        ticket = fresh
        actions += recording.tell(.ticket(fresh))
      }
      actions += recording.take(answer.job.commands)
    }
    if heartbeat.kind == .awaited { awaitedReturned(isHeard: isHeard, now) }
  }

  private mutating func heartbeatFailed(_ number: Int, _ error: BackendError, _ now: RunTime) {
    guard let heartbeat = lease.takeBack(number), !lease.isLost else { return }
    if heartbeat.fence == fence {
      switch lease.failed(error) {
      case .lost: return loseLease(now)
      case .overtaken: log(.debug, "a sign of life was refused", ["reason": "\(error)"])
      case .away: log(.warning, "no sign of life reached the backend; the job goes on", ["reason": "\(error)"])
      case .stillAway: break
      }
    }
    if heartbeat.kind == .awaited { awaitedReturned(isHeard: false, now) }
  }

  private mutating func awaitedReturned(isHeard: Bool, _ now: RunTime) {
    switch state {
    case .finishing:
      let parts = recording.parts.all(after: job.parts)
      carryOut(finish?.heartbeatReturned(isHeard: isHeard, job, parts: parts, now: now.elapsed), now)
    case .tellingParts(let ending, let left): tellParts(ending, left: left, now)
    default: break
    }
  }

  private mutating func loseLease(_ now: RunTime) {
    switch state {
    case .recording: if recording.isRunning { actions.append(.killRecorder) }
    case .settling: leave(.fenced, now)
    case .finishing: carryOut(finish?.lose(), now)
    case .tellingParts(let ending, _): close(mayGoOn: ending.mayGoOn)
    case .journaling(_, let mayRetry): close(mayGoOn: mayRetry)
    case .idle, .claiming, .telling, .tidying, .lookingUp, .sharing, .over: break
    }
  }

  private mutating func renew(_ assignment: Assignment) {
    guard accepts(assignment) else { return }
    log(.notice, "the lease was lost and is here again")
    journal(.closed)
    (job, ticket) = (assignment.job, assignment.ticket)
    lease.renew(fence: job.fence)
    journal(.taken)
    for part in recording.parts.all { journal(.part, part: part) }
    if let finish { journal(.recorded, error: finish.shortfall) }
    actions += recording.tell(.ticket(ticket))
    recording.forgetTold()
    guard let files = finish?.renew() else { return }
    state = .finishing
    journal(.completing, files: files)
  }

  // MARK: The end

  private mutating func carryOut(_ effects: RunRecording.Effects, _ now: RunTime) {
    actions += effects.actions
    if effects.isNews { lease.addNews() }
    if let ending = effects.ending { conclude(ending, now) }
  }

  /// Nothing more is recorded; what processes have left is looked at before anything else.
  private mutating func conclude(_ wanted: RunEnding, _ now: RunTime) {
    let ending = lease.isLost ? .fenced : wanted
    state = .settling(ending)
    guard recording.parts.isSettled || ending == .fenced else { return }
    guard case .recorded(let error) = ending else { return leave(ending, now) }
    if recording.refusePending() { lease.addNews() }
    finish = finish ?? RunFinish(settings, shortfall: error)
    state = .finishing
    journal(.recorded, error: error)
  }

  private mutating func carryOut(_ steps: [RunFinish.Step]?, _ now: RunTime) {
    for step in steps ?? [] {
      switch step {
      case .work(let work): actions.append(.finish(work))
      case .deliver(var item):
        item.usesUpload = item.usesUpload && recording.useUpload(of: item.source)
        actions.append(.finish(.deliver(item)))
      case .endAfter: actions.append(.endAfter)
      case .heartbeat: sendHeartbeat(.awaited, now)
      case .dropUpload: dropUpload()
      case .journal(let files): journal(.completing, files: files)
      case .log(let line): actions.append(.log(line))
      case .complete(let files): tellLast(.complete(CompleteRequest(fence: fence, files: files)), now)
      case .failed(let error, let mayRetry): leave(.failed(error, mayRetry: mayRetry), now)
      case .fenced: leave(.fenced, now)
      }
    }
  }

  private mutating func dropUpload() { if recording.dropUpload() { actions.append(.dropUpload) } }

  private mutating func leave(_ ending: RunEnding, isDone: Bool = false, _ now: RunTime) {
    actions.append(.countEnd(ending.count))
    dropUpload()
    switch ending {
    case .recorded where isDone:
      log(.info, "done")
      end()
    case .recorded: share(isRecorded: true)
    case .fenced:
      let places = recording.parts.all.map(\.location).joined(separator: " ")
      log(.warning, "somebody else has the job: stopped; what was recorded here is kept", ["parts": places])
      journal(.closed)
      state = .lookingUp
      actions.append(.lookUp)
    case .failed(let error, let mayRetry):
      log(.error, "failed", ["reason": error.message, "retried": "\(mayRetry)"])
      tellParts(ending, left: Self.partHeartbeats, now)
    case .handedOver: tellParts(ending, left: Self.partHeartbeats, now)
    }
  }

  /// Waits until the backend has heard everything of the parts, or until it is known that it can't be told.
  private mutating func tellParts(_ ending: RunEnding, left: Int, _ now: RunTime) {
    guard recording.parts.untold.isEmpty || lease.isAway || left == 0 else {
      state = .tellingParts(ending, left: left - 1)
      return sendHeartbeat(.awaited, now)
    }
    if case .failed(let error, let mayRetry) = ending {
      state = .journaling(error, mayRetry: mayRetry)
      return journal(.failing, error: error, mayRetry: mayRetry)
    }
    log(.notice, "handed over")
    let refusals = recording.commands.refusals
    let report = JobReport(
      part: recording.parts.untold.last, confirmed: recording.commands.confirmed,
      refusals: refusals.isEmpty ? nil : refusals, isRecorded: finish != nil)
    tellLast(.release(HeartbeatRequest(fence: fence, report: report)), now)
  }

  private mutating func tellLast(_ message: RunLastWord.Message, _ now: RunTime) {
    state = .telling(RunLastWord(message, now: now.elapsed))
    actions.append(.tellLast(message))
  }

  private mutating func answered(_ asked: RunLastWord, _ error: BackendError?, _ now: RunTime) {
    var word = asked
    let (outcome, line) = word.answered(error, now: now.elapsed)
    state = .telling(word)
    if let line { actions.append(.log(line)) }
    guard let outcome else { return }
    switch word.message {
    case .complete: completed(outcome, now)
    case .fail(let request): close(mayGoOn: request.mayRetry, isClosed: outcome != .refused)
    case .release: close(mayGoOn: true, isClosed: outcome != .refused)
    }
  }

  private mutating func completed(_ outcome: BackendOutcome, _ now: RunTime) {
    switch outcome {
    case .fenced: leave(.fenced, now)
    // What the backend doesn't take stays in the journal, and the parts where they are.
    case .refused: leave(.recorded(finish?.shortfall), now)
    case .accepted:
      lease.close()
      journal(.closed)
      for file in finish?.files ?? [] { log(.info, "delivered", ["file": file.location]) }
      state = .tidying
      // What was delivered and verified needs no second place.
      actions.append(.tidy(finish?.leftovers ?? [], shared: finish?.locations ?? []))
    }
  }

  /// The backend knows how the job left here, or somebody else has it. `mayGoOn`: on another worker.
  private mutating func close(mayGoOn: Bool, isClosed: Bool = true) {
    if isClosed { journal(.closed) }
    mayGoOn ? share(isRecorded: false) : end()
  }

  private mutating func share(isRecorded: Bool) {
    state = .sharing(isRecorded: isRecorded)
    actions.append(.share(recording.parts.all.map(\.location)))
  }

  private mutating func end() {
    state = .over
    lease.close()
    actions.append(.end)
  }

  // MARK: Words

  private mutating func journal(
    _ kind: JournalEntry.Kind, part: JobPart? = nil, files: [JobFile]? = nil, error: JobError? = nil,
    mayRetry: Bool? = nil
  ) {
    let entry = JournalEntry(
      kind: kind, job: job.id, fence: fence, part: part, files: files, error: error, mayRetry: mayRetry)
    actions.append(.journal(entry))
  }

  private mutating func log(_ level: Logger.Level, _ text: String, _ metadata: [String: String] = [:]) {
    actions.append(.log(RunLog(level: level, text: text, metadata: metadata)))
  }
}
