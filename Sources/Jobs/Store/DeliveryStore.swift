import JobsAPI

/// Something that must be told to a receiver.
public struct WebhookDelivery: Hashable, Sendable {
  /// What.
  public var event: JobEvent
  /// To whom.
  public var target: WebhookTarget
  /// How often it was tried.
  public var attempts: Int
}

/// What came of a delivery.
public enum WebhookOutcome: Hashable, Sendable {
  /// The receiver took it, or there was nothing to tell.
  case done
  /// It is to be tried again after a while.
  case retry(after: Duration)
  /// It was not tried at all: again after a while, and this attempt doesn't count.
  case postponed(Duration)
  /// It is given up.
  case givenUp
  /// The receiver wants nothing more: it is given up with all that waits for this receiver about this job, and with
  /// what will still happen to it.
  case receiverGone
}

/// The outbox: what is to be told to receivers, and what came of it. Any thread.
public struct DeliveryStore: Sendable {
  private let database: any SQLDatabase
  /// Who is told of every job, besides the jobs' own receivers.
  private let webhooks: [WebhookTarget]

  init(database: any SQLDatabase, webhooks: [WebhookTarget]) {
    self.database = database
    self.webhooks = webhooks
  }

  /// Keeps that an event must be told, to the receivers of every job and to the job's own.
  func add(_ event: String, number: Int64, of job: Job, at now: Timestamp, in connection: any SQLConnection) throws {
    for target in Set(webhooks + (job.request.webhook.map { [$0] } ?? []) + (job.request.egress?.webhooks ?? [])) {
      try connection(
        """
        INSERT INTO deliveries (event, target, job, number, attempts, due_at, state)
        SELECT ?1, ?2, ?3, CAST(?4 AS BIGINT), 0, CAST(?5 AS BIGINT), 'pending'
        WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE job = ?3 AND target = ?2 AND state = 'gone')
        """, .text(event), .text(try JSONColumn.encode(target)), .text(job.id), .integer(number), SQLValue(now))
    }
  }

  /// Forgets what was to be told of a job.
  func remove(of job: String, in connection: any SQLConnection) throws {
    try connection("DELETE FROM deliveries WHERE job = ?1", .text(job))
  }

  /// How many messages to receivers were not delivered yet.
  func pending(in connection: any SQLConnection) throws -> Int64 {
    try connection("SELECT COUNT(*) FROM deliveries WHERE state = 'pending'").first?.integer(0) ?? 0
  }

  /// Takes deliveries that are due, for `hold`: another backend doesn't take them meanwhile, and they are due again
  /// when this one dies. To one receiver the events of a job go in order, one after the other. Receivers in `excluded`
  /// are left out.
  public func take(
    limit: Int = 32, hold: Duration = .seconds(60), excluding excluded: Set<WebhookTarget> = []
  ) async throws -> [WebhookDelivery] {
    try await database.transaction { connection in
      let now = try connection.now()
      let others = try excluded.prefix(64).map { SQLValue.text(try JSONColumn.encode($0)) }
      let exclusion =
        others.isEmpty ? "" : " AND d.target NOT IN (\(others.indices.map { "?\($0 + 3)" }.joined(separator: ", ")))"
      let rows = try connection.query(
        """
        SELECT e.id, e.number, e.kind, e.at, e.body, d.target, d.attempts FROM deliveries d
        JOIN events e ON e.id = d.event
        WHERE d.state = 'pending' AND d.due_at <= ?1 AND NOT EXISTS (
          SELECT 1 FROM deliveries p WHERE p.state = 'pending' AND p.job = d.job AND p.target = d.target
            AND p.number < d.number)\(exclusion)
        ORDER BY d.due_at, d.number LIMIT CAST(?2 AS BIGINT)\(connection.dialect == .postgres ? " FOR UPDATE OF d SKIP LOCKED" : "")
        """, [SQLValue(now), .integer(Int64(limit))] + others)
      var taken: [WebhookDelivery] = []
      for row in rows {
        let event = try JobEvent(row)
        let target = try JSONColumn.decode(WebhookTarget.self, row.text(5))
        try connection(
          "UPDATE deliveries SET due_at = ?3, attempts = attempts + 1 WHERE event = ?1 AND target = ?2",
          .text(event.id), SQLValue(row.text(5)), SQLValue(now + hold))
        taken.append(WebhookDelivery(event: event, target: target, attempts: Int(row.integer(6) ?? 0) + 1))
      }
      return taken
    }
  }

