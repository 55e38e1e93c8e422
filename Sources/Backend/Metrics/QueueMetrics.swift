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
    text.family("recbot_jobs", "gauge", "Jobs that are kept, by state.")
    for state in JobState.allCases {
      text.sample("recbot_jobs", ["state": state.rawValue], "\(counts.jobs[state] ?? 0)")
    }
    text.family("recbot_jobs_finished_total", "counter", "Jobs that this backend ended.")
    let ended = queue.jobs.ended
    for state in JobState.allCases where state.isFinal {
      text.sample("recbot_jobs_finished_total", ["result": state.rawValue], "\(ended[state] ?? 0)")
    }
    text.family("recbot_jobs_queue_depth", "gauge", "Jobs whose time has come and that no worker has.")
    text.sample("recbot_jobs_queue_depth", [:], "\(counts.waiting)")
    text.family("recbot_jobs_queue_age_seconds", "gauge", "How long the longest of them has been waiting.")
    text.sample(
      "recbot_jobs_queue_age_seconds", [:], "\(Double(counts.longestWait?.microseconds ?? 0) / 1_000_000)")
    text.family("recbot_build_info", "gauge", "1; the label says which version this is.")
    text.sample("recbot_build_info", ["version": Build.version], "1")
    text.family("recbot_workers", "gauge", "Workers that asked for work in the last minute.")
    text.sample("recbot_workers", [:], "\(workers.count)")
    text.family("recbot_worker_capacity", "gauge", "Recordings that these workers could run at once.")
    let capacity = workers.filter { !$0.status.isDraining }.reduce(0) { $0 &+ $1.status.capacity }
    text.sample("recbot_worker_capacity", [:], "\(capacity)")
    text.family("recbot_webhooks_pending", "gauge", "Messages to receivers that were not delivered yet.")
    text.sample("recbot_webhooks_pending", [:], "\(counts.pendingDeliveries)")
    return text.text
  }
}
