import Delivery
import Foundation
import Glibc
import JobsAPI
import Logging
import Platform

/// Takes jobs from a backend, and runs each recording as a process of its own.
///
/// `run` once; then `drain`, and `handOver` when it takes too long. All may be called from any task.
public actor JobWorker {
  /// How a worker stands, for people and metrics.
  public struct Status: Hashable, Sendable {
    /// What the backend is told.
    public var worker: WorkerStatus
    /// When the backend last answered a question for jobs; nil: never.
    public var lastContact: ContinuousClock.Instant?
    /// Cores and memory that recordings may use in all.
    public var limits: Admission.Limits
  }

  /// What it was told.
  public nonisolated let settings: WorkerSettings
  /// The finished files of its data folder.
  nonisolated let keptFiles: KeptFiles
  private let client: BackendClient
  private let logger: Logger
  private let context: RunContext
  private let recoveries: [JournalRecovery]
  /// Keeps the name for this worker alone.
  private let heldName: WorkerFolder?
  private var admission: Admission
  private var runs: [String: JobRun] = [:]
  private var tasks: [String: Task<Void, Never>] = [:]
  /// The runs' names in the books of costs.
  private var keys: [String: String] = [:]
  private var usedTime: [String: (time: Int64, at: ContinuousClock.Instant)] = [:]
  private var cores = 0.0
  private var isDraining = false
  private var isHandingOver = false
  private var lastContact: ContinuousClock.Instant?
  private var isAway = false
  /// The names of the frame keys that were there at the last claim.
  private var frameKeys: [String]?
  /// Why this backend is not the right one, or this worker not for it.
  private var refusal: BackendError?

  /// Takes a place in the data folder and reads what was left there. Throws when the folder can't be used. Blocks for
  /// the disk a moment.
  public init(_ settings: WorkerSettings, client: BackendClient, logger: Logger) throws(WorkerError) {
    self.settings = settings
    self.client = client
    self.logger = logger
    heldName = settings.hasChosenName ? try WorkerFolder.hold(name: settings.name, in: settings.dataDirectory) : nil
    var recoveries: [JournalRecovery] = []
    for folder in try WorkerFolder.abandoned(in: settings.dataDirectory) {
      let (journal, open) = try Journal.open(folder.journal)
      if !open.isEmpty { recoveries.append(JournalRecovery(folder: folder, journal: journal, open: open)) }
    }
    self.recoveries = recoveries
    let folder = try WorkerFolder.take(in: settings.dataDirectory)
    let (journal, _) = try Journal.open(folder.journal)
    try WorkerFolder.make(settings.delivery.local)
    do throws(DeliveryError) {
      keptFiles = try KeptFiles(
        dataFolder: settings.dataDirectory,
        roots: [settings.delivery.local] + (settings.delivery.backup.map { [$0] } ?? []))
    } catch {
      throw WorkerError(error.description, isFolder: true)
    }
    context = RunContext(
      settings: settings, client: client, folder: folder, journal: journal,
      delivery: FileDelivery(plan: settings.delivery, logger: logger), logger: logger, folderID: keptFiles.folderID)
    admission = Admission(limits: Machine.limits(), fixed: settings.capacity)
  }

  /// Works until `drain` was called and nothing runs any more. Cancelling the task hands everything over at once. Throws
  /// when the backend takes no such worker: its first answer says that the secret is wrong, or it is none of recbot's.
  /// One that was known before is waited for, whatever stands in its place meanwhile.
  public func run() async throws(BackendError) {
    logger.notice(
      "worker \(settings.name) takes jobs",
      metadata: ["backend": "\(client.url)", "capacity": "\(admission.capacity)", "data": "\(context.folder.path)"])
    let recoveries = recoveries
    let (client, settings, logger) = (client, settings, logger)
    let settling = Task {
      for recovery in recoveries {
        await recovery.settle(client, worker: settings.name, delivery: context.delivery, logger: logger)
      }
    }
    let housekeeping = Task { await housekeepUntilCancelled() }
    let measuring = Task { await measureUntilCancelled() }
    await withTaskCancellationHandler {
      while !isDraining, !Task.isCancelled { await claim() }
    } onCancel: {
      Task { await self.handOver() }
    }
    await waitForRuns()
    measuring.cancel()
    settling.cancel()
    housekeeping.cancel()
    await settling.value
    await housekeeping.value
    if let refusal { throw refusal }
    logger.notice("worker \(settings.name) has ended")
  }

  /// Takes nothing more; `run` returns after what it has. What runs longer than the drain time is handed over.
  public func drain() {
    guard !isDraining else { return }
    isDraining = true
    if !runs.isEmpty {
      logger.notice(
        "draining",
        metadata: ["running": "\(runs.count)", "seconds": "\(settings.drainTime.components.seconds)"])
    }
    Task { [time = settings.drainTime] in
      try? await Task.sleep(for: time)
      handOver()
    }
  }

  /// Ends all recordings here, for other workers to go on. What is being finished and uploaded goes on.
  public func handOver() {
    drain()
    guard !isHandingOver else { return }
    isHandingOver = true
    let runs = Array(runs.values)
    Task { for run in runs { await run.handOver() } }
  }

  /// How it stands.
  public var status: Status {
    Status(
      worker: WorkerStatus(
        running: admission.running, capacity: admission.capacity, cores: (cores * 100).rounded() / 100,
        memory: admission.used.memory, isDraining: isDraining, dataFolder: keptFiles.folderID,
        filesURL: settings.filesURL, abilities: settings.abilities(keys: frameKeys)),
      lastContact: lastContact, limits: admission.limits)
  }

  /// What comes of its jobs.
  nonisolated var metrics: WorkerMetrics { context.metrics }

  // MARK: Jobs

  private func claim() async {
    let free = admission.free
    if let folder = settings.keys { frameKeys = await BlockingWork.run { folder.names() } }
    let request = ClaimRequest(
      worker: settings.name, count: free, status: status.worker, wait: free > 0 ? settings.pollTime : 0)
    do {
      let answer = try await client.claim(request)
      if isAway { logger.notice("the backend is back") }
      isAway = false
      lastContact = .now
      for assignment in answer.assignments { await start(assignment) }
      // A worker that is full still says so now and then; one that found something asks again at once.
      if free == 0 { await pause(.seconds(2)) }
    } catch {
      if lastContact == nil, !error.isPassing {
        refusal = error
        return drain()
      }
      if !isAway { logger.warning("no jobs can be taken", metadata: ["reason": "\(error)"]) }
      isAway = true
      await pause(error.isPassing ? .milliseconds(500) : .seconds(5))
    }
  }

  /// Sleeps, unless it is draining.
  private func pause(_ time: Duration) async {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end, !isDraining, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(50)) }
  }

  private func start(_ assignment: Assignment) async {
    let job = assignment.job
    if let run = runs[job.id], await run.renew(assignment) { return }
    if isDraining {
      // Given in the same moment: somebody else is free for it.
      let back = HeartbeatRequest(fence: job.fence, report: JobReport())
      _ = try? await client.release(job: job.id, back)
      return
    }
    let key = "\(job.id)/\(job.fence)"
    let run = JobRun(assignment, context: context)
    metrics.took()
    admission.start(key, now: .now)
    let before = tasks[job.id]
    runs[job.id] = run
    keys[job.id] = key
    tasks[job.id] = Task {
      // What this worker did under an older lease has ended, or is about to.
      await before?.value
      await run.run()
      ended(job.id, key: key, run: run)
    }
  }

  private func ended(_ id: String, key: String, run: JobRun) {
    admission.end(key)
    usedTime[key] = nil
    guard runs[id] === run else { return }
    runs[id] = nil
    keys[id] = nil
    tasks[id] = nil
  }

  private func waitForRuns() async {
    while !tasks.isEmpty {
      if Task.isCancelled {
        for task in Array(tasks.values) { await task.value }
        continue
      }
      let request = ClaimRequest(worker: settings.name, count: 0, status: status.worker)
      _ = try? await client.claim(request)
      for _ in 0..<50 where !tasks.isEmpty { try? await Task.sleep(for: .milliseconds(100)) }
    }
    // The backend need not wait for a sign of life to know that it is gone.
    _ = try? await client.claim(ClaimRequest(worker: settings.name, count: 0, status: status.worker))
  }

  // MARK: Housekeeping

  /// Delivers what waits in the backup folder, and deletes old parts that nobody needs and logs whose time is over.
  private func housekeepUntilCancelled() async {
    let retention = PartRetention(data: settings.dataDirectory, client: client, age: settings.keepTime, logger: logger)
    let rounds = BackupRounds(settings.delivery, client: client, logger: logger)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await rounds?.runUntilCancelled() }
      group.addTask {
        while !Task.isCancelled {
          await retention.sweep(now: .now)
          await self.pruneLogs()
          try? await Task.sleep(for: .seconds(3600))
        }
      }
    }
  }

  private func pruneLogs() async {
    guard access(settings.logs, F_OK) == 0 else { return }
    let result = await HelperProcess.run(
      settings.launch.executable, ["log", "prune", settings.logs], environment: settings.launch.environment)
    if !result.isSuccess { logger.warning("old session logs stay", metadata: ["reason": "\(result.text)"]) }
  }

  // MARK: Costs

  private func measureUntilCancelled() async {
    while !Task.isCancelled {
      await measure()
      try? await Task.sleep(for: .seconds(5))
    }
  }

  private func measure() async {
    var sum = 0.0
    for (id, run) in runs {
      guard let number = await run.processNumber, let key = keys[id], let use = Machine.use(of: number) else {
        continue
      }
      let now = ContinuousClock.now
      if let before = usedTime[key], use.time >= before.time {
        let span = now - before.at
        let seconds = Double(span.components.seconds) + Double(span.components.attoseconds) * 1e-18
        if seconds > 0.5 {
          let cost = Double(use.time - before.time) / 1e6 / seconds
          sum += cost
          admission.measure(key, Admission.Cost(cores: cost, memory: use.memory), now: .now)
        }
      }
      usedTime[key] = (use.time, now)
    }
    cores = sum
  }
}
