import JobsAPI

/// From parts to files where they belong, when nothing more is recorded.
///
///     journaling ──► confirming ──► gathering ──► inspecting ──► joining ──► announcing ──► delivering ⇄ after
///                      │    ▲         │    ▲                                                    │
///                      └ 1 s ┘        └ 2 s ┘ 20 s at most                                      ▼
///                                     └── nothing was recorded ──────────────────────────► completing ──► told
///
/// | state | what is waited for |
/// | --- | --- |
/// | journaling | the journal says that nothing more is recorded |
/// | confirming | the backend has heard it: nothing gets its final name under a lease that somebody else may have |
/// | gathering | each part as a file here; other workers may still be sending theirs |
/// | inspecting | whether a lone part of an earlier lease needs no repair; a whole one of this run is taken as it is |
/// | joining | the parts as one file; when that is not possible they stay apart: nothing of a recording is lost |
/// | announcing | the backend has been told that it is uploaded, or could not be |
/// | delivering, after | each file at each of its places, and the operator's command for it |
/// | completing | the journal has the files, then the backend has heard the newest |
/// | told | the answer to the word that the job is done, which is the run's affair |
///
/// Each state but the last can end in `fenced`, when the lease is lost and the work under way is over, or in `failed`,
/// when a step is not possible. A pure value; times are those of `RunTime.elapsed`. The work is the shell's.
struct RunFinish: Hashable, Sendable {
  /// For so long what another worker may still be sending is waited for.
  private static let gatheringTime = Duration.seconds(20)
  private static let gatheringPause = Duration.seconds(2)
  private static let confirmingPause = Duration.seconds(1)
  /// What a part's length may be short of what is known of it, in microseconds.
  private static let tolerance: Int64 = 3_000_000
  /// What it is called when parts could not be reached; `PartRetention` keeps such a job's parts.
  static let partsMissing = "partsMissing"
  /// Lacks whose names go before those of others, the gravest first.
  private static let grave = [partsMissing, partsNotJoined]
  private static let partsNotJoined = "partsNotJoined"
  /// So many attempts look for parts that another worker may have.
  private static let attempts = 10

  private enum State: Hashable {
    case journaling
    /// `retryAt`: nil while a heartbeat is under way.
    case confirming(retryAt: Duration?)
    /// `retryAt`: nil while the parts are gathered.
    case gathering(end: Duration, retryAt: Duration?)
    case inspecting, joining, announcing, delivering
    case after(path: String)
    case completing(isJournaled: Bool)
    case told, over
  }

  /// Why the recording is less than was wanted.
  private(set) var shortfall: JobError?
  /// The files that are where they belong.
  private(set) var files: [JobFile] = []
  /// True from the moment at which files are brought where they belong.
  private(set) var isUploading = false
  private let settings: RunSettings
  private var state = State.journaling
  private var isLost = false
  /// What was recorded, and what of it was found.
  private var known: [JobPart] = []
  private var found: [JobPart] = []
  /// The finished files, and which of them goes to which output next.
  private var sources: [String] = []
  private var source = 0
  private var output = 0
  /// How long that one is.
  private var duration: Int64?

  /// `shortfall`: what the recording lacks already.
  init(_ settings: RunSettings, shortfall: JobError?) {
    self.settings = settings
    self.shortfall = shortfall
  }

  /// The files that are of no use any more when the job is done.
  var leftovers: Set<String> { Set(found.map(\.location) + sources) }
  /// The parts that other workers may reach.
  var locations: [String] { known.map(\.location) }

  /// When `due` has something.
  var nextDeadline: Duration? {
    switch state {
    case .confirming(let retryAt), .gathering(_, let retryAt): retryAt
    default: nil
    }
  }

  /// What is due by time.
  mutating func due(_ now: Duration) -> [Step] {
    guard let nextDeadline, nextDeadline <= now else { return [] }
    switch state {
    case .confirming:
      state = .confirming(retryAt: nil)
      return [.heartbeat]
    case .gathering(let end, _):
      state = .gathering(end: end, retryAt: nil)
      return [.work(.gather(known))]
    default: return []
    }
  }

