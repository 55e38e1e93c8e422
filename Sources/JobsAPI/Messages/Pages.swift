import MediaCore

/// The answer to `GET /v1/jobs`.
public struct JobPage: Codable, Hashable, Sendable {
  /// Jobs of this page, the newest first.
  public var jobs: [Job]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page; see the properties.
  public init(jobs: [Job], next: String? = nil) {
    self.jobs = jobs
    self.next = next
  }
}

/// The answer to `GET /v1/events` and `GET /v1/jobs/{id}/events`.
public struct EventPage: Codable, Hashable, Sendable {
  /// Events of this page, the oldest first.
  public var events: [JobEvent]
  /// What to give as `after` the next time, whether or not there was anything.
  public var next: Int64
  /// Makes a page; see the properties.
  public init(events: [JobEvent], next: Int64) {
    self.events = events
    self.next = next
  }
}

/// The answer to `GET /v1/schedules`.
public struct SchedulePage: Codable, Hashable, Sendable {
  /// Schedules of this page, the newest first.
  public var schedules: [Schedule]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page; see the properties.
  public init(schedules: [Schedule], next: String? = nil) {
    self.schedules = schedules
    self.next = next
  }
}

/// The answer to `GET /v1/schedules/{id}/next`.
public struct FireTimes: Codable, Hashable, Sendable {
  /// The soonest first.
  public var times: [Timestamp]
  /// Makes an answer; see the properties.
  public init(times: [Timestamp]) { self.times = times }
}

/// The answer to `GET /v1/recordings` and `GET /v1/recordings/{id}`.
public struct RecordingPage: Codable, Hashable, Sendable {
  /// A finished file.
  public struct Entry: Codable, Hashable, Sendable {
    /// The job that made it.
    public var job: String
    /// Its room.
    public var room: String
    /// Which of the job's files it is, from 1.
    public var number: Int
    /// The recording's file: where it is, how long, how many bytes.
    public var file: JobFile
    /// When the job was done.
    public var finishedAt: Timestamp
    /// Makes an entry; see the properties.
    public init(job: String, room: String, number: Int, file: JobFile, finishedAt: Timestamp) {
      self.job = job
      self.room = room
      self.number = number
      self.file = file
      self.finishedAt = finishedAt
    }

    enum CodingKeys: String, CodingKey {
      case job, room, number, file
      case finishedAt = "finished_at"
    }
  }
  /// Recordings of this page, the newest first.
  public var recordings: [Entry]
  /// What to give as `after` for the next page; nil on the last.
  public var next: String?
  /// Makes a page; see the properties.
  public init(recordings: [Entry], next: String? = nil) {
    self.recordings = recordings
    self.next = next
  }
}

/// The body of `POST /v1/recordings/{id}/links`.
public struct LinkRequest: Codable, Hashable, Sendable {
  /// Which of the recording's files, from 1; nil: the only one.
  public var number: Int?
  /// Which of those beside it; nil: the file itself.
  public var beside: JobSideFile.Kind?
  /// For how many seconds the link is good; an hour unless said.
  public var lifetime: Int64?

  /// Makes a request; see the properties.
  public init(number: Int? = nil, beside: JobSideFile.Kind? = nil, lifetime: Int64? = nil) {
    self.number = number
    self.beside = beside
    self.lifetime = lifetime
  }

  enum CodingKeys: String, CodingKey {
    case number, beside
    case lifetime = "lifetime_seconds"
  }
}

/// The answer: a link to a file, which needs no credential and ends.
public struct LinkAnswer: Codable, Hashable, Sendable {
  /// Path and query at the backend's address.
  @Redacted public var url: String
  /// When it ends.
  public var expiresAt: Timestamp
  /// Makes an answer; see the properties.
  public init(url: String, expiresAt: Timestamp) {
    self.url = url
    self.expiresAt = expiresAt
  }

  enum CodingKeys: String, CodingKey {
    case url
    case expiresAt = "expires_at"
  }
}

/// The body of `POST /v1/jobs/{id}/commands`.
public struct CommandRequest: Codable, Hashable, Sendable {
  /// What to do.
  public var verb: JobCommand.Verb
  /// With what.
  public var argument: String?
  /// Makes a request; see the properties.
  public init(verb: JobCommand.Verb, argument: String? = nil) {
    self.verb = verb
    self.argument = argument
  }

  enum CodingKeys: String, CodingKey, CaseIterable { case verb, argument }

  /// The ways to pause.
  public static let pausePolicies = ["cut", "slate", "redact"]

  /// What is wrong with it, in one line; nil: nothing that can be seen without the recording.
  public var problem: String? {
    switch (verb, argument) {
    case (.layout, nil), (.layout, ""), (.title, nil), (.title, ""), (.processor, nil), (.processor, ""):
      "argument: '\(verb.rawValue)' needs one"
    case (.resume, .some), (.stop, .some), (.cancel, .some): "argument: '\(verb.rawValue)' takes none"
    case (.pause, let policy?) where !Self.pausePolicies.contains(policy):
      "argument: there is no pause policy '\(policy.prefix(60))'"
        + Spelling.hint(for: policy, among: Self.pausePolicies)
    case (.processor, let rule?): ProcessorRule.problem(with: rule).map { "argument: \($0)" }
    default: nil
    }
  }
}