  /// Goes on holding deliveries that are still on their way here. Gives those of them that are not this backend's any
  /// more.
  public func renew(_ deliveries: [WebhookDelivery], hold: Duration) async throws -> [WebhookDelivery] {
    guard !deliveries.isEmpty else { return [] }
    return try await database.transaction { connection in
      let now = try connection.now()
      return try deliveries.filter { delivery in
        try connection(
          """
          UPDATE deliveries SET due_at = ?3
          WHERE event = ?1 AND target = ?2 AND state = 'pending' AND attempts = ?4 RETURNING number
          """, .text(delivery.event.id), .text(try JSONColumn.encode(delivery.target)), SQLValue(now + hold),
          .integer(Int64(delivery.attempts))
        ).isEmpty
      }
    }
  }

  /// The webhooks about a job that were sent in vain so far, or are given up; the newest 20, oldest first.
  public func undelivered(of job: String) async throws -> [UndeliveredWebhook] {
    try await database.transaction { connection in
      try connection(
        """
        SELECT e.kind, d.target, d.attempts, d.state, d.detail FROM deliveries d JOIN events e ON e.id = d.event
        WHERE d.job = ?1 AND d.state <> 'done' AND d.detail IS NOT NULL ORDER BY d.number DESC LIMIT 20
        """, .text(job)
      ).reversed().compactMap { row in
        guard let kind = row.text(0).flatMap(JobEventKind.init(rawValue:)) else { return nil }
        return UndeliveredWebhook(
          event: kind, url: try JSONColumn.decode(WebhookTarget.self, row.text(1)).url,
          attempts: Int(row.integer(2) ?? 0),
          isGivenUp: row.text(3) != "pending", reason: row.text(4) ?? "")
      }
    }
  }

  /// Keeps what came of a delivery. When it took longer than it was held and another backend has it now, only a success
  /// still counts.
  public func finish(_ delivery: WebhookDelivery, _ outcome: WebhookOutcome, detail: String = "") async throws {
    let target = try JSONColumn.encode(delivery.target)
    try await database.transaction { connection in
      let now = try connection.now()
      let names: [SQLValue] = [.text(delivery.event.id), .text(target)]
      let mine = "WHERE event = ?1 AND target = ?2 AND state = 'pending'"
      let fence = SQLValue.integer(Int64(delivery.attempts))
      switch outcome {
      case .done: _ = try connection.query("UPDATE deliveries SET state = 'done', detail = NULL \(mine)", names)
      case .retry(let delay):
        let kept = try connection.query(
          "UPDATE deliveries SET due_at = ?3, detail = ?4 \(mine) AND attempts = ?5 RETURNING number",
          names + [SQLValue(now + delay), .text(detail), fence])
        guard let number = kept.first?.integer(0) else { return }
        // What comes after it waits as long, and is not looked at meanwhile.
        try connection(
          """
          UPDATE deliveries SET due_at = ?4
          WHERE job = ?1 AND target = ?2 AND state = 'pending' AND number > ?3 AND due_at < ?4
          """, .text(delivery.event.job.id), .text(target), .integer(number), SQLValue(now + delay))
      case .postponed(let delay):
        _ = try connection.query(
          "UPDATE deliveries SET due_at = ?3, attempts = attempts - 1 \(mine) AND attempts = ?4",
          names + [SQLValue(now + delay), fence])
      case .givenUp:
        _ = try connection.query(
          "UPDATE deliveries SET state = 'failed', detail = ?3 \(mine) AND attempts = ?4",
          names + [.text(detail), fence])
      case .receiverGone:
        try connection(
          "UPDATE deliveries SET state = 'gone', detail = ?3 WHERE job = ?1 AND target = ?2 AND state = 'pending'",
          .text(delivery.event.job.id), .text(target), .text(detail))
      }
    }
  }
}
