import JobsAPI
import Logging

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
  let metrics = WorkerMetrics()
}

extension PartHandover {
  /// The parts of this job.
  init(job: Job, delivery: FileDelivery, logger: Logger) {
    self.init(
      job: job.id, isStore: job.request.outputs.map { $0.destination.map { $0 == .s3 } },
      sideFiles: job.request.sideFiles, delivery: delivery,
      logger: logger)
  }
}
