import Jobs
import Logging

/// What came of asking the backend until it answers.
enum BackendOutcome: Hashable, Sendable {
  /// It agreed.
  case accepted
  /// The job is somebody else's, or over.
  case fenced
  /// It refused for another reason, or was not reached in time.
  case refused
}

/// What all jobs of a worker share.
struct RunContext: Sendable {
  let settings: WorkerSettings
  let client: BackendClient
  let folder: WorkerFolder
  let journal: Journal
  let delivery: FileDelivery
  let logger: Logger
  /// The data folder's name, which finished files in it have; nil: it has none.
  var folderID: String?
  /// What comes of the jobs.
  let counts = WorkerCounts()

  /// Asks the backend until it has answered, or until time is up.
  func insist(
    _ ask: (BackendClient) async throws(BackendError) -> Void, for limit: Duration? = nil, logger: Logger
  ) async -> BackendOutcome {
    await Self.insist(client, for: limit, logger: logger, ask)
  }

  /// The same without a worker.
  static func insist(
    _ client: BackendClient, for limit: Duration? = nil, logger: Logger,
    _ ask: (BackendClient) async throws(BackendError) -> Void
  ) async -> BackendOutcome {
    let began = ContinuousClock.now
    var pause = Duration.milliseconds(250)
    var isTold = false
    while !Task.isCancelled {
      do throws(BackendError) {
        try await ask(client)
        return .accepted
      } catch {
        guard error.isPassing || error.isForeign else {
          logger.warning("the backend did not take it", metadata: ["reason": "\(error)"])
          return error.isFenced ? .fenced : .refused
        }
        if let limit, ContinuousClock.now - began + pause > limit { return .refused }
        if !isTold { logger.warning("the backend is away", metadata: ["reason": "\(error)"]) }
        isTold = true
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(5))
      }
    }
    return .refused
  }
}

extension PartHandover {
  /// The parts of this job.
  init(job: Job, delivery: FileDelivery, logger: Logger) {
    self.init(
      job: job.id, isStore: job.request.outputs.map { $0.destination.map { $0 == .s3 } }, delivery: delivery,
      logger: logger)
  }
}
