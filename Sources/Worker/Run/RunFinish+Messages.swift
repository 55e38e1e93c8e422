import Delivery
import JobsAPI

extension RunFinish {
  /// What the shell does; each is answered by one `Event`.
  enum Work: Hashable, Sendable {
    /// Find each part here, or fetch it from the store.
    case gather([JobPart])
    /// See whether a file needs no repair.
    case inspect(String)
    /// Make one file of several.
    case join([String], into: String)
    /// Bring a file to one of its places.
    case deliver(Item)
    /// Run the operator's command for a file. `error`: the name of what the recording lacks, or nothing.
    case runAfter(JobFile, path: String, error: String)
  }

  /// A file on its way to one of its places.
  struct Item: Hashable, Sendable {
    let source: String
    let output: JobOutput
    /// When the recording began, in microseconds since 1970.
    let time: Int64
    let attempt: Int
    /// How long it is, in microseconds; nil: it must be probed.
    let duration: Int64?
    /// What was uploaded of it while it grew is to be completed.
    var usesUpload: Bool
  }

  /// Where a part is.
  enum Place: Hashable, Sendable {
    case here
    /// The store had so many microseconds of it.
    case fetched(path: String, duration: Int64)
    case missing
  }

  /// What came of the work.
  enum Event: Hashable, Sendable {
    /// Of each part, in the order in which they were asked for.
    case gathered([Place])
    case inspected(isWhole: Bool)
    case joined(String)
    /// The parts can't be joined; one line.
    case notJoined(String)
    /// `path`: where the command finds the file. `shortfall`: it is not where it belongs, but kept.
    case delivered(JobFile, path: String, shortfall: JobError?)
    /// Nil: the command ended well; else why not.
    case afterEnded(String?)
    case failed(Failure)
  }

  /// Why a step is not possible.
  enum Failure: Hashable, Sendable {
    case delivery(DeliveryError)
    /// The settings don't allow it; one line.
    case settings(String)
    case other(String)
  }

  /// What follows for the run.
  enum Step: Hashable, Sendable {
    case work(Work)
    /// Bring a file to one of its places, with what was uploaded while it grew, if it is of this file.
    case deliver(Item)
    /// End the operator's command, which runs.
    case endAfter
    /// Send a heartbeat, and tell when it has come back.
    case heartbeat
    /// Take back what was uploaded meanwhile.
    case dropUpload
    /// Write into the journal that the files are where they belong.
    case journal([JobFile])
    case log(RunLog)
    /// Tell the backend that the job is done.
    case complete([JobFile])
    case failed(JobError, mayRetry: Bool)
    case fenced
  }
}
