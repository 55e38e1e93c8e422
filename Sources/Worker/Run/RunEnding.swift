import JobsAPI

/// What is done with a job when its recording is over.
enum RunEnding: Hashable, Sendable {
  /// It is finished and completed; the error says why it is less than was wanted.
  case recorded(JobError?)
  case failed(JobError, mayRetry: Bool)
  /// Somebody else goes on with it.
  case handedOver
  /// Somebody else has it.
  case fenced

  /// How it is counted.
  var count: WorkerMetrics.End {
    switch self {
    case .recorded(let error): error == nil ? .completed : .incomplete
    case .failed: .failed
    case .handedOver: .handedOver
    case .fenced: .lost
    }
  }

  /// True when another worker may go on with it.
  var mayGoOn: Bool {
    switch self {
    case .recorded: false
    case .failed(_, let mayRetry): mayRetry
    case .handedOver, .fenced: true
    }
  }
}
