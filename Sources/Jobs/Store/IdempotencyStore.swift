import JobsAPI

/// A request that may come twice.
struct IdempotentRequest: Sendable {
  /// The caller's name for it; nil: each is another one.
  var key: String?
  /// Whose key it is.
  var owner: String
  /// What is asked for, as a text: the same key must not be used for anything else.
  var fingerprint: String
}

/// What came of requests that had an idempotency key. Any thread.
struct IdempotencyStore: Sendable {
  private let database: any SQLDatabase

  init(database: any SQLDatabase) { self.database = database }

  /// Carries out a transaction that keeps a key; again, when another with the same key was a moment faster.
  func transaction<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> Value
  ) async throws -> Value {
    do {
      return try await database.transaction(body)
    } catch SQLError.conflict {
      return try await database.transaction(body)
    }
  }

  /// What came of an earlier request with this key by this owner; nil when there was none. Throws `keyReused` when it
  /// was another request.
  func answer(to request: IdempotentRequest, in connection: any SQLConnection) throws -> String? {
    guard let key = request.key else { return nil }
    let known = try connection(
      "SELECT fingerprint, answer FROM idempotency WHERE owner = ?1 AND token = ?2", .text(request.owner), .text(key))
    guard let row = known.first else { return nil }
    guard row.text(0) == request.fingerprint else { throw StoreError.keyReused }
    return row.text(1) ?? ""
  }

  /// Keeps what came of a request with a key.
  func keep(
    _ answer: String, to request: IdempotentRequest, at now: Timestamp, in connection: any SQLConnection
  ) throws {
    guard let key = request.key else { return }
    try connection(
      "INSERT INTO idempotency (owner, token, fingerprint, answer, at) VALUES (?1, ?2, ?3, ?4, ?5)",
      .text(request.owner), .text(key), .text(request.fingerprint), .text(answer), SQLValue(now))
  }

  /// Forgets keys that were used before a moment, at most so many; gives how many there were.
  func prune(before moment: Timestamp, limit: Int, in connection: any SQLConnection) throws -> Int {
    try connection(
      """
      DELETE FROM idempotency WHERE (owner, token) IN (
        SELECT owner, token FROM idempotency WHERE at < ?1 ORDER BY at LIMIT CAST(?2 AS BIGINT)) RETURNING at
      """, SQLValue(moment), .integer(Int64(limit))
    ).count
  }
}