  /// The journal has an entry of this kind.
  mutating func journaled(_ kind: JournalEntry.Kind) -> [Step] {
    switch (state, kind) {
    case (.journaling, .recorded):
      state = .confirming(retryAt: nil)
      return [.heartbeat]
    case (.completing(isJournaled: false), .completing):
      state = .completing(isJournaled: true)
      return [.heartbeat]
    default: return []
    }
  }

  /// The heartbeat that was asked for has come back. `parts`: all that was recorded.
  mutating func heartbeatReturned(isHeard: Bool, _ job: Job, parts: [JobPart], now: Duration) -> [Step] {
    switch state {
    case .confirming where isHeard:
      known = parts
      guard !parts.isEmpty else { return complete() }
      state = .gathering(end: now + Self.gatheringTime, retryAt: nil)
      return [.work(.gather(known))]
    case .confirming:
      state = .confirming(retryAt: now + Self.confirmingPause)
      return []
    case .announcing: return deliverNext(job)
    case .completing(isJournaled: true):
      state = .told
      return [.complete(files)]
    default: return []
    }
  }

  /// The same worker has a newer lease. Gives the files that the journal must have under it; nil: none yet.
  mutating func renew() -> [JobFile]? {
    switch state {
    case .completing, .told:
      state = .completing(isJournaled: false)
      return files
    default: return nil
    }
  }

  /// The lease is lost.
  mutating func lose() -> [Step] {
    isLost = true
    switch state {
    // The work that is under way is waited for, and so is the answer that the job is done.
    case .gathering(_, nil), .inspecting, .joining, .delivering, .told, .over: return []
    case .after: return [.endAfter]
    default: return end(.fenced)
    }
  }

  /// Takes what came of the work. `isWhole`: whether a file of this run needs no repair.
  mutating func handle(_ event: Event, _ job: Job, isWhole: (String) -> Bool, now: Duration) -> [Step] {
    guard !isLost else { return state == .over ? [] : end(.fenced) }
    switch (state, event) {
    case (.gathering(let end, nil), .gathered(let places)):
      return gathered(places, end: end, job, isWhole: isWhole, now: now)
    case (.inspecting, .inspected(let isWhole)):
      return isWhole ? announce(found.map(\.location)) : join(job)
    case (.joining, .joined(let path)): return announce([path])
    case (.joining, .notJoined(let reason)):
      miss(JobError(name: Self.partsNotJoined, message: reason))
      let text = "the parts can't be joined; they are delivered one by one"
      return [.log(RunLog(level: .error, text: text, metadata: ["reason": reason]))] + announce(found.map(\.location))
    case (.delivering, .delivered(let file, let path, let lack)):
      return delivered(file, path: path, lack: lack, job)
    case (.after(let path), .afterEnded(let reason)):
      let log = reason.map { noteAfter($0, path: path) }
      return (log.map { [.log($0)] } ?? []) + deliverNext(job)
    case (_, .failed(let failure)): return failed(failure)
    default: return []
    }
  }

  private mutating func gathered(
    _ places: [Place], end: Duration, _ job: Job, isWhole: (String) -> Bool, now: Duration
  ) -> [Step] {
    let (reached, lacks) = Self.sort(known, places)
    guard lacks.isEmpty || !settings.canFetchParts || now >= end else {
      state = .gathering(end: end, retryAt: now + Self.gatheringPause)
      return []
    }
    found = reached
    var steps: [Step] = []
    if !lacks.isEmpty {
      let lack = JobError(
        name: Self.partsMissing,
        message: "not reached from \(settings.worker): \(lacks.joined(separator: "; ")); where they are, "
          + "`recbot concat` joins them with this file")
      let text = "parts can't be reached from here"
      steps.append(.log(RunLog(level: .warning, text: text, metadata: ["reason": lack.message])))
      // Another worker may have them.
      guard !found.isEmpty else {
        return steps + self.end(.failed(lack, mayRetry: job.attempt < Self.attempts))
      }
      miss(lack)
    }
    guard found.count == 1 else { return steps + join(job) }
    if isWhole(found[0].location) { return steps + announce(found.map(\.location)) }
    guard job.isRecorded else { return steps + join(job) }
    state = .inspecting
    return steps + [.work(.inspect(found[0].location))]
  }

