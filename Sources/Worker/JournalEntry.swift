import JobsAPI

/// Something that a worker must not forget, though it or the backend goes away: a line of its journal.
struct JournalEntry: Codable, Hashable, Sendable {
  /// What happened.
  enum Kind: String, Codable, Sendable {
    /// The worker took a job.
    case taken
    /// A part began, or is longer than was known.
    case part
    /// Nothing more is recorded.
    case recorded
    /// The files are where they belong: the backend must be told.
    case completing
    /// It could not be done: the backend must be told.
    case failing
    /// Nothing of the job is left to do here.
    case closed
  }
  var kind: Kind
  var job: String
  var fence: Int64
  var part: JobPart?
  var files: [JobFile]?
  var error: JobError?
  var mayRetry: Bool?
}

/// A job that the journal has no end of.
struct OpenJob: Hashable, Sendable {
  var job: String
  var fence: Int64
  var parts: [JobPart] = []
  var isRecorded = false
  /// The error of a recording that was finished all the same.
  var error: JobError?
  /// What the backend must be told, when that is certain already.
  var completion: CompleteRequest?
  var failure: FailRequest?

  /// The jobs that are open after these entries, in the order in which they were taken.
  static func fold(_ entries: [JournalEntry]) -> [OpenJob] {
    var open: [OpenJob] = []
    for entry in entries {
      let index = open.firstIndex { $0.job == entry.job && $0.fence == entry.fence }
      if entry.kind == .taken {
        // An older lease of the same job has nothing to say any more, except about its parts.
        if index == nil { open.append(OpenJob(job: entry.job, fence: entry.fence)) }
        continue
      }
      guard let index else { continue }
      switch entry.kind {
      case .taken: break
      case .part:
        guard let part = entry.part else { continue }
        if let known = open[index].parts.firstIndex(where: { $0.location == part.location }) {
          open[index].parts[known] = part
        } else {
          open[index].parts.append(part)
        }
      case .recorded:
        open[index].isRecorded = true
        open[index].error = entry.error
      case .completing:
        open[index].completion = CompleteRequest(fence: entry.fence, files: entry.files ?? [])
      case .failing:
        guard let error = entry.error else { continue }
        open[index].failure = FailRequest(fence: entry.fence, error: error, mayRetry: entry.mayRetry ?? false)
      case .closed: open.remove(at: index)
      }
    }
    return open
  }

  /// The entries that say the same: what is left of a journal when it is tidied up.
  var entries: [JournalEntry] {
    var entries = [JournalEntry(kind: .taken, job: job, fence: fence)]
    entries += parts.map { JournalEntry(kind: .part, job: job, fence: fence, part: $0) }
    if isRecorded { entries.append(JournalEntry(kind: .recorded, job: job, fence: fence, error: error)) }
    if let completion {
      entries.append(JournalEntry(kind: .completing, job: job, fence: fence, files: completion.files))
    }
    if let failure {
      entries.append(
        JournalEntry(kind: .failing, job: job, fence: fence, error: failure.error, mayRetry: failure.mayRetry))
    }
    return entries
  }
}
