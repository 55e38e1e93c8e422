import JobsAPI
import MediaCore

/// What happens to a job.
public enum JobAction: Hashable, Sendable {
  /// A worker takes it.
  case claim(worker: String)
  /// The worker is alive and says how it stands.
  case heartbeat(fence: Int64, JobReport)
  /// The worker gives it back, to go on elsewhere.
  case release(fence: Int64, JobReport)
  /// The recording is over and every file is where it belongs.
  case complete(fence: Int64, [JobFile])
  /// The worker could not do it. `mayRetry`: trying again can help.
  case fail(fence: Int64, JobError, mayRetry: Bool)
  /// The lease may have ended.
  case expire
  /// Somebody tells the recording something.
  case command(JobCommand.Verb, argument: String?)
}

/// Why an action is not possible.
public enum JobRefusal: String, Error, Codable, Hashable, Sendable {
  /// The job is final.
  case isOver
  /// Its time has not come, or somebody else has it.
  case notAvailable
  /// The fencing number is not that of the newest lease: the worker was replaced, or its lease ended.
  case fenced
  /// The report's state is not one of a leased job, or goes back from finishing to recording.
  case impossibleState
  /// The command makes no sense in this state, or too many wait.
  case impossibleCommand
}

/// The life of a job. Pure: what comes out depends only on the job, the action and the time.
///
/// | from | action | to |
/// | --- | --- | --- |
/// | queued | claim | waiting (with a new fencing number) |
/// | waiting … uploading | heartbeat | what the worker says |
/// | waiting … uploading | release; expire after the lease; fail that may be retried | queued, and on from there |
/// | waiting … uploading | complete | completed, or cancelled when somebody wanted that |
/// | queued | cancel | cancelled |
/// | waiting … uploading, cancelled meanwhile | release, expire, fail | cancelled; what was recorded stays with its worker |
/// | queued, after the deadline | expire | failed; with parts: queued, to be finished |
/// | any that is not final | fail that can't be retried | failed |
public struct JobMachine: Hashable, Sendable {
  /// How long a lease lasts after each heartbeat.
  public var leaseTime = Duration.seconds(15)
  /// After so many attempts in a row that came to nothing a job is given up: what was recorded before is finished,
  /// with as many attempts again, and without that it fails. Being handed over is no failure.
  public var maximumAttempts = 20
  /// A part of this length shows that an attempt was a healthy one.
  public var healthyTime = Duration.seconds(60)
  /// The wait before the next attempt after the first failure; it doubles with each.
  public var retryDelay = Duration.seconds(2)
  /// The longest wait before the next attempt.
  public var maximumRetryDelay = Duration.seconds(300)
  /// How many unconfirmed commands a job may have.
  public var maximumCommands = 64
  /// How many of the newest refusals of commands are kept.
  public var maximumRefusals = 16

  /// The usual numbers.
  public init() {}

  /// A new job.
  public func submit(id: String, owner: String, request: JobRequest, origin: JobOrigin?, now: Timestamp) -> Job {
    Job(id: id, owner: owner, request: request, notBefore: request.startAt ?? now, origin: origin, now: now)
  }

  /// The job after the action. Throws when the action is not possible; nothing has changed then.
  public func apply(_ action: JobAction, to job: Job, now: Timestamp) throws(JobRefusal) -> Job {
    guard !job.state.isFinal else { throw .isOver }
    var next = job
    switch action {
    case .claim(let worker): try claim(&next, worker: worker, now: now)
    case .heartbeat(let fence, let report):
      try check(fence, of: job, now: now)
      try take(report, into: &next)
      next.lease?.until = now + leaseTime
    case .release(let fence, let report):
      try check(fence, of: job, now: now)
      try take(report, into: &next)
      queue(&next, notBefore: now, now: now)
    case .complete(let fence, let files):
      try check(fence, of: job, now: now)
      next.files = files
      // An error of an attempt that was made up for is nobody's concern any more.
      if !job.isRecorded { next.error = nil }
      // Told to stop before anything was recorded, it comes to nothing.
      let isNothing = files.isEmpty && job.parts.isEmpty && job.isRecorded
      end(&next, as: job.isCancelling || isNothing ? .cancelled : .completed, now: now)
    case .fail(let fence, let error, let mayRetry):
      try check(fence, of: job, now: now)
      fail(&next, error, mayRetry: mayRetry, now: now)
    case .expire: try expire(&next, now: now)
    case .command(let verb, let argument): try command(&next, verb, argument, now: now)
    }
    if next.state != job.state { next.updatedAt = now }
    return next
  }

  /// What a job's row must be looked at for next without anybody's doing: the end of its lease or its deadline.
  public func nextExpiry(of job: Job) -> Timestamp {
    if job.state.isFinal { return Timestamp(microseconds: .max) }
    if let lease = job.lease { return lease.until }
    return job.isRecorded ? Timestamp(microseconds: .max) : job.deadline
  }

  private func check(_ fence: Int64, of job: Job, now: Timestamp) throws(JobRefusal) {
    // A worker that comes a moment after its lease ended, before anybody else has the job, goes on with it.
    guard job.lease != nil, fence == job.fence else { throw .fenced }
  }

