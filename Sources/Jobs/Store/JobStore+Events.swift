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

  /// So many events are looked at in one transaction, however few of them a filter allows: nobody waits long for it.
  private static let span: Int64 = 2000

  /// The same of those jobs only that a filter allows, with the number to go on after: it grows as long as there is
  /// anything that was not looked at.
  public func eventPage(
    of job: String? = nil, filter: Filter = Filter(), after number: Int64 = 0, limit: Int = 100
  ) async throws -> (events: [JobEvent], next: Int64) {
    let most = max(1, min(limit, 1000))
    return try await database.transaction { connection in
      // Asked before the events: each question sees what was committed until then, and what comes between two of them
      // must not be passed over unseen.
      func newest() throws -> Int64 {
        job == nil ? try Self.newest(from: number, to: number.addedClamped(Self.span), in: connection) : .max
      }
      func read(to last: Int64) throws -> (events: [JobEvent], next: Int64) {
        var query = SQLConditions()
        query.add("e.number > ", .integer(number))
        query.add("e.number <= ", .integer(last))
        if let job { query.add("e.job = ", .text(job)) }
        if let owner = filter.owner {
          query.add("EXISTS (SELECT 1 FROM jobs j WHERE j.id = e.job AND j.owner = ", .text(owner), ")")
        }
        let count = query.parameter(.integer(Int64(most)))
        let events = try connection.query(
          """
          SELECT e.id, e.number, e.kind, e.at, e.body FROM events e \(query.text)
          ORDER BY e.number LIMIT CAST(\(count) AS BIGINT)
          """, query.values
        ).map { try Self.event($0, from: 0) }
        let isWhole = job == nil && events.count < most
        return (events, isWhole ? last : events.last?.number ?? number)
      }
      let last = try newest()
      // PostgreSQL gives numbers before transactions end, in any order: where one is missing, it may still come (those
      // of one job take turns, on the job's row). Who inserts holds a lock of the table until then; once nobody does,
      // what is missing stays missing.
      let gap =
        job == nil && connection.dialect == .postgres ? try Self.gap(from: number, to: last, in: connection) : nil
      var page = try read(to: last)
      if let gap, page.next >= gap {
        try connection("LOCK TABLE events IN SHARE MODE")
        page = try read(to: try newest())
      }
      return (page.events.filter { filter.allows($0.job) }, page.next)
    }
  }

  /// Up to where there is nothing more to look at between two numbers, or, when all there was forgotten, before the next.
  private static func newest(from first: Int64, to last: Int64, in connection: any SQLConnection) throws -> Int64 {
    let newest = try connection(
      "SELECT MAX(number) FROM events WHERE number > ?1 AND number <= ?2", .integer(first), .integer(last))
    if let number = newest.first?.integer(0) { return number }
    let next = try connection("SELECT MIN(number) FROM events WHERE number > ?1", .integer(last))
    return next.first?.integer(0).map { $0 &- 1 } ?? first
  }

  /// The first number that is missing between two; nil when all of them are there.
  private static func gap(from first: Int64, to last: Int64, in connection: any SQLConnection) throws -> Int64? {
    let rows = try connection(
      """
      SELECT MIN(CASE WHEN number <> place THEN place END), MAX(number) FROM (
        SELECT number, CAST(?1 AS BIGINT) + ROW_NUMBER() OVER (ORDER BY number) AS place FROM events
        WHERE number > ?1 AND number <= ?2
      ) AS numbered
      """, .integer(first), .integer(last))
    if let missing = rows.first?.integer(0) { return missing }
    let newest = rows.first?.integer(1) ?? first
    return newest < last ? newest &+ 1 : nil
  }

  static func event(_ row: SQLRow, from column: Int) throws -> JobEvent {
    guard let id = row.text(column), let number = row.integer(column + 1),
      let kind = row.text(column + 2).flatMap(JobEventKind.init(rawValue:)), let at = row.timestamp(column + 3)
    else { throw SQLError.failed("an event cannot be read") }
    return JobEvent(
      id: id, number: number, kind: kind, at: at, job: try JSONText.decode(Job.self, row.text(column + 4)))
  }

  /// Forgets what nobody asks for any more: idempotency keys, and jobs that ended so long ago, with their events and
  /// deliveries, unless something of them must still be told. At most `limit` of each at once; true when that was not
  /// all.
  @discardableResult
  public func prune(
    keysOlderThan keyAge: TimeSpan, jobsOlderThan jobAge: TimeSpan, limit: Int = 500
  ) async throws -> Bool {
    try await database.transaction { connection in
      let now = try connection.now()
      let most = SQLValue.integer(Int64(max(1, limit)))
      let keys = try connection(
        """
        DELETE FROM idempotency WHERE (owner, token) IN (
          SELECT owner, token FROM idempotency WHERE at < ?1 ORDER BY at LIMIT CAST(?2 AS BIGINT)) RETURNING at
        """, SQLValue(now - keyAge), most)
      let jobs = try connection(
        """
        SELECT id FROM jobs WHERE finished_at < ?1 AND NOT EXISTS (
          SELECT 1 FROM deliveries d WHERE d.job = jobs.id AND d.state = 'pending')
        ORDER BY finished_at LIMIT CAST(?2 AS BIGINT)
        """, SQLValue(now - jobAge), most)
      for job in jobs {
        let id = SQLValue(job.text(0))
        try connection("DELETE FROM deliveries WHERE job = ?1", id)
        try connection("DELETE FROM events WHERE job = ?1", id)
        try connection("DELETE FROM jobs WHERE id = ?1", id)
      }
      return max(keys.count, jobs.count) >= max(1, limit)
    }
  }
}
