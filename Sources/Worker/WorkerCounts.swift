import JobsAPI
import Synchronization

/// What a worker's recordings have come to since its start. Any thread.
final class WorkerCounts: Sendable {
  /// How a job left this worker.
  enum End: String, CaseIterable, Sendable {
    /// The file is where it belongs.
    case completed
    /// So it is, and is less than was asked for.
    case incomplete
    case failed
    /// Another worker goes on.
    case handedOver = "handed_over"
    /// Another worker had it already.
    case lost
  }

  /// What is counted, since the worker began.
  struct Values: Hashable, Sendable {
    /// Bytes that were recorded.
    var bytes: Int64 = 0
    /// Pictures that were left out because the machine was too slow.
    var droppedFrames: Int64 = 0
    /// Attempts to bring a file where it belongs that failed.
    var failedDeliveries: Int64 = 0
    /// Jobs by how they left.
    var ends: [End: Int64] = [:]
  }

  private let state = Mutex(Values())

  /// The numbers now.
  var values: Values { state.withLock { $0 } }

  /// A recording has come so far since its report before; nil: it is the first.
  func take(_ report: RecordingReport, after before: RecordingReport?) {
    state.withLock { values in
      values.bytes &+= max(0, report.size &- (before?.size ?? 0))
      values.droppedFrames &+= max(0, report.droppedFrames &- (before?.droppedFrames ?? 0))
    }
  }

  /// A file did not get where it belongs.
  func deliveryFailed() { state.withLock { $0.failedDeliveries &+= 1 } }

  /// A job has left.
  func ended(_ end: End) { state.withLock { $0.ends[end, default: 0] &+= 1 } }
}
