import JobsAPI

/// What one process of a recording writes.
struct RunPiece: Hashable, Sendable {
  /// Which process of the run it is, from 0.
  let number: Int
  /// The file, absolute.
  let path: String
  /// The folder of its session log, absolute; nil: the job wants none.
  let log: String?

  /// The piece of a job under its newest lease.
  init(number: Int, job: Job, settings: RunSettings) {
    self.number = number
    path = "\(settings.parts)/\(job.fence)-\(number).webm"
    let name = WorkerFolder.fileName("\(job.id)-\(job.fence)-\(number)")
    log = job.request.log == true ? "\(settings.logs)/\(name)" : nil
  }
}
