import MediaCore

/// What a worker asks for: `POST /v1/workers/claim`.
public struct ClaimRequest: Codable, Hashable, Sendable {
  /// The worker's name: the same for as long as its process lives, never used again.
  public var worker: String
  /// How many more recordings it can take.
  public var count: Int
  /// What it has, for people and metrics.
  public var status: WorkerStatus
  /// How long the backend may hold the request while nothing waits, in seconds.
  public var wait: Int64

  /// Makes a request; see the properties.
  public init(worker: String, count: Int, status: WorkerStatus, wait: Int64 = 0) {
    self.worker = worker
    self.count = count
    self.status = status
    self.wait = wait
  }
}

/// How a worker stands.
public struct WorkerStatus: Codable, Hashable, Sendable {
  /// Recordings that it runs.
  public var running: Int
  /// Recordings that it could run at once, by what they have cost so far.
  public var capacity: Int
  /// Processor time that is used, in cores.
  public var cores: Double
  /// Memory that its recordings use, in bytes.
  public var memory: Int64
  /// True when it takes nothing more and ends after what it has.
  public var isDraining: Bool
  /// The name of its data folder; nil: an older worker.
  public var dataFolder: String?
  /// The address at which the backend fetches finished files of that folder; nil: it serves none.
  public var filesURL: String?
  /// What it can do.
  public var abilities: WorkerAbilities?

  /// Makes a status; see the properties.
  public init(
    running: Int, capacity: Int, cores: Double = 0, memory: Int64 = 0, isDraining: Bool = false,
    dataFolder: String? = nil, filesURL: String? = nil, abilities: WorkerAbilities? = nil
  ) {
    self.dataFolder = dataFolder
    self.filesURL = filesURL
    self.abilities = abilities
    self.running = running
    self.capacity = capacity
    self.cores = cores
    self.memory = memory
    self.isDraining = isDraining
  }

  enum CodingKeys: String, CodingKey {
    case running, capacity, cores, memory, abilities
    case isDraining = "draining"
    case dataFolder = "data_folder"
    case filesURL = "files_url"
  }
}

/// What a worker can do that not every worker can. A job is only given to one that can carry it out.
public struct WorkerAbilities: Codable, Hashable, Sendable {
  /// It has an S3-compatible store for finished files.
  public var hasStore: Bool
  /// The names of the layouts that it knows, at most 1000; nil: it did not say.
  public var layouts: [String]?
  /// The names of the keys of encrypted rooms that it has, at most 1000; nil: none.
  public var keys: [String]?
  /// The words of the processors that it knows (`TrackProcessors`), at most 1000; nil: none, an older worker.
  public var processors: [String]?
  /// It gives sound and pictures to sinks; nil: it does not, an older worker.
  public var sinks: Bool?

  /// Makes a set of abilities; see the properties.
  public init(
    hasStore: Bool, layouts: [String]? = nil, keys: [String]? = nil, processors: [String]? = nil, sinks: Bool? = nil
  ) {
    self.hasStore = hasStore
    self.layouts = layouts
    self.keys = keys
    self.processors = processors
    self.sinks = sinks
  }

  enum CodingKeys: String, CodingKey {
    case layouts, processors, sinks
    case hasStore = "store"
    case keys = "e2ee_keys"
  }

  /// What it lacks to carry a job out; nil: nothing.
  public func lack(for job: Job) -> String? {
    if !hasStore, job.request.outputs.contains(where: { $0.destination == .s3 }) { return "a store" }
    // What is only left to be finished needs no layout and no key.
    if !job.isRecorded, let key = job.request.key, keys?.contains(key) != true { return "the key '\(key)'" }
    if !job.isRecorded, let word = unknownProcessor(of: job.request) { return "the processor '\(word)'" }
    if !job.isRecorded, job.request.sinks?.isEmpty == false, sinks != true { return "sinks" }
    guard !job.isRecorded, let layouts else { return nil }
    for layout in [job.request.layout] + (job.request.also ?? []).map(\.layout) {
      if let layout, !layouts.contains(layout), !layouts.contains(LayoutName.withoutTheme(layout)) {
        return "the layout '\(layout)'"
      }
    }
    return nil
  }

  /// The first processor that a request wants and the worker does not know: it would record somebody who is to be hidden.
  private func unknownProcessor(of request: JobRequest) -> String? {
    let wanted = (request.processors ?? []).flatMap { text in
      (try? ProcessorRule(text: text))?.processors.list ?? [text]
    }
    return wanted.first { processors?.contains($0) != true }
  }
}

