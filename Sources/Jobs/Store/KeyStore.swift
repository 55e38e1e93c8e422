/// The callers' API keys: their hashes, never their texts. Any thread.
public struct KeyStore: Sendable {
  private let database: any SQLDatabase

  init(database: any SQLDatabase) { self.database = database }

  /// Keeps an API key with the hash of its text.
  public func add(_ key: APIKey, hash: String) async throws {
    let body = try JSONColumn.encode(key)
    try await database.transaction { connection in
      _ = try connection(
        "INSERT INTO api_keys (id, hash, body, created_at) VALUES (?1, ?2, ?3, ?4)", .text(key.id), .text(hash),
        .text(body), SQLValue(key.createdAt))
    }
  }

  /// The API key with this hash. Throws `notFound`.
  public func key(hash: String) async throws -> APIKey {
    try await database.transaction { connection in
      let rows = try connection("SELECT body FROM api_keys WHERE hash = ?1", .text(hash))
      guard let row = rows.first else { throw StoreError.notFound }
      return try JSONColumn.decode(APIKey.self, row.text(0))
    }
  }

  /// All API keys, the oldest first.
  public func list() async throws -> [APIKey] {
    try await database.transaction { connection in
      try connection("SELECT body FROM api_keys ORDER BY created_at, id").map {
        try JSONColumn.decode(APIKey.self, $0.text(0))
      }
    }
  }

  /// Removes the API keys of this id or name; gives how many there were.
  @discardableResult
  public func remove(named name: String) async throws -> Int {
    try await database.transaction { connection in
      var removed = 0
      for row in try connection("SELECT id, body FROM api_keys") {
        let key = try JSONColumn.decode(APIKey.self, row.text(1))
        guard key.id == name || key.name == name else { continue }
        try connection("DELETE FROM api_keys WHERE id = ?1", .text(key.id))
        removed += 1
      }
      return removed
    }
  }
}
