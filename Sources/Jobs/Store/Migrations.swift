import JobsAPI

/// The database's shape, in numbered steps. A step that was released never changes; new ones follow.
enum Migrations {
  /// What a step executes.
  typealias Step = @Sendable (SQLDialect) -> [String]

  /// All steps; the first has number 1.
  static let steps: [Step] = [
    { dialect in
      [
        """
        CREATE TABLE jobs (
          id TEXT PRIMARY KEY, owner TEXT NOT NULL, room TEXT NOT NULL, state TEXT NOT NULL,
          available_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, schedule TEXT, schedule_key TEXT,
          created_at BIGINT NOT NULL, version BIGINT NOT NULL, body TEXT NOT NULL,
          UNIQUE (schedule, schedule_key))
        """,
        // Final jobs are many and never looked for by these.
        "CREATE INDEX jobs_available ON jobs (available_at, id) WHERE state = 'queued'",
        "CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE state NOT IN ('completed', 'failed', 'cancelled')",
        "CREATE INDEX jobs_of_owner ON jobs (owner, id)",
        "CREATE INDEX jobs_of_room ON jobs (room, id)",
        """
        CREATE TABLE events (
          number \(dialect.serial), id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, kind TEXT NOT NULL, at BIGINT NOT NULL,
          body TEXT NOT NULL)
        """,
        "CREATE INDEX events_of_job ON events (job, number)",
        """
        CREATE TABLE deliveries (
          event TEXT NOT NULL, target TEXT NOT NULL, job TEXT NOT NULL, number BIGINT NOT NULL, attempts BIGINT NOT NULL,
          due_at BIGINT NOT NULL, state TEXT NOT NULL, detail TEXT, PRIMARY KEY (event, target))
        """,
        "CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending'",
        "CREATE INDEX deliveries_gone ON deliveries (job, target) WHERE state = 'gone'",
        "CREATE INDEX deliveries_of_job ON deliveries (job, target, number) WHERE state = 'pending'",
        """
        CREATE TABLE idempotency (
          owner TEXT NOT NULL, token TEXT NOT NULL, fingerprint TEXT NOT NULL, answer TEXT NOT NULL, at BIGINT NOT NULL,
          PRIMARY KEY (owner, token))
        """,
        "CREATE INDEX idempotency_by_age ON idempotency (at)",
        """
        CREATE TABLE schedules (
          id TEXT PRIMARY KEY, owner TEXT NOT NULL, due_at BIGINT NOT NULL, version BIGINT NOT NULL, body TEXT NOT NULL)
        """,
        "CREATE INDEX schedules_due ON schedules (due_at)",
        """
        CREATE TABLE api_keys (
          id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, body TEXT NOT NULL, created_at BIGINT NOT NULL)
        """,
        """
        CREATE TABLE workers (
          id TEXT PRIMARY KEY, seen_at BIGINT NOT NULL, body TEXT NOT NULL)
        """,
      ]
    },
    { _ in
      [
        // Final jobs are kept for a time from their end, not from their making.
        "ALTER TABLE jobs ADD COLUMN finished_at BIGINT",
        "UPDATE jobs SET finished_at = created_at WHERE state IN ('completed', 'failed', 'cancelled')",
        // The states are counted at each look at the metrics.
        "CREATE INDEX jobs_finished ON jobs (finished_at, state) WHERE finished_at IS NOT NULL",
        "CREATE INDEX jobs_active ON jobs (id, state) WHERE \(JobStore.isActive)",
        "CREATE INDEX deliveries_by_job ON deliveries (job)",
        "CREATE INDEX schedules_of_owner ON schedules (owner, id)",
      ]
    },
  ]

  /// Brings a database to the newest shape, in one transaction. A database that is newer than this program is
  /// refused: an old backend must not write into it.
  static func run(_ database: any SQLDatabase) async throws {
    try await database.transaction { connection in
      if connection.dialect == .postgres {
        // Two backends that start together: one migrates, the other waits and finds it done.
        try connection("SELECT pg_advisory_xact_lock(727213)")
      }
      try connection("CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, at BIGINT NOT NULL)")
      let done = try connection("SELECT COALESCE(MAX(number), 0) FROM migrations").first?.integer(0) ?? 0
      guard done <= Int64(steps.count) else {
        throw SQLError.failed("the database was made by a newer recbot (shape \(done), known are \(steps.count))")
      }
      let now = try connection.now()
      for number in Int(done)..<steps.count {
        for statement in steps[number](connection.dialect) { try connection(statement) }
        try connection(
          "INSERT INTO migrations (number, at) VALUES (?1, ?2)", .integer(Int64(number + 1)), SQLValue(now))
      }
    }
  }
}
