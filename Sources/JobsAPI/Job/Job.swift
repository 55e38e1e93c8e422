/// Where a job stands.
public enum JobState: String, Codable, Hashable, Sendable, CaseIterable {
  /// Nobody works on it: its time has not come, or no worker is free.
  case queued
  /// A worker has it and waits for the room, for admission, or for the first picture.
  case waiting
  /// It is being recorded.
  case running
  /// The connection to the room is lost for the moment; the recording goes on.
  case reconnecting
  /// Somebody paused it.
  case paused
  /// The recording is over and the file is being finished.
  case finishing
  /// The file is on its way to where it belongs.
  case uploading
  /// Everything is done.
  case completed
  /// It could not be carried out; `Job.error` says why.
  case failed
  /// Somebody cancelled it.
  case cancelled

  /// True when nothing can change any more.
  public var isFinal: Bool { self == .completed || self == .failed || self == .cancelled }
  /// True while a worker has it.
  public var isLeased: Bool { !isFinal && self != .queued }
}

/// Why a job failed, or why a worker gave it back: a row of the error model.
public struct JobError: Codable, Hashable, Sendable {
  /// Stable name, such as `roomFull`.
  public var name: String
  /// Exit code of the recording; nil when there was none.
  public var code: Int?
  /// One line for people.
  public var message: String
  /// Makes an error; see the properties.
  public init(name: String, code: Int? = nil, message: String) {
    self.name = name
    self.code = code
    self.message = message
  }
}

/// One uninterrupted piece of a job's recording, by one worker.
public struct JobPart: Codable, Hashable, Sendable {
  /// The attempt that made it.
  public var attempt: Int
  /// Which piece of the attempt, from 0: a recording's process that crashed is followed by another one.
  public var piece: Int
  /// The worker that has it.
  public var worker: String
  /// Path on the worker, or key in the store.
  public var location: String
  /// When its first picture was taken.
  public var startedAt: Timestamp
  /// How long it is, in microseconds, as far as is known.
  public var duration: Int64
  /// The folder of its session log on the worker; nil: there is none.
  public var log: String?
  /// Makes a part; see the properties.
  public init(
    attempt: Int, piece: Int = 0, worker: String, location: String, startedAt: Timestamp, duration: Int64,
    log: String? = nil
  ) {
    self.attempt = attempt
    self.piece = piece
    self.worker = worker
    self.location = location
    self.startedAt = startedAt
    self.duration = duration
    self.log = log
  }

  enum CodingKeys: String, CodingKey {
    case attempt, piece, worker, location, duration, log
    case durationSeconds = "duration_seconds"
    case startedAt = "started_at"
  }

  /// Reads a part in either form.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    attempt = try values.decode(Int.self, forKey: .attempt)
    piece = try values.decode(Int.self, forKey: .piece)
    worker = try values.decode(String.self, forKey: .worker)
    location = try values.decode(String.self, forKey: .location)
    startedAt = try values.decode(Timestamp.self, forKey: .startedAt)
    log = try values.decodeIfPresent(String.self, forKey: .log)
    duration = try values.microseconds(seconds: .durationSeconds, microseconds: .duration)
  }

  /// Writes the part for who reads it.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(attempt, forKey: .attempt)
    try values.encode(piece, forKey: .piece)
    try values.encode(worker, forKey: .worker)
    try values.encode(location, forKey: .location)
    try values.encode(startedAt, forKey: .startedAt)
    try values.encodeIfPresent(log, forKey: .log)
    if encoder.isForCallers {
      try values.encode(Seconds.of(microseconds: duration), forKey: .durationSeconds)
    } else {
      try values.encode(duration, forKey: .duration)
    }
  }
}

