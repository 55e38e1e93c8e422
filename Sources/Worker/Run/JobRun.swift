import Foundation
import Glibc
import JobsAPI
import Logging
import Platform

/// The shell of a `RunMachine`: owns the recording's process, the timer, the requests to the backend, the journal's
/// entries and the work on files. It turns what comes of them into events, and carries actions out.
actor JobRun {
  private let context: RunContext
  private let job: Job
  private let logger: Logger
  private let handover: PartHandover
  private let work: FinishWork
  private let beganAt = ContinuousClock.now
  private var machine: RunMachine
  private var timer: (deadline: Duration, task: Task<Void, Never>)?
  private var process: RecordingProcess?
  private var upload: RecordingUpload?
  private var isAfterWanted = true
  private var heartbeats: [Int: Task<Void, Never>] = [:]
  /// Entries of the journal, and work on files: each in its order.
  private var entries = TaskChain()
  private var files = TaskChain()
  private var whenOver: CheckedContinuation<Void, Never>?

  init(_ assignment: Assignment, context: RunContext) {
    self.context = context
    job = assignment.job
    var logger = context.logger
    logger[metadataKey: "job"] = "\(job.id)"
    self.logger = logger
    handover = PartHandover(job: job, delivery: context.delivery, logger: logger)
    work = FinishWork(context: context, job: job, handover: handover, logger: logger)
    let worker = context.settings
    let settings = RunSettings(
      worker: worker.name, parts: context.folder.partsPath(of: job.id), logs: worker.logs,
      heartbeatTime: worker.heartbeatTime, turnCredential: worker.launch.turnCredential,
      isUploadedLive: context.delivery.plan.upload == .live, canFetchParts: handover.isPossible,
      hasAfterCommand: worker.after != nil, obstacle: FinishWork.obstacle(for: job, context.delivery))
    machine = RunMachine(assignment, settings: settings)
  }

  /// The number of the recording's process, while there is one.
  var processNumber: Int32? { process?.number }
  /// The fencing number with which the backend is told.
  var fence: Int64 { machine.fence }

  /// Does all of it. Call it once. Returns when nothing is left to do here.
  func run() async {
    await withCheckedContinuation { continuation in
      whenOver = continuation
      handle(.begun)
    }
  }

  /// The backend gave the job to this same worker again, after it had believed it lost: it goes on as it is. False when
  /// the run has to end first.
  func renew(_ assignment: Assignment) -> Bool {
    guard machine.accepts(assignment) else { return false }
    handle(.renewed(assignment))
    return true
  }

  /// Ends the recording here, for another worker to go on. What is being finished is finished first.
  func handOver() { handle(.handOver) }

  // MARK: Events

  private func handle(_ event: RunEvent) {
    let now = RunTime(elapsed: ContinuousClock.now - beganAt, calendar: .now)
    for action in machine.handle(event, now: now) { carryOut(action) }
    setTimer()
  }

  private func setTimer() {
    let deadline = machine.nextDeadline
    guard deadline != timer?.deadline else { return }
    timer?.task.cancel()
    timer = deadline.map { deadline in
      let task = Task {
        try? await Task.sleep(until: beganAt + deadline, clock: .continuous)
        guard !Task.isCancelled else { return }
        timer = nil
        handle(.timer)
      }
      return (deadline, task)
    }
  }

  // MARK: Actions

  private func carryOut(_ action: RunAction) {
    switch action {
    case .journal(let entry): write(entry)
    case .heartbeat(let number, let request, let wait): send(number, request, wait: wait)
    case .startRecorder(let order): start(order)
    case .tell(let input): process?.send(input)
    case .killRecorder: process?.kill()
    case .probe(let piece): probe(piece)
    case .delete(let piece): delete(piece)
    case .follow(let path): files.add { [handover] in await handover.follow(path) }
    case .beginUpload(let path, let startedAt, let attempt):
      upload = RecordingUpload(
        path, of: job, attempt: attempt, time: startedAt, delivery: context.delivery, logger: logger)
    case .dropUpload: if let upload = takeUpload() { files.add { await upload.cancel() } }
    case .finish(let work): carryOut(work)
    case .endAfter: isAfterWanted = false
    case .tellLast(let message): tell(message)
    case .lookUp: lookUp()
    case .share(let paths):
      files.add { [handover] in
        await handover.share(paths)
        await self.handle(.shared)
      }
    case .tidy(let paths, let shared):
      files.add { [work] in
        await work.tidy(paths, shared: shared)
        await self.handle(.tidied)
      }
    case .countReport(let report, let before): context.metrics.take(report, after: before)
    case .countEnd(let end): context.metrics.ended(end)
    case .log(let line):
      logger.log(level: line.level, "\(line.text)", metadata: line.metadata.mapValues { .string($0) })
    case .end: end()
    }
  }

  private func write(_ entry: JournalEntry) {
    entries.add { [context, logger] in
      do {
        try await context.journal.append(entry)
      } catch {
        logger.error("the journal can't be written; the job goes on without", metadata: ["reason": "\(error)"])
      }
      await self.handle(.journaled(entry.kind, fence: entry.fence))
    }
  }

  private func send(_ number: Int, _ request: HeartbeatRequest, wait: Int64) {
    heartbeats[number] = Task {
      var event: RunEvent
      do throws(BackendError) {
        let answer = try await context.client.heartbeat(job: job.id, request, wait: wait)
        event = .heartbeatAnswered(number, answer)
      } catch {
        event = .heartbeatFailed(number, error)
      }
      heartbeats[number] = nil
      handle(event)
    }
  }

  private func start(_ order: RecordingOrder) {
    do throws(WorkerError) {
      _ = try context.folder.parts(of: job.id)
      if order.log != nil { try WorkerFolder.make(context.settings.logs) }
    } catch {
      Task { handle(.notPrepared(error.description)) }
      return
    }
    let process = RecordingProcess(context.settings.launch, order: order)
    self.process = process
    Task {
      for await report in process.reports { handle(.reported(report, hasLog: Self.isThere(order.log))) }
      let exit = await process.exit()
      self.process = nil
      handle(.recorderEnded(exit))
    }
  }

  private static func isThere(_ path: String?) -> Bool { path.map { access($0, F_OK) == 0 } ?? false }

  private func probe(_ piece: RunPiece) {
    Task {
      let found = await BlockingWork.run { PartFile.probe(piece.path) }
      handle(.probed(piece, found, hasLog: Self.isThere(piece.log)))
    }
  }

  private func delete(_ piece: RunPiece) {
    let sideFiles = job.request.sideFiles
    files.add {
      await BlockingWork.run {
        unlink(piece.path)
        for kind in sideFiles { unlink(kind.path(beside: piece.path)) }
        if let log = piece.log { try? FileManager.default.removeItem(atPath: log) }
      }
    }
  }

  private func takeUpload() -> RecordingUpload? {
    defer { upload = nil }
    return upload
  }

  private func carryOut(_ work: RunFinish.Work) {
    var used: RecordingUpload?
    if case .deliver(let item) = work, item.usesUpload { used = takeUpload() }
    files.add { [finishing = self.work, used] in
      let event = await finishing.carryOut(work, upload: used) { await self.isAfterWanted }
      await self.handle(.finish(event))
    }
  }

  private func tell(_ message: RunLastWord.Message) {
    let client = context.client
    Task {
      var failure: BackendError?
      let fence: Int64
      do throws(BackendError) {
        switch message {
        case .complete(let request):
          fence = request.fence
          _ = try await client.complete(job: job.id, request)
        case .fail(let request):
          fence = request.fence
          _ = try await client.fail(job: job.id, request)
        case .release(let request):
          fence = request.fence
          _ = try await client.release(job: job.id, request)
        }
      } catch {
        failure = error
      }
      handle(.lastWordAnswered(fence: fence, failure))
    }
  }

  private func lookUp() {
    Task {
      let known = try? await context.client.workerJob(job.id)
      handle(.lookedUp(needsParts: known.map { !$0.state.isFinal } ?? false))
    }
  }

  private func end() {
    for heartbeat in heartbeats.values { heartbeat.cancel() }
    files.add { [handover] in await handover.stopAll() }
    Task {
      await entries.end?.value
      await files.end?.value
      whenOver?.resume()
      whenOver = nil
    }
  }
}
