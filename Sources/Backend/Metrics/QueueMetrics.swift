import HTTPService
import Jobs
import JobsAPI
import MediaCore

/// How the queue stands, in Prometheus' text format.
enum QueueMetrics {
  /// How long ago a worker may have asked for work to be counted.
  static let workerAge = Duration.seconds(60)

  /// Asks the database.
  static func text(of queue: JobQueue) async throws -> String {
    let counts = try await queue.counts()
    let workers = try await queue.workers.list(seenWithin: workerAge)
    var text = MetricsText()
    text.family("recbot_jobs", .gauge, "Jobs that are kept, by state.")
    for state in JobState.allCases {
      text.sample("recbot_jobs", ["state": state.rawValue], "\(counts.jobs[state] ?? 0)")
    }
    text.family("recbot_jobs_finished_total", .counter, "Jobs that this backend ended.")
    let ended = queue.jobs.ended
    for state in JobState.allCases where state.isFinal {
      text.sample("recbot_jobs_finished_total", ["result": state.rawValue], "\(ended[state] ?? 0)")
    }
    text.single(
      "recbot_jobs_queue_depth", .gauge, "Jobs whose time has come and that no worker has.", "\(counts.waiting)")
    text.single(
      "recbot_jobs_queue_age_seconds", .gauge, "How long the longest of them has been waiting.",
      "\(Double(counts.longestWait?.microseconds ?? 0) / 1_000_000)")
    text.build(version: Build.version)
    text.single("recbot_workers", .gauge, "Workers that asked for work in the last minute.", "\(workers.count)")
    let capacity = workers.filter { !$0.status.isDraining }.reduce(0) { $0 &+ $1.status.capacity }
    text.single(
      "recbot_worker_capacity", .gauge, "Recordings that these workers could run at once.", "\(capacity)")
    text.single(
      "recbot_webhooks_pending", .gauge, "Messages to receivers that were not delivered yet.",
      "\(counts.pendingDeliveries)")
    return text.text
  }
}