/// A finished file.
public struct JobFile: Codable, Hashable, Sendable {
  /// Path or URL.
  public var location: String
  /// Bytes.
  public var size: Int64
  /// How long it plays, in microseconds.
  public var duration: Int64
  /// SHA-256, in hexadecimal.
  public var sha256: String?
  /// The name of the data folder to which the file's folder belongs; nil: it is in a store, or was made by an older worker.
  public var dataFolder: String?
  /// When it was deleted; nil: it was not.
  public var deletedAt: Timestamp?
  /// What was delivered beside it, in the same place; nil: nothing.
  public var beside: [JobSideFile]?
  /// Makes a file; see the properties.
  public init(
    location: String, size: Int64, duration: Int64, sha256: String? = nil, dataFolder: String? = nil,
    deletedAt: Timestamp? = nil, beside: [JobSideFile]? = nil
  ) {
    self.location = location
    self.size = size
    self.duration = duration
    self.sha256 = sha256
    self.dataFolder = dataFolder
    self.deletedAt = deletedAt
    self.beside = beside
  }

  enum CodingKeys: String, CodingKey {
    case location, size, duration, sha256, beside
    case dataFolder = "data_folder"
    case deletedAt = "deleted_at"
    case durationSeconds = "duration_seconds"
  }

  /// Reads a file in either form.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    location = try values.decode(String.self, forKey: .location)
    size = try values.decode(Int64.self, forKey: .size)
    duration = try values.microseconds(seconds: .durationSeconds, microseconds: .duration)
    sha256 = try values.decodeIfPresent(String.self, forKey: .sha256)
    dataFolder = try values.decodeIfPresent(String.self, forKey: .dataFolder)
    deletedAt = try values.decodeIfPresent(Timestamp.self, forKey: .deletedAt)
    beside = try values.decodeIfPresent([JobSideFile].self, forKey: .beside)
  }

  /// Writes the file for who reads it.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(location, forKey: .location)
    try values.encode(size, forKey: .size)
    if encoder.isForCallers {
      try values.encode(Seconds.of(microseconds: duration), forKey: .durationSeconds)
    } else {
      try values.encode(duration, forKey: .duration)
    }
    try values.encodeIfPresent(sha256, forKey: .sha256)
    try values.encodeIfPresent(dataFolder, forKey: .dataFolder)
    try values.encodeIfPresent(deletedAt, forKey: .deletedAt)
    try values.encodeIfPresent(beside, forKey: .beside)
  }

  /// Its own name, without folders.
  public var name: String { location.split(separator: "/").last.map(String.init) ?? "recording.webm" }
}

/// What a recording is told while it runs.
public struct JobCommand: Codable, Hashable, Sendable {
  /// What to do.
  public enum Verb: String, Word, Hashable, Sendable {
    /// What it is called in errors.
    public static let what = "command"
    /// Change the layout to `argument`.
    case layout
    /// Pause with the policy `argument` (cut, slate, redact).
    case pause
    /// Go on.
    case resume
    /// Set a chapter named `argument`.
    case marker
    /// Change the title to `argument`.
    case title
    /// Do to somebody's pictures and sound what `argument` says: `PERSON=pixelate,voice-mask`.
    case processor
    /// End the recording and complete the job.
    case stop
    /// End the recording; the job is cancelled.
    case cancel
  }
  /// Position among the job's commands, from 1.
  public var sequence: Int64
  /// What to do.
  public var verb: Verb
  /// With what.
  public var argument: String?
  /// Makes a command; see the properties.
  public init(sequence: Int64, verb: Verb, argument: String? = nil) {
    self.sequence = sequence
    self.verb = verb
    self.argument = argument
  }
}

/// A command that the recorder did not carry out: it changes nothing, now and in later parts.
public struct CommandRefusal: Codable, Hashable, Sendable {
  /// Which command.
  public var sequence: Int64
  /// What was to be done; empty: not known.
  public var verb: JobCommand.Verb?
  /// With what.
  public var argument: String?
  /// One line: why not.
  public var message: String
  /// Makes a refusal; see the properties.
  public init(sequence: Int64, verb: JobCommand.Verb? = nil, argument: String? = nil, message: String) {
    self.sequence = sequence
    self.verb = verb
    self.argument = argument
    self.message = message
  }
}