  /// The parts as they are here, and what can't be reached of them.
  private static func sort(_ parts: [JobPart], _ places: [Place]) -> (found: [JobPart], lacks: [String]) {
    var found: [JobPart] = []
    var lacks: [String] = []
    for (part, place) in zip(parts, places) {
      let origin = "on \(part.worker) at \(part.location)"
      switch place {
      case .here: found.append(part)
      case .missing: lacks.append("\(seconds(part.duration)) \(origin)")
      case .fetched(let path, let duration):
        let rest = part.duration &- duration
        if rest > tolerance { lacks.append("the last \(seconds(rest)) of the part \(origin)") }
        var part = part
        (part.location, part.duration) = (path, duration)
        found.append(part)
      }
    }
    return (found, lacks)
  }

  private static func seconds(_ microseconds: Int64) -> String { "\((microseconds &+ 500_000) / 1_000_000) s" }

  private mutating func join(_ job: Job) -> [Step] {
    state = .joining
    return [.dropUpload, .work(.join(found.map(\.location), into: "\(settings.parts)/\(job.fence)-joined.webm"))]
  }

  private mutating func announce(_ sources: [String]) -> [Step] {
    self.sources = sources
    isUploading = true
    state = .announcing
    return [.heartbeat]
  }

  private mutating func deliverNext(_ job: Job) -> [Step] {
    let outputs = job.request.outputs.isEmpty ? [JobOutput()] : job.request.outputs
    if output >= outputs.count { (source, output, duration) = (source + 1, 0, nil) }
    guard source < sources.count else { return complete() }
    state = .delivering
    let item = Item(
      source: sources[source], output: outputs[output], time: found.first?.startedAt.microseconds ?? 0,
      attempt: job.attempt, duration: duration, usesUpload: output == 0)
    return [.deliver(item)]
  }

  private mutating func delivered(_ file: JobFile, path: String, lack: JobError?, _ job: Job) -> [Step] {
    files.append(file)
    duration = file.duration
    output += 1
    if let lack { miss(lack) }
    guard settings.hasAfterCommand else { return deliverNext(job) }
    state = .after(path: path)
    let log = RunLog(level: .info, text: "runs the command after finishing", metadata: ["file": path])
    return [.log(log), .work(.runAfter(file, path: path, error: shortfall?.name ?? ""))]
  }

  /// Notes a lack beside those that are known. The name is that of the gravest, else of the first: parts that could not be
  /// reached are said to be missing whatever else went wrong, for on that word depends that they are kept where they are.
  private mutating func miss(_ lack: JobError) {
    guard var known = shortfall else {
      shortfall = lack
      return
    }
    func rank(_ name: String) -> Int { Self.grave.firstIndex(of: name) ?? Self.grave.count }
    if rank(lack.name) < rank(known.name) { (known.name, known.code) = (lack.name, lack.code) }
    known.message += "; " + lack.message
    shortfall = known
  }

  /// When the command fails, the job is completed all the same, and says so.
  private mutating func noteAfter(_ reason: String, path: String) -> RunLog {
    let text = "the command after finishing \(reason)"
    miss(JobError(name: "afterFailed", message: "\(text); the worker's log has what it said"))
    return RunLog(level: .error, text: text, metadata: ["file": path])
  }

  private mutating func failed(_ failure: Failure) -> [Step] {
    switch failure {
    case .delivery(let error):
      let mayRetry = error.isPassing || error.code == .file
      return end(.failed(JobError(name: "deliveryFailed", message: error.description), mayRetry: mayRetry))
    // What the settings don't allow no other attempt gets round.
    case .settings(let text): return end(.failed(JobError(name: "notDeliverable", message: text), mayRetry: false))
    case .other(let text): return end(.failed(JobError(name: "notFinished", message: text), mayRetry: true))
    }
  }

  private mutating func complete() -> [Step] {
    state = .completing(isJournaled: false)
    return [.journal(files)]
  }

  private mutating func end(_ step: Step) -> [Step] {
    state = .over
    return [step]
  }
}
