import CoreMetrics
import HTTPService
import JobsAPI

/// Counts what comes of a worker's jobs since its start, and tells it and how the worker stands as Prometheus reads it. Any
/// thread.
struct WorkerMetrics: Sendable {
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

  private let registry = MetricsRegistry()
  private let jobsTaken: Counter
  private let recordedBytes: Counter
  private let droppedFrames: Counter
  private let sparedFrames: Counter
  private let degradations: Counter
  private let deliveryFailures: Counter
  private let jobsEnded: [End: Counter]

  init() {
    let registry = registry
    func counter(_ name: String, _ help: String) -> Counter {
      registry.describe(Self.name(name), .counter, help)
      return Counter(label: Self.name(name), factory: registry)
    }
    jobsTaken = counter("jobs_taken_total", "Jobs that were taken.")
    recordedBytes = counter("recorded_bytes_total", "Bytes that were recorded.")
    droppedFrames = counter("dropped_frames_total", "Pictures left out because the machine was too slow.")
    sparedFrames = counter("spared_frames_total", "Pictures left out to save processor time.")
    degradations = counter(
      "degradations_total", "Steps in which recordings did without something to save processor time.")
    deliveryFailures = counter("delivery_failures_total", "Attempts to deliver a file that failed.")
    let ended = Self.name("jobs_ended_total")
    registry.describe(ended, .counter, "Jobs that left this worker, by how.")
    jobsEnded = Dictionary(
      uniqueKeysWithValues: End.allCases.map { end in
        (end, Counter(label: ended, dimensions: [("end", end.rawValue)], factory: registry))
      })
  }

  /// A job was taken.
  func took() { jobsTaken.increment() }

  /// A recording has come so far since its report before; nil: it is the first.
  func take(_ report: RecordingReport, after before: RecordingReport?) {
    recordedBytes.increment(by: max(0, report.size &- (before?.size ?? 0)))
    droppedFrames.increment(by: max(0, report.droppedFrames &- (before?.droppedFrames ?? 0)))
    sparedFrames.increment(by: max(0, report.sparedFrames &- (before?.sparedFrames ?? 0)))
    degradations.increment(by: Int64(max(0, report.degradation - (before?.degradation ?? 0))))
  }

  /// A file did not get where it belongs.
  func deliveryFailed() { deliveryFailures.increment() }

  /// A job has left.
  func ended(_ end: End) { jobsEnded[end]?.increment() }

  /// All of it, with how the worker stands now.
  func text(_ status: JobWorker.Status) -> String {
    var text = MetricsText()
    func gauge(_ name: String, _ help: String, _ value: String) { text.single(Self.name(name), .gauge, help, value) }
    gauge("recordings", "Recordings that run.", "\(status.worker.running)")
    gauge("recordings_capacity", "Recordings that can run at once.", "\(status.worker.capacity)")
    gauge("cores", "Processor time of the recordings, in cores.", "\(status.worker.cores)")
    gauge("cores_limit", "Processor time that they may use.", "\(status.limits.cores)")
    gauge("memory_bytes", "Memory of the recordings.", "\(status.worker.memory)")
    gauge("memory_limit_bytes", "Memory that they may use.", "\(status.limits.memory)")
    gauge("draining", "1 when nothing more is taken.", status.worker.isDraining ? "1" : "0")
    text.build(version: Build.version)
    return text.text + registry.text
  }

  private static func name(_ name: String) -> String { "recbot_worker_" + name }
}