  private func claim(_ job: inout Job, worker: String, now: Timestamp) throws(JobRefusal) {
    guard job.state == .queued, job.notBefore <= now, job.isRecorded || now < job.deadline else { throw .notAvailable }
    job.attempt += 1
    job.fence += 1
    job.lease = Lease(worker: worker, fence: job.fence, until: now + leaseTime)
    job.state = job.isRecorded ? .finishing : .waiting
  }

  private func take(_ report: JobReport, into job: inout Job) throws(JobRefusal) {
    if let sid = report.roomSID, (1...128).contains(sid.utf8.count) { job.roomSID = sid }
    if let state = report.state {
      guard state.isLeased else { throw .impossibleState }
      // What is over is over: a report that was overtaken must not bring a recording back.
      if job.isRecorded, state != .finishing, state != .uploading { throw .impossibleState }
      job.state = state
    }
    if report.isRecorded {
      job.isRecorded = true
      job.error = report.error
    }
    confirm(report, &job)
    if let part = report.part {
      if part.attempt == job.attempt, part.duration >= healthyTime.microseconds { job.setbacks = nil }
      if let index = job.parts.firstIndex(where: { ($0.attempt, $0.piece) == (part.attempt, part.piece) }) {
        job.parts[index] = part
      } else {
        job.parts.append(part)
      }
    }
  }

  /// Takes commands off that were carried out, which the next part begins with, and those that were refused.
  private func confirm(_ report: JobReport, _ job: inout Job) {
    for command in job.commands where command.sequence <= report.confirmed {
      guard let refusal = report.refusals?.first(where: { $0.sequence == command.sequence }) else {
        job.steering.apply(command)
        continue
      }
      let kept = CommandRefusal(
        sequence: command.sequence, verb: command.verb, argument: command.argument,
        message: String(refusal.message.prefix(500)))
      job.refusals = (job.refusals ?? []).suffix(maximumRefusals - 1) + [kept]
    }
    job.commands.removeAll { $0.sequence <= report.confirmed }
  }

  private func queue(_ job: inout Job, notBefore: Timestamp, now: Timestamp) {
    // Nobody need finish what nobody wants.
    if job.isCancelling { return end(&job, as: .cancelled, now: now) }
    job.lease = nil
    job.state = .queued
    job.notBefore = notBefore
    if now >= job.deadline { job.isRecorded = true }
    if job.isRecorded, job.parts.isEmpty { endWithoutRecording(&job, now: now) }
    // However well it goes: a job's row must not grow for ever.
    let isWorn = (job.setbacks ?? 0) >= maximumAttempts || job.attempt / 50 >= maximumAttempts
    guard !job.state.isFinal, isWorn else { return }
    job.error = job.error ?? JobError(name: "workersLost", message: "every worker that took the job was lost")
    // What there is of a recording is not given up with the rest of it.
    guard !job.isRecorded, !job.parts.isEmpty else { return end(&job, as: .failed, now: now) }
    job.isRecorded = true
    job.setbacks = nil
  }

  private func endWithoutRecording(_ job: inout Job, now: Timestamp) {
    job.error =
      job.error ?? JobError(name: "deadlinePassed", message: "the deadline passed before anything was recorded")
    end(&job, as: .failed, now: now)
  }

  private func fail(_ job: inout Job, _ error: JobError, mayRetry: Bool, now: Timestamp) {
    job.error = error
    guard mayRetry else { return end(&job, as: .failed, now: now) }
    job.setbacks = (job.setbacks ?? 0) + 1
    let doublings = Int64(1) << Int64(min(max((job.setbacks ?? 1) - 1, 0), 20))
    let delay = min(
      .microseconds(retryDelay.microseconds.multipliedClamped(by: doublings)), maximumRetryDelay)
    queue(&job, notBefore: now + delay, now: now)
  }

  private func expire(_ job: inout Job, now: Timestamp) throws(JobRefusal) {
    if let lease = job.lease {
      guard lease.until <= now else { throw .notAvailable }
      job.setbacks = (job.setbacks ?? 0) + 1
      queue(&job, notBefore: now, now: now)
    } else {
      guard now >= job.deadline, !job.isRecorded else { throw .notAvailable }
      queue(&job, notBefore: now, now: now)
    }
  }

  private func command(
    _ job: inout Job, _ verb: JobCommand.Verb, _ argument: String?, now: Timestamp
  ) throws(JobRefusal) {
    if verb == .cancel {
      job.isCancelling = true
      if job.state == .queued { return queue(&job, notBefore: now, now: now) }
    } else if job.isRecorded || job.isCancelling {
      throw .impossibleCommand
    } else if verb == .stop, job.state == .queued {
      // Nothing has been recorded: there is nothing to complete.
      if job.parts.isEmpty { job.isCancelling = true }
      job.isRecorded = true
      return queue(&job, notBefore: now, now: now)
    }
    // An end that waits already is not asked for again: these have no limit in number.
    let isEnd = verb == .stop || verb == .cancel
    if isEnd, job.commands.contains(where: { $0.verb == verb }) { return }
    guard job.commands.count < maximumCommands || isEnd,
      (argument?.utf8.count ?? 0) <= 65_536
    else { throw .impossibleCommand }
    job.commandSequence += 1
    job.commands.append(JobCommand(sequence: job.commandSequence, verb: verb, argument: argument))
  }

  private func end(_ job: inout Job, as state: JobState, now: Timestamp) {
    job.state = state
    job.lease = nil
    job.commands = []
    job.finishedAt = now
  }
}