/// A worker's right to a job for a while.
public struct Lease: Codable, Hashable, Sendable {
  /// Who has it.
  public var worker: String
  /// Grows with each lease of the job: what comes with an older number is refused.
  public var fence: Int64
  /// When it ends unless it is renewed.
  public var until: Timestamp
  /// Makes a lease; see the properties.
  public init(worker: String, fence: Int64, until: Timestamp) {
    self.worker = worker
    self.fence = fence
    self.until = until
  }
}

/// One recording that somebody asked for.
///
/// Large: a property for each column of the database's row.
public struct Job: Hashable, Sendable {
  /// Its name; names sort by the time at which they were made.
  public var id: String
  /// Who asked for it: the caller's name.
  public var owner: String
  /// What is wanted.
  public var request: JobRequest
  /// Where it stands.
  public var state: JobState
  /// When it may be taken.
  public var notBefore: Timestamp
  /// How often a worker has taken it.
  public var attempt: Int
  /// The number of the newest lease.
  public var fence: Int64
  /// The lease, while a worker has the job.
  public var lease: Lease?
  /// Commands that the worker has not confirmed, oldest first.
  public var commands: [JobCommand]
  /// The sequence number of the newest command.
  public var commandSequence: Int64
  /// The newest commands that the recorder refused, oldest first; nil: none.
  public var refusals: [CommandRefusal]?
  /// What the commands that were carried out have made of the recording: the next part begins with it.
  public var steering: JobSteering
  /// What has been recorded so far.
  public var parts: [JobPart]
  /// The finished files.
  public var files: [JobFile]
  /// The newest error. Of a completed job: why its recording ended sooner, or has less, than was wanted.
  public var error: JobError?
  /// True when the recording is over, and what is missing is only the finishing of its parts.
  public var isRecorded: Bool
  /// True when somebody cancelled it while it ran.
  public var isCancelling: Bool
  /// The schedule and moment that made it.
  public var origin: JobOrigin?
  /// The id of the room's life that is recorded, as the newest worker was told it on joining; nil: not known.
  public var roomSID: String?
  /// How many attempts in a row came to nothing; nil: none.
  public var setbacks: Int?
  /// When it was made.
  public var createdAt: Timestamp
  /// When it last changed state.
  public var updatedAt: Timestamp
  /// When it became final.
  public var finishedAt: Timestamp?

  enum CodingKeys: String, CodingKey {
    case id, owner, request, state, attempt, fence, lease, commands, refusals, steering, parts, files, error, origin
    case setbacks, worker, incomplete
    case roomSID = "room_sid"
    case notBefore = "not_before"
    case commandSequence = "command_sequence"
    case isRecorded = "recorded"
    case isCancelling = "cancelling"
    case createdAt = "created_at"
    case updatedAt = "updated_at"
    case finishedAt = "finished_at"
  }

  /// A job that was asked for just now: it waits for its time, and nobody has had it.
  package init(
    id: String, owner: String, request: JobRequest, notBefore: Timestamp, origin: JobOrigin?, now: Timestamp
  ) {
    self.id = id
    self.owner = owner
    self.request = request
    state = .queued
    self.notBefore = notBefore
    attempt = 0
    fence = 0
    commands = []
    commandSequence = 0
    steering = JobSteering()
    parts = []
    files = []
    isRecorded = false
    isCancelling = false
    self.origin = origin
    createdAt = now
    updatedAt = now
  }

  /// True when it is completed, and is less than was asked for: `error` says why.
  public var isIncomplete: Bool { state == .completed && error != nil }

  /// The last moment at which it may be recorded.
  public var deadline: Timestamp { request.deadline ?? Timestamp(microseconds: .max) }
}

/// What made a job, when it was not a caller.
public struct JobOrigin: Codable, Hashable, Sendable {
  /// The schedule or rule.
  public var schedule: String
  /// Its fire time, or what else makes it unique (a room's SID).
  public var key: String
  /// Makes an origin; see the properties.
  public init(schedule: String, key: String) {
    self.schedule = schedule
    self.key = key
  }
}
