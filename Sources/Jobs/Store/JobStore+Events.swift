/// What can be told of a job.
public enum JobEventKind: String, Codable, Hashable, Sendable {
  /// It was queued for the first time.
  case created = "job.created"
  /// A worker took it.
  case started = "job.started"
  /// It changed between the states of a worker's job.
  case updated = "job.updated"
  /// It went back into the queue.
  case requeued = "job.requeued"
  /// It is done.
  case completed = "job.completed"
  /// It failed.
  case failed = "job.failed"
  /// It was cancelled.
  case cancelled = "job.cancelled"

  init(_ state: JobState, before: JobState) {
    switch state {
    case .queued: self = .requeued
    case .completed: self = .completed
    case .failed: self = .failed
    case .cancelled: self = .cancelled
    default: self = before == .queued ? .started : .updated
    }
  }
}

/// Something that happened to a job, in the order of `number`.
public struct JobEvent: Codable, Hashable, Sendable {
  /// Its name; the same however often it is told.
  public var id: String
  /// Its place among all events.
  public var number: Int64
  /// What happened.
  public var kind: JobEventKind
  /// When.
  public var at: Timestamp
  /// The job as it was afterwards.
  public var job: Job
}

extension JobStore {
  /// Keeps an event and what must be told of it, in the transaction of the change. `text` is the job as JSON.
  func record(
    _ kind: JobEventKind, of job: Job, text: String, at now: Timestamp, in connection: any SQLConnection
  ) throws {
    let id = makeID("evt_", at: now)
    let rows = try connection(
      "INSERT INTO events (id, job, kind, at, body) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING number", .text(id),
      .text(job.id), .text(kind.rawValue), SQLValue(now), .text(text))
    guard let number = rows.first?.integer(0) else { throw SQLError.failed("an event got no number") }
    for target in Set(webhooks + (job.request.webhook.map { [$0] } ?? []) + (job.request.egress?.webhooks ?? [])) {
      try connection(
        """
        INSERT INTO deliveries (event, target, job, number, attempts, due_at, state)
        SELECT ?1, ?2, ?3, CAST(?4 AS BIGINT), 0, CAST(?5 AS BIGINT), 'pending'
        WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE job = ?3 AND target = ?2 AND state = 'gone')
        """, .text(id), .text(try JSONText.encode(target)), .text(job.id), .integer(number), SQLValue(now))
    }
  }

  /// Events after a number, oldest first; of one job, or of all. Whoever goes on after the last number that was given
  /// misses nothing.
  public func events(of job: String? = nil, after number: Int64 = 0, limit: Int = 100) async throws -> [JobEvent] {
    try await eventPage(of: job, after: number, limit: limit).events
  }

  /// The same of those jobs only that a filter allows, with the number to go on after.
  public func eventPage(
    of job: String? = nil, filter: Filter = Filter(), after number: Int64 = 0, limit: Int = 100
  ) async throws -> (events: [JobEvent], next: Int64) {
    try await database.transaction { connection in
      func read() throws -> [JobEvent] {
        try connection(
          """
          SELECT e.id, e.number, e.kind, e.at, e.body FROM events e
          WHERE e.number > ?1 AND (?2 = '' OR e.job = ?2)
            AND (?3 = '' OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job AND j.owner = ?3))
          ORDER BY e.number LIMIT CAST(?4 AS BIGINT)
          """, .integer(number), .text(job ?? ""), .text(filter.owner ?? ""),
          .integer(Int64(max(1, min(limit, 1000))))
        ).map { try Self.event($0, from: 0) }
      }
      var events = try read()
      // PostgreSQL gives numbers before transactions end, in any order: where one is missing, it may still come (those
      // of one job take turns, on the job's row). Who inserts holds a lock of the table until then; once nobody does,
      // what is missing stays missing.
      if job == nil, connection.dialect == .postgres, let last = events.last,
        try Self.hasGap(from: number, to: last.number, in: connection)
      {
        try connection("LOCK TABLE events IN SHARE MODE")
        events = try read()
      }
      return (events.filter { filter.allows($0.job) }, events.last?.number ?? number)
    }
  }

  private static func hasGap(from first: Int64, to last: Int64, in connection: any SQLConnection) throws -> Bool {
    let count = try connection(
      "SELECT COUNT(*) FROM events WHERE number > ?1 AND number <= ?2", .integer(first), .integer(last))
    return count.first?.integer(0) != last &- first
  }

  static func event(_ row: SQLRow, from column: Int) throws -> JobEvent {
    guard let id = row.text(column), let number = row.integer(column + 1),
      let kind = row.text(column + 2).flatMap(JobEventKind.init(rawValue:)), let at = row.timestamp(column + 3)
    else { throw SQLError.failed("an event cannot be read") }
    return JobEvent(
      id: id, number: number, kind: kind, at: at, job: try JSONText.decode(Job.self, row.text(column + 4)))
  }

  /// Forgets what nobody asks for any more: idempotency keys, and final jobs with their events and deliveries.
  public func prune(keysOlderThan keyAge: TimeSpan, jobsOlderThan jobAge: TimeSpan) async throws {
    try await database.transaction { connection in
      let now = try connection.now()
      try connection("DELETE FROM idempotency WHERE at < ?1", SQLValue(now - keyAge))
      let old = SQLValue(now - jobAge)
      let jobs =
        "SELECT id FROM jobs WHERE state IN ('completed', 'failed', 'cancelled') AND created_at < ?1 LIMIT 1000"
      try connection("DELETE FROM deliveries WHERE job IN (\(jobs)) AND state <> 'pending'", old)
      let removable = "\(jobs.replacing(" LIMIT 1000", with: "")) AND id NOT IN (SELECT job FROM deliveries) LIMIT 1000"
      try connection("DELETE FROM events WHERE job IN (\(removable))", old)
      try connection("DELETE FROM jobs WHERE id IN (\(removable))", old)
    }
  }
}
