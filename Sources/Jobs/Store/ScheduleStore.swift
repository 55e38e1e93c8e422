import JobsAPI

/// Schedules and rules: what makes jobs by itself. Any thread.
public struct ScheduleStore: Sendable {
  private let database: any SQLDatabase
  private let identifiers: IdentifierGenerator
  private let jobs: JobStore
  private let idempotency: IdempotencyStore

  init(
    database: any SQLDatabase, identifiers: IdentifierGenerator, jobs: JobStore, idempotency: IdempotencyStore
  ) {
    self.database = database
    self.identifiers = identifiers
    self.jobs = jobs
    self.idempotency = idempotency
  }

  /// Keeps a new schedule. With a key that its owner used before for the same, the schedule of that time is returned.
  public func add(_ schedule: Schedule, key: String? = nil) async throws -> Schedule {
    try await addition(of: schedule, key: key).schedule
  }

  /// What came of a schedule that was sent: the one that is kept, and whether an earlier request with the same key had
  /// made it.
  public func addition(of new: Schedule, key: String? = nil) async throws -> (schedule: Schedule, isRepetition: Bool) {
    let request = IdempotentRequest(key: key, owner: new.owner, fingerprint: "schedule " + (try JSONColumn.encode(new)))
    return try await idempotency.transaction { [self] connection in
      if let known = try idempotency.answer(to: request, in: connection) {
        return (try Self.load(known, in: connection), true)
      }
      let now = try connection.now()
      let problems = new.problems(now: now)
      guard problems.isEmpty else { throw StoreError.invalid(problems) }
      var schedule = new
      schedule.id = identifiers.next("sch_", at: now)
      schedule.createdAt = now
      schedule.nextFire = schedule.fire(after: now - .seconds(1))
      try connection(
        "INSERT INTO schedules (id, owner, due_at, version, body) VALUES (?1, ?2, ?3, 1, ?4)", .text(schedule.id),
        .text(schedule.owner), Self.due(schedule), .text(try JSONColumn.encode(schedule)))
      try idempotency.keep(schedule.id, to: request, at: now, in: connection)
      return (schedule, false)
    }
  }

  /// A schedule by its name. Throws `notFound`.
  public func schedule(_ id: String) async throws -> Schedule {
    try await database.transaction { connection in try Self.load(id, in: connection) }
  }

  private static func load(_ id: String, in connection: any SQLConnection) throws -> Schedule {
    let rows = try connection("SELECT body FROM schedules WHERE id = ?1", .text(id))
    guard let row = rows.first else { throw StoreError.notFound }
    return try JSONColumn.decode(Schedule.self, row.text(0))
  }

  /// Schedules, the newest first: those after the one named `after` (the last of the page before).
  public func list(owner: String? = nil, after: String? = nil, limit: Int = 50) async throws -> [Schedule] {
    var query = SQLConditions()
    if let owner { query.add("owner = ", .text(owner)) }
    if let after { query.add("id < ", .text(after)) }
    let most = query.parameter(.integer(Int64(max(1, min(limit, 1000)))))
    let conditions = query
    return try await database.transaction { connection in
      try connection.query(
        "SELECT body FROM schedules \(conditions.text) ORDER BY id DESC LIMIT CAST(\(most) AS BIGINT)",
        conditions.values
      ).map { try JSONColumn.decode(Schedule.self, $0.text(0)) }
    }
  }

  /// Makes a schedule fire, or not. What it missed while it did not is not made up for.
  public func enable(_ isEnabled: Bool, schedule id: String) async throws -> Schedule {
    try await database.transaction { connection in
      var schedule = try Self.load(id, in: connection)
      guard schedule.isEnabled != isEnabled else { return schedule }
      schedule.isEnabled = isEnabled
      schedule.nextFire = schedule.fire(after: try connection.now() - .seconds(1))
      try connection(
        "UPDATE schedules SET due_at = ?2, version = version + 1, body = ?3 WHERE id = ?1", .text(id),
        Self.due(schedule), .text(try JSONColumn.encode(schedule)))
      return schedule
    }
  }

  /// Removes a schedule. Jobs that it made stay.
  public func remove(_ id: String, owner: String? = nil) async throws {
    try await database.transaction { connection in
      let rows = try connection(
        "DELETE FROM schedules WHERE id = ?1 AND (?2 = '' OR owner = ?2) RETURNING id", .text(id), .text(owner ?? ""))
      guard !rows.isEmpty else { throw StoreError.notFound }
    }
  }

  /// Makes the jobs of all schedules that are due, and gives them. Every backend calls this about once a second: a
  /// schedule's row is changed in the same transaction as its jobs are made, and a fire time makes one job at most.
  @discardableResult
  public func fire(limit: Int = 50) async throws -> [Job] {
    try await database.transaction { [self] connection in
      let now = try connection.now()
      let rows = try connection(
        """
        SELECT body FROM schedules WHERE due_at <= ?1 ORDER BY due_at LIMIT CAST(?2 AS BIGINT)\(connection.dialect.skipLocked)
        """, SQLValue(now), .integer(Int64(limit)))
      var made: [Job] = []
      for row in rows {
        var schedule = try JSONColumn.decode(Schedule.self, row.text(0))
        let due = schedule.due(at: now)
        for fire in due.fires {
          let origin = JobOrigin(schedule: schedule.id, key: fire.description)
          guard try !jobs.exists(origin, in: connection) else { continue }
          let request = schedule.request(for: fire, now: now)
          // One that can't be carried out must not keep the other schedules from firing.
          guard request.problems(now: now).isEmpty else { continue }
          made.append(
            try jobs.submit(request, owner: schedule.owner, origin: origin, at: now, in: connection))
        }
        schedule.nextFire = due.next
        try connection(
          "UPDATE schedules SET due_at = ?2, version = version + 1, body = ?3 WHERE id = ?1", .text(schedule.id),
          Self.due(schedule), .text(try JSONColumn.encode(schedule)))
      }
      return made
    }
  }

  /// Makes the jobs of all rules that match a room that has begun. `sid` names this life of the room: told twice, it
  /// is recorded once.
  @discardableResult
  public func roomStarted(_ room: String, sid: String) async throws -> [Job] {
    try await database.transaction { [self] connection in
      let now = try connection.now()
      if connection.dialect == .postgres {
        // The room service tells every backend that it knows; they take turns.
        try connection("SELECT pg_advisory_xact_lock(727214)")
      }
      var made: [Job] = []
      for row in try connection("SELECT body FROM schedules WHERE due_at = ?1", Self.never) {
        let schedule = try JSONColumn.decode(Schedule.self, row.text(0))
        guard schedule.isEnabled, schedule.matches(room: room) else { continue }
        let origin = JobOrigin(schedule: schedule.id, key: sid)
        guard try !jobs.exists(origin, in: connection) else { continue }
        var request = schedule.request
        request.room = room
        request.startAt = nil
        if let length = schedule.length { request.deadline = now + .seconds(length) }
        guard request.problems(now: now).isEmpty else { continue }
        made.append(try jobs.submit(request, owner: schedule.owner, origin: origin, at: now, in: connection))
      }
      return made
    }
  }

  /// The due time of schedules that never fire by themselves.
  private static let never = SQLValue.integer(.max)

  private static func due(_ schedule: Schedule) -> SQLValue {
    guard schedule.isEnabled, let next = schedule.nextFire else { return never }
    return SQLValue(schedule.dueTime(of: next))
  }
}
