import JobsAPI

/// What happened to jobs, in the order of the events' numbers. Any thread.
public struct EventStore: Sendable {
  private let database: any SQLDatabase
  private let identifiers: IdentifierGenerator
  private let deliveries: DeliveryStore

  init(database: any SQLDatabase, identifiers: IdentifierGenerator, deliveries: DeliveryStore) {
    self.database = database
    self.identifiers = identifiers
    self.deliveries = deliveries
  }

  /// Keeps an event and what must be told of it, in the transaction of the change. `text` is the job as JSON.
  func record(
    _ kind: JobEventKind, of job: Job, text: String, at now: Timestamp, in connection: any SQLConnection
  ) throws {
    let id = identifiers.next("evt_", at: now)
    let rows = try connection(
      "INSERT INTO events (id, job, kind, at, body) VALUES (?1, ?2, ?3, ?4, ?5) RETURNING number", .text(id),
      .text(job.id), .text(kind.rawValue), SQLValue(now), .text(text))
    guard let number = rows.first?.integer(0) else { throw SQLError.failed("an event got no number") }
    try deliveries.add(id, number: number, of: job, at: now, in: connection)
  }

  /// Forgets the events of a job, and what was to be told of them.
  func remove(of job: String, in connection: any SQLConnection) throws {
    try deliveries.remove(of: job, in: connection)
    try connection("DELETE FROM events WHERE job = ?1", .text(job))
  }

  /// The number of the newest event; 0 when there is none.
  public func newest() async throws -> Int64 {
    try await database.transaction { connection in
      try connection("SELECT COALESCE(MAX(number), 0) FROM events").first?.integer(0) ?? 0
    }
  }

  /// Events after a number, oldest first; of one job, or of all. Whoever goes on after the last number that was given
  /// misses nothing.
  public func list(of job: String? = nil, after number: Int64 = 0, limit: Int = 100) async throws -> [JobEvent] {
    try await page(of: job, after: number, limit: limit).events
  }

  /// So many events are looked at in one transaction, however few of them a filter allows: nobody waits long for it.
  private static let span: Int64 = 2000

  /// The same of those jobs only that a filter allows, with the number to go on after: it grows as long as there is
  /// anything that was not looked at.
  public func page(
    of job: String? = nil, filter: JobFilter = JobFilter(), after number: Int64 = 0, limit: Int = 100
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
        ).map(JobEvent.init)
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
}

extension JobEvent {
  /// Reads the columns `id, number, kind, at, body`.
  init(_ row: SQLRow) throws {
    guard let id = row.text(0), let number = row.integer(1),
      let kind = row.text(2).flatMap(JobEventKind.init(rawValue:)),
      let at = row.timestamp(3)
    else { throw SQLError.failed("an event cannot be read") }
    self.init(id: id, number: number, kind: kind, at: at, job: try JSONColumn.decode(Job.self, row.text(4)))
  }
}

extension JobEventKind {
  /// What is told of a change from one state to another.
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
