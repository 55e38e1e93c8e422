extension JobStore {
  /// What came of an earlier request with this key by this owner; nil when there was none. Throws `keyReused` when it
  /// was another request.
  func answer(toKey key: String?, owner: String, fingerprint: String, in connection: any SQLConnection) throws
    -> String?
  {
    guard let key else { return nil }
    let known = try connection(
      "SELECT fingerprint, answer FROM idempotency WHERE owner = ?1 AND token = ?2", .text(owner), .text(key))
    guard let row = known.first else { return nil }
    guard row.text(0) == fingerprint else { throw JobStoreError.keyReused }
    return row.text(1) ?? ""
  }

  /// Keeps what came of a request with a key.
  func keep(
    answer: String, toKey key: String?, owner: String, fingerprint: String, at now: Timestamp,
    in connection: any SQLConnection
  ) throws {
    guard let key else { return }
    try connection(
      "INSERT INTO idempotency (owner, token, fingerprint, answer, at) VALUES (?1, ?2, ?3, ?4, ?5)", .text(owner),
      .text(key), .text(fingerprint), .text(answer), SQLValue(now))
  }

  /// Runs a transaction that keeps a key; again, when another with the same key was a moment faster.
  func onceMore<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch SQLError.conflict {
      return try await body()
    }
  }
}
