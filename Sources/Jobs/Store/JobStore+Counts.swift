/// How the queue stands, for metrics.
public struct QueueCounts: Hashable, Sendable {
  /// Jobs in each state; final ones as long as they are kept.
  public var jobs: [JobState: Int64] = [:]
  /// Jobs whose time has come and that no worker has.
  public var waiting: Int64 = 0
  /// How long the longest of them has been waiting; nil: none waits.
  public var longestWait: TimeSpan?
  /// Messages to receivers that were not delivered yet.
  public var pendingDeliveries: Int64 = 0
}

extension JobStore {
  /// Counts what there is.
  public func counts() async throws -> QueueCounts {
    try await database.transaction { connection in
      var counts = QueueCounts()
      // Each from its own index: the rows themselves are long.
      for part in [Self.isActive, "finished_at IS NOT NULL"] {
        for row in try connection("SELECT state, COUNT(*) FROM jobs WHERE \(part) GROUP BY state") {
          guard let state = row.text(0).flatMap(JobState.init(rawValue:)) else { continue }
          counts.jobs[state] = row.integer(1) ?? 0
        }
      }
      let now = try connection.now()
      let waiting = try connection(
        "SELECT COUNT(*), MIN(available_at) FROM jobs WHERE state = 'queued' AND available_at <= ?1", SQLValue(now)
      ).first
      counts.waiting = waiting?.integer(0) ?? 0
      counts.longestWait = waiting?.timestamp(1).map { now - $0 }
      counts.pendingDeliveries =
        try connection("SELECT COUNT(*) FROM deliveries WHERE state = 'pending'").first?.integer(0) ?? 0
      return counts
    }
  }

  /// True when a worker that asks now would be given a job.
  public func hasAvailableJob() async throws -> Bool {
    try await database.transaction { connection in
      let now = try connection.now()
      return try !connection(
        "SELECT 1 FROM jobs WHERE state = 'queued' AND available_at <= ?1 LIMIT 1", SQLValue(now)
      ).isEmpty
    }
  }

  /// The number of the newest event; 0 when there is none.
  public func newestEvent() async throws -> Int64 {
    try await database.transaction { connection in
      try connection("SELECT COALESCE(MAX(number), 0) FROM events").first?.integer(0) ?? 0
    }
  }

  /// True when the database answers.
  public func isReady() async -> Bool {
    let answer = try? await database.transaction { connection in try connection("SELECT 1").first?.integer(0) }
    return answer == 1
  }
}
