/// The answer to `GET /v1/jobs`.
public struct JobPage: Codable, Hashable, Sendable {
  /// The newest first.
  public var jobs: [Job]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page.
  public init(jobs: [Job], next: String? = nil) {
    self.jobs = jobs
    self.next = next
  }
}

/// The answer to `GET /v1/events` and `GET /v1/jobs/{id}/events`.
public struct EventPage: Codable, Hashable, Sendable {
  /// The oldest first.
  public var events: [JobEvent]
  /// What to give as `after` the next time, whether or not there was anything.
  public var next: Int64
  /// Makes a page.
  public init(events: [JobEvent], next: Int64) {
    self.events = events
    self.next = next
  }
}

/// The answer to `GET /v1/schedules`.
public struct SchedulePage: Codable, Hashable, Sendable {
  /// The newest first.
  public var schedules: [Schedule]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page.
  public init(schedules: [Schedule], next: String? = nil) {
    self.schedules = schedules
    self.next = next
  }
}

/// The answer to `GET /v1/schedules/{id}/next`.
public struct FireTimes: Codable, Hashable, Sendable {
  /// The soonest first.
  public var times: [Timestamp]
  /// Makes an answer.
  public init(times: [Timestamp]) { self.times = times }
}

/// The answer to `GET /v1/recordings`.
public struct RecordingPage: Codable, Hashable, Sendable {
  /// A finished file.
  public struct Entry: Codable, Hashable, Sendable {
    /// The job that made it.
    public var job: String
    /// Its room.
    public var room: String
    /// The file.
    public var file: JobFile
    /// When the job was done.
    public var finishedAt: Timestamp
    /// Makes an entry.
    public init(job: String, room: String, file: JobFile, finishedAt: Timestamp) {
      self.job = job
      self.room = room
      self.file = file
      self.finishedAt = finishedAt
    }

    enum CodingKeys: String, CodingKey {
      case job, room, file
      case finishedAt = "finished_at"
    }
  }
  /// The newest first.
  public var recordings: [Entry]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page.
  public init(recordings: [Entry], next: String? = nil) {
    self.recordings = recordings
    self.next = next
  }
}

/// The body of `POST /v1/jobs/{id}/commands`.
public struct CommandRequest: Codable, Hashable, Sendable {
  /// What to do.
  public var verb: JobCommand.Verb
  /// With what.
  public var argument: String?
  /// Makes a request.
  public init(verb: JobCommand.Verb, argument: String? = nil) {
    self.verb = verb
    self.argument = argument
  }
}