/// A job that a worker was given.
public struct Assignment: Codable, Hashable, Sendable {
  /// The job, with its lease and fencing number.
  public var job: Job
  /// How to get into the room.
  public var ticket: RoomTicket
  /// Makes an assignment; see the properties.
  public init(job: Job, ticket: RoomTicket) {
    self.job = job
    self.ticket = ticket
  }
}

/// A bot's way into a room, good for a while.
public struct RoomTicket: Codable, Hashable, Sendable {
  /// The room service's address (ws:// or wss://).
  public var url: String
  /// The room token. Never logged, never an argument of a process.
  @Redacted public var token: String
  /// When the token ends.
  public var until: Timestamp
  /// Makes a ticket; see the properties.
  public init(url: String, token: String, until: Timestamp) {
    self.url = url
    self.token = token
    self.until = until
  }
}

/// The answer to a claim.
public struct ClaimAnswer: Codable, Hashable, Sendable {
  /// What the worker has now; empty when nothing waits.
  public var assignments: [Assignment]
  /// Makes an answer; see the properties.
  public init(assignments: [Assignment]) { self.assignments = assignments }
}

/// `POST /v1/workers/jobs/{id}/beat` and `…/release`: a sign of life, or the job given back.
public struct HeartbeatRequest: Codable, Hashable, Sendable {
  /// The lease's fencing number.
  public var fence: Int64
  /// How the job stands.
  public var report: JobReport
  /// Makes a sign of life; see the properties.
  public init(fence: Int64, report: JobReport) {
    self.fence = fence
    self.report = report
  }
}

/// The answer to a sign of life.
public struct HeartbeatAnswer: Codable, Hashable, Sendable {
  /// The job; its commands wait to be carried out.
  public var job: Job
  /// A fresh way into the room, when the one before ends soon.
  public var ticket: RoomTicket?
  /// Makes an answer; see the properties.
  public init(job: Job, ticket: RoomTicket? = nil) {
    self.job = job
    self.ticket = ticket
  }
}

/// `POST /v1/workers/jobs/{id}/complete`.
public struct CompleteRequest: Codable, Hashable, Sendable {
  /// The lease's fencing number.
  public var fence: Int64
  /// The finished files, delivered and verified.
  public var files: [JobFile]
  /// Makes a completion; see the properties.
  public init(fence: Int64, files: [JobFile]) {
    self.fence = fence
    self.files = files
  }
}

/// `POST /v1/workers/jobs/{id}/fail`.
public struct FailRequest: Codable, Hashable, Sendable {
  /// The lease's fencing number.
  public var fence: Int64
  /// Why.
  public var error: JobError
  /// True when another attempt can help.
  public var mayRetry: Bool
  /// Makes a failure; see the properties.
  public init(fence: Int64, error: JobError, mayRetry: Bool) {
    self.fence = fence
    self.error = error
    self.mayRetry = mayRetry
  }

  enum CodingKeys: String, CodingKey {
    case fence, error
    case mayRetry = "may_retry"
  }
}

/// `POST /v1/workers/jobs/{id}/moved`: a file of a job that is over has moved from a backup folder to where it belongs.
public struct MovedRequest: Codable, Hashable, Sendable {
  /// Where it waited, as the job's files say.
  public var from: String
  /// Where it is now: a path or URL.
  public var to: String
  /// Bytes.
  public var size: Int64
  /// SHA-256, in hexadecimal.
  public var sha256: String
  /// True when nothing of the job waits any more.
  public var isLast: Bool
  /// Makes a message; see the properties.
  public init(from: String, to: String, size: Int64, sha256: String, isLast: Bool) {
    self.from = from
    self.to = to
    self.size = size
    self.sha256 = sha256
    self.isLast = isLast
  }

  enum CodingKeys: String, CodingKey {
    case from, to, size, sha256
    case isLast = "is_last"
  }
}

/// Every refusal of the backend's API, with the HTTP status: `{"error": {"code": …, "message": …}}`.
public struct APIProblem: Codable, Hashable, Sendable, Error {
  /// What is inside.
  public struct Body: Codable, Hashable, Sendable {
    /// A stable name such as `unauthorized`, `not_found`, `fenced`, `invalid`.
    public var code: String
    /// One line for people.
    public var message: String
    /// Makes a body; see the properties.
    public init(code: String, message: String) {
      self.code = code
      self.message = message
    }
  }
  /// Why the request was refused.
  public var error: Body
  /// Makes a refusal; see the properties.
  public init(code: String, message: String) { error = Body(code: code, message: message) }
}
