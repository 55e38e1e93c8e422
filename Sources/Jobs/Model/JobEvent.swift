/// What can be told of a job.
public enum JobEventKind: String, Codable, Hashable, Sendable {
  /// It was queued for the first time.
  case created = "job.created"
  /// A worker took it.
  case started = "job.started"
  /// It changed between the states of a worker's job.
  case updated = "job.updated"
  /// It went back into the queue.
  case requeued = "job.requeued"
  /// It is done.
  case completed = "job.completed"
  /// It failed.
  case failed = "job.failed"
  /// It was cancelled.
  case cancelled = "job.cancelled"

  init(_ state: JobState, before: JobState) {
    switch state {
    case .queued: self = .requeued
    case .completed: self = .completed
    case .failed: self = .failed
    case .cancelled: self = .cancelled
    default: self = before == .queued ? .started : .updated
    }
  }
}

/// Something that happened to a job, in the order of `number`.
public struct JobEvent: Codable, Hashable, Sendable {
  /// Its name; the same however often it is told.
  public var id: String
  /// Its place among all events.
  public var number: Int64
  /// What happened.
  public var kind: JobEventKind
  /// When.
  public var at: Timestamp
  /// The job as it was afterwards.
  public var job: Job
}
