import JobsAPI

/// A worker as it was last heard of.
public struct WorkerRecord: Codable, Hashable, Sendable {
  /// Its name.
  public var id: String
  /// When it last asked for work.
  public var seenAt: Timestamp
  /// What it said of itself.
  public var status: WorkerStatus

  enum CodingKeys: String, CodingKey {
    case id, status
    case seenAt = "seen_at"
  }
}

/// The workers that asked for work. Any thread.
public struct WorkerStore: Sendable {
  private let database: any SQLDatabase

  init(database: any SQLDatabase) { self.database = database }

  /// Keeps that a worker asked for work, and how it stands.
  public func seen(worker id: String, status: WorkerStatus) async throws {
    try await database.transaction { connection in
      let now = try connection.now()
      try connection(
        """
        INSERT INTO workers (id, seen_at, body) VALUES (?1, ?2, ?3)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, body = excluded.body
        """, .text(id), SQLValue(now), .text(try JSONColumn.encode(status)))
    }
  }

  /// Workers that asked for work within a span, by name.
  public func list(seenWithin span: Duration) async throws -> [WorkerRecord] {
    try await database.transaction { connection in
      let now = try connection.now()
      return try connection(
        "SELECT id, seen_at, body FROM workers WHERE seen_at > ?1 ORDER BY id LIMIT 1000", SQLValue(now - span)
      ).compactMap { row in
        guard let id = row.text(0), let seenAt = row.timestamp(1) else { return nil }
        return WorkerRecord(id: id, seenAt: seenAt, status: try JSONColumn.decode(WorkerStatus.self, row.text(2)))
      }
    }
  }

  /// Forgets workers that were not heard of for a span: their names are never used again.
  public func forget(unseenFor span: Duration) async throws {
    try await database.transaction { connection in
      let now = try connection.now()
      try connection("DELETE FROM workers WHERE seen_at < ?1", SQLValue(now - span))
    }
  }
}
