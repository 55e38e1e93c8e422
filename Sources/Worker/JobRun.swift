import Delivery
import Foundation
import Glibc
import Jobs
import Logging
import WebM

/// One job in this worker's hands, from the claim to its end: keeps the lease, runs the recording's process, starts
/// another one when it crashes, and sees to it that the file gets where it belongs.
///
/// Whatever is lost, the recording goes on as long as it can: without the backend it is recorded on, and what must be
/// told stands in the journal. Only the word that somebody else has the job ends it at once.
actor JobRun {
  /// What is done with the job when its recording is over.
  enum Outcome: Hashable {
    /// It is finished and completed; the error says why it is less than was wanted.
    case recorded(JobError?)
    case failed(JobError, mayRetry: Bool)
    /// Somebody else goes on with it.
    case handedOver
    /// Somebody else has it.
    case fenced
  }

  /// The crashes in a row after which the job is given back.
  private static let crashes = 6
  /// Names of errors of the finishing alone.
  private static let passing: Set = ["deliveryFailed", "notFinished", "partsMissing", "dataFolder", "afterFailed"]
  /// A recording that says nothing for so long has got stuck.
  private static let silence = Duration.seconds(30)
  /// A process that ran so long has begun anew.
  private static let healthyTime = TimeSpan.seconds(60)

  let context: RunContext
  let handover: PartHandover
  let id: String
  var job: Job
  var fence: Int64
  var ticket: RoomTicket
  var logger: Logger

  /// The state that the backend is told.
  var state: JobState
  var isRecorded: Bool
  /// Why the recording is less than was wanted.
  var shortfall: JobError?
  var isFenced = false
  var isHandingOver = false
  /// The backend knows that it is completed.
  var isDone = false
  private var isStopping = false
  /// Nothing more is done here but to tell the backend.
  private var isOver = false
  private var steering: JobSteering
  private var sentSequence: Int64 = 0
  private var confirmed: Int64 = 0
  /// Commands that no process has carried out or refused.
  private var pending: [JobCommand] = []
  /// Refusals of which the backend has not heard.
  private var refusals: [CommandRefusal] = []
  var process: RecordingProcess?
  /// The parts that were made here, and those of them of which the backend has not heard the newest.
  var parts: [JobPart] = []
  private var untold: [JobPart] = []
  /// Parts whose process ended well: they need no repair.
  var wholeParts: Set<String> = []
  var live: (upload: LiveUpload, task: Task<Void, Never>, path: String)?
  private var lastReport: RecordingReport?
  /// The id of the room's life, as the newest process was told it.
  private var roomSID: String?
  private var lastHeard = ContinuousClock.now
  /// Looks at files whose process broke off.
  private var settling: [Task<Void, Never>] = []
  private var isAway = false
  private var lastBeat = ContinuousClock.now
  private(set) var lastContact = ContinuousClock.now
  private var needsBeat = false

  init(_ assignment: Assignment, context: RunContext) {
    self.context = context
    job = assignment.job
    id = job.id
    fence = job.fence
    ticket = assignment.ticket
    state = job.isRecorded ? .finishing : .waiting
    isRecorded = job.isRecorded
    // What only kept an earlier attempt from finishing is no lack of the recording.
    shortfall = job.isRecorded ? job.error.flatMap { Self.passing.contains($0.name) ? nil : $0 } : nil
    steering = job.steering
    var logger = context.logger
    logger[metadataKey: "job"] = "\(job.id)"
    self.logger = logger
    handover = PartHandover(job: job, delivery: context.delivery, logger: logger)
  }

  /// The number of the recording's process, while there is one.
  var processNumber: Int32? { process?.number }
  /// True while something is recorded, or will be.
  var isRecording: Bool { !isRecorded }

  /// Does all of it. Returns when nothing is left to do here.
  func run() async {
    logger.info("taken", metadata: ["room": "\(job.request.room)", "attempt": "\(job.attempt)"])
    await note(JournalEntry(kind: .taken, job: id, fence: fence))
    let telling = Task { await tellUntilCancelled() }
    let listening = Task { await listenUntilCancelled() }
    defer {
      telling.cancel()
      listening.cancel()
    }
    takeCommands(of: job)
    var outcome: Outcome
    if isRecorded {
      outcome = .recorded(shortfall)
    } else if let impossible = impossibility() {
      outcome = impossible
    } else {
      outcome = await record()
    }
    for task in settling { await task.value }
    if case .recorded(let error) = outcome {
      refusePending()
      outcome = await finish(error)
    }
    isOver = true
    context.counts.ended(end(of: outcome))
    await dropLive()
    switch outcome {
    case .recorded:
      if !isDone { await share() }
      logger.info("done")
    case .fenced:
      logger.warning("somebody else has the job: stopped; what was recorded here is kept", metadata: places)
      await close()
      // What the new owner needs of it; nothing, when the job is over.
      if let known = try? await context.client.workerJob(id), !known.state.isFinal { await share() }
    case .handedOver:
      await tellParts()
      await giveBack()
      await share()
    case .failed(let error, let mayRetry):
      logger.error("failed", metadata: ["reason": "\(error.message)", "retried": "\(mayRetry)"])
      await tellParts()
      let request = FailRequest(fence: fence, error: error, mayRetry: mayRetry)
      await note(
        JournalEntry(kind: .failing, job: id, fence: fence, error: error, mayRetry: mayRetry))
      let id = id
      let answer = await context.insist(
        { client throws(BackendError) in _ = try await client.fail(job: id, request) }, logger: logger)
      if answer != .refused { await close() }
      if mayRetry { await share() }
    }
    await handover.stopAll()
  }

  private func end(of outcome: Outcome) -> WorkerCounts.End {
    switch outcome {
    case .recorded(let error): error == nil ? .completed : .incomplete
    case .failed: .failed
    case .handedOver: .handedOver
    case .fenced: .lost
    }
  }

  /// The backend gave the job to this same worker again, after it had believed it lost: it goes on as it is.
  func renew(_ assignment: Assignment) async -> Bool {
    guard !isFenced, !isHandingOver, !isOver, assignment.job.fence > fence else { return false }
    logger.notice("the lease was lost and is here again")
    await note(JournalEntry(kind: .closed, job: id, fence: fence))
    fence = assignment.job.fence
    await note(JournalEntry(kind: .taken, job: id, fence: fence))
    for part in parts { await note(JournalEntry(kind: .part, job: id, fence: fence, part: part)) }
    if isRecorded { await note(JournalEntry(kind: .recorded, job: id, fence: fence, error: shortfall)) }
    job = assignment.job
    ticket = assignment.ticket
    process?.send(.ticket(ticket))
    untold = parts
    needsBeat = true
    return true
  }

  /// Ends the recording here, for another worker to go on. What is being finished is finished first.
  func handOver() {
    guard !isRecorded else { return }
    isHandingOver = true
    process?.send(.command(JobCommand(sequence: 0, verb: .stop)))
  }

  // MARK: Recording

  private func record() async -> Outcome {
    var failures = 0
    for piece in 0... {
      if let end = endBeforeStart() { return end }
      let folder: String
      do {
        folder = try context.folder.parts(of: id)
        if job.request.log == true { try WorkerFolder.make(context.settings.logs) }
      } catch {
        return .failed(JobError(name: "dataFolder", message: error.description), mayRetry: true)
      }
      let path = "\(folder)/\(fence)-\(piece).webm"
      // What changes the looks is there from the first picture on; a mark needs a recording.
      let first = pending.prefix { [.layout, .title, .pause, .resume].contains($0.verb) }
      let order = RecordingOrder(
        job: id, attempt: job.attempt, request: job.request, ticket: ticket, output: path, log: log(of: path),
        remaining: remaining, steering: steering, commands: Array(first),
        turnCredential: context.settings.launch.turnCredential)
      let began = ContinuousClock.now
      lastReport = nil
      let process = RecordingProcess(context.settings.launch, order: order)
      self.process = process
      lastHeard = .now
      for command in pending[first.endIndex...] { process.send(.command(command)) }
      if isStopping || isHandingOver { process.send(.command(JobCommand(sequence: 0, verb: .stop))) }
      for await report in process.reports { await take(report, piece: piece, path: path) }
      let exit = await process.exit()
      self.process = nil
      if isFenced { return .fenced }
      if let end = lastReport?.end {
        wholeParts.insert(path)
        // A file that no picture came into is no part.
        if !parts.contains(where: { $0.location == path }) { await discard(path) }
        return outcome(of: end)
      }
      // The next process doesn't wait for a look at what this one has left.
      settling.append(Task { await settle(piece: piece, path: path) })
      if isHandingOver { return .handedOver }
      // No last word: it crashed.
      let reason = Self.words(exit)
      logger.error("the recording's process broke off", metadata: ["reason": "\(reason)"])
      failures = ContinuousClock.now - began > .microseconds(Self.healthyTime.microseconds) ? 1 : failures + 1
      guard failures < Self.crashes else {
        return .failed(JobError(name: "recorderCrashed", message: reason), mayRetry: true)
      }
      // At once at first: each moment is one that is not recorded.
      if failures > 1 { try? await Task.sleep(for: .milliseconds(250 << (failures - 2))) }
    }
    return .recorded(nil)
  }

  /// What keeps this worker from ever delivering the job's files: told before anything is recorded, not afterwards.
  private func impossibility() -> Outcome? {
    for output in job.request.outputs.isEmpty ? [JobOutput()] : job.request.outputs {
      do throws(WorkerError) {
        _ = try context.delivery.target(isStore: output.destination.map { $0 == .s3 })
        _ = try context.delivery.name(template: output.template, room: job.request.room, job: id, time: 0, attempt: 1)
      } catch {
        return .failed(JobError(name: "notDeliverable", message: error.description), mayRetry: false)
      }
    }
    return nil
  }

  /// What ends the job before another piece is begun.
  private func endBeforeStart() -> Outcome? {
    if isFenced { return .fenced }
    if isStopping { return .recorded(nil) }
    if let remaining, remaining <= 0 { return .recorded(nil) }
    if job.deadline <= .now {
      let error = JobError(name: "deadlinePassed", message: "the deadline passed before anything was recorded")
      return hasParts ? .recorded(nil) : .failed(error, mayRetry: false)
    }
    return isHandingOver ? .handedOver : nil
  }

  private var hasParts: Bool { !parts.isEmpty || !job.parts.isEmpty }

  /// What is left of the longest duration, in microseconds.
  private var remaining: Int64? {
    guard let most = job.request.maxDuration else { return nil }
    let here = Set(parts.map(\.location))
    let before = job.parts.filter { !here.contains($0.location) } + parts
    return most.multipliedReportingOverflow(by: 1_000_000).partialValue &- before.reduce(0) { $0 &+ $1.duration }
  }

  private func outcome(of end: RecordingReport.End) -> Outcome {
    guard let error = end.error else { return isHandingOver && !isStopping ? .handedOver : .recorded(nil) }
    if isStopping, hasParts { return .recorded(nil) }
    if end.mayRetry { return isHandingOver ? .handedOver : .failed(error, mayRetry: true) }
    // Trying again can't help: what there is, is the recording.
    return hasParts ? .recorded(error) : .failed(error, mayRetry: false)
  }

  private func take(_ report: RecordingReport, piece: Int, path: String) async {
    takeAnswers(report)
    if report.state != state, report.state != .finishing {
      state = report.state
      needsBeat = true
    }
    if let sid = report.roomSID, sid != roomSID {
      roomSID = sid
      needsBeat = true
    }
    context.counts.take(report, after: lastReport)
    lastReport = report
    lastHeard = .now
    guard let startedAt = report.startedAt else { return }
    let part = part(piece, path, startedAt: startedAt, duration: report.duration)
    if keep(part) { await note(JournalEntry(kind: .part, job: id, fence: fence, part: part)) }
    startLive(path, startedAt: startedAt)
    await handover.follow(path)
  }

  private func part(_ piece: Int, _ path: String, startedAt: Timestamp, duration: Int64) -> JobPart {
    JobPart(
      attempt: job.attempt, piece: piece, worker: context.settings.name, location: path, startedAt: startedAt,
      duration: duration, log: log(of: path).flatMap { access($0, F_OK) == 0 ? $0 : nil })
  }

  /// Takes in what the process has made of its commands: only what was carried out holds for the parts after this one.
  private func takeAnswers(_ report: RecordingReport) {
    while let command = pending.first, command.sequence <= report.confirmed {
      pending.removeFirst()
      confirmed = max(confirmed, command.sequence)
      needsBeat = true
      guard let refusal = report.refusals.first(where: { $0.sequence == command.sequence }) else {
        steering.apply(command)
        continue
      }
      logger.warning("a command was refused", metadata: ["reason": "\(refusal.message)"])
      refusals.append(refusal)
    }
  }

  /// Says of the commands that nobody carries out any more that they came too late.
  private func refusePending() {
    for command in pending where command.verb != .stop && command.verb != .cancel {
      refusals.append(CommandRefusal(sequence: command.sequence, message: "the recording is over"))
    }
    guard let last = pending.last else { return }
    confirmed = max(confirmed, last.sequence)
    pending = []
    needsBeat = true
  }

  /// Keeps what is known of a part; true when it is new.
  private func keep(_ part: JobPart) -> Bool {
    if let index = untold.firstIndex(where: { $0.location == part.location }) {
      untold[index] = part
    } else {
      untold.append(part)
    }
    guard let index = parts.firstIndex(where: { $0.location == part.location }) else {
      parts.append(part)
      needsBeat = true
      return true
    }
    parts[index] = part
    return false
  }

  /// Looks at the file that a process has left, whichever way it ended.
  private func settle(piece: Int, path: String) async {
    guard let found = await Blocking.run({ PartFile.probe(path) }) else { return }
    let known = parts.first { $0.location == path }
    let startedAt =
      known?.startedAt ?? found.startedAt ?? Timestamp.now - TimeSpan(microseconds: found.duration)
    let part = part(piece, path, startedAt: startedAt, duration: found.duration)
    _ = keep(part)
    await note(JournalEntry(kind: .part, job: id, fence: fence, part: part))
  }

  private static func words(_ exit: RecordingProcess.Exit) -> String {
    switch exit {
    case .exited(let code): "it ended with code \(code)"
    case .signaled(let signal): "it was ended by signal \(signal)"
    case .notStarted(let reason): "it could not be started: \(reason)"
    }
  }

  // MARK: The lease

  /// Tells the backend soon what has changed.
  private func tellUntilCancelled() async {
    while !Task.isCancelled, !isFenced {
      let age = ContinuousClock.now - lastBeat
      // While the backend is away, it is looked for more often than it need hear.
      if isAway ? age >= .seconds(1) : needsBeat && age >= .milliseconds(250) { _ = await beat() }
      if let process, ContinuousClock.now - lastHeard > Self.silence {
        logger.error("the recording's process says nothing any more: it is ended")
        lastHeard = .now
        process.kill()
      }
      try? await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Keeps the lease, and hears of commands as soon as there are any.
  private func listenUntilCancelled() async {
    while !Task.isCancelled, !isFenced {
      let began = ContinuousClock.now
      if !isAway { _ = await beat(wait: context.settings.heartbeatTime) }
      // What is answered at once, as by a backend that goes down, is not asked without end.
      let rest = Duration.seconds(1) - (ContinuousClock.now - began)
      if rest > .zero { try? await Task.sleep(for: rest) }
    }
  }

  /// Tells the backend how the job stands; the answer may be held for so many seconds. False when it did not hear it.
  func beat(wait: Int64 = 0) async -> Bool {
    needsBeat = false
    lastBeat = .now
    let (told, refused) = (untold.first, refusals)
    let request = BeatRequest(
      fence: fence,
      report: JobReport(
        state: state, part: told, confirmed: confirmed, refusals: refused.isEmpty ? nil : refused,
        isRecorded: isRecorded, error: shortfall, roomSID: roomSID))
    do {
      let answer = try await context.client.heartbeat(job: id, request, wait: wait)
      guard request.fence == fence else { return false }
      if isAway { logger.notice("the backend is back") }
      isAway = false
      lastContact = .now
      if let told, let index = untold.firstIndex(of: told) { untold.remove(at: index) }
      refusals.removeAll { refused.contains($0) }
      if !untold.isEmpty { needsBeat = true }
      if let fresh = answer.ticket {
        ticket = fresh
        process?.send(.ticket(fresh))
      }
      takeCommands(of: answer.job)
      return true
    } catch {
      // What is asked when the job is over is given up, and no sign of anything.
      guard request.fence == fence, !Task.isCancelled, !isDone else { return false }
      if error.isFenced {
        isFenced = true
        process?.kill()
      } else if error.isOvertaken {
        logger.debug("a sign of life was refused", metadata: ["reason": "\(error)"])
      } else if !isAway {
        logger.warning("no sign of life reached the backend; the job goes on", metadata: ["reason": "\(error)"])
        isAway = true
      }
      return false
    }
  }

  /// Passes new commands on.
  private func takeCommands(of job: Job) {
    for command in job.commands where command.sequence > sentSequence {
      sentSequence = command.sequence
      if command.verb == .stop || command.verb == .cancel { isStopping = true }
      pending.append(command)
      // Without one, the next process begins with it.
      process?.send(.command(command))
    }
    self.job.commands = job.commands
    self.job.isCancelling = job.isCancelling
  }

  /// Waits until the backend has heard everything of the parts, or until it is known that it can't be told.
  private func tellParts() async {
    for _ in 0..<20 where !untold.isEmpty && !isFenced && !isAway { _ = await beat() }
  }

  private func giveBack() async {
    let request = BeatRequest(
      fence: fence,
      report: JobReport(
        part: untold.last, confirmed: confirmed, refusals: refusals.isEmpty ? nil : refusals, isRecorded: isRecorded))
    let id = id
    logger.notice("handed over")
    // Who can't be told will find out by the end of the lease.
    let answer = await context.insist(
      { client throws(BackendError) in _ = try await client.release(job: id, request) }, for: .seconds(10),
      logger: logger)
    if answer != .refused { await close() }
  }

  /// Nothing is left to do here.
  func close() async { await note(JournalEntry(kind: .closed, job: id, fence: fence)) }

  func note(_ entry: JournalEntry) async {
    do {
      try await context.journal.append(entry)
    } catch {
      logger.error("the journal can't be written; the job goes on without", metadata: ["reason": "\(error)"])
    }
  }

  /// Brings the parts that were made here to where other workers reach them.
  private func share() async { await handover.share(parts.map(\.location)) }

  private var places: Logger.Metadata { ["parts": "\(parts.map(\.location).joined(separator: " "))"] }
}
