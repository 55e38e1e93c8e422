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
  /// It was over, and its files, which waited in a backup folder, are where they belong now.
  case delivered = "job.delivered"
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

  /// Makes an event; see the properties.
  package init(id: String, number: Int64, kind: JobEventKind, at: Timestamp, job: Job) {
    self.id = id
    self.number = number
    self.kind = kind
    self.at = at
    self.job = job
  }
}
