import JobsAPI
import MediaCore
import Synchronization

/// Jobs and their leases. Decisions are `JobMachine`'s; the store finds rows and keeps what the machine made of them, with
/// the events of that. Any thread.
public final class JobStore: Sendable {
  /// Decides what becomes of a job; the store only writes it down.
  public let machine: JobMachine
  private let database: any SQLDatabase
  private let identifiers: IdentifierGenerator
  private let events: EventStore
  private let idempotency: IdempotencyStore
  private let endings = Mutex<[JobState: Int64]>([:])

  init(
    database: any SQLDatabase, machine: JobMachine, identifiers: IdentifierGenerator, events: EventStore,
    idempotency: IdempotencyStore
  ) {
    self.database = database
    self.machine = machine
    self.identifiers = identifiers
    self.events = events
    self.idempotency = idempotency
  }

  // MARK: Callers

  /// Queues a job. With a key that was used before for the same request by the same owner, the job of that time is
  /// returned; for another request, `keyReused` is thrown.
  public func submit(
    _ request: JobRequest, owner: String, key: String? = nil, origin: JobOrigin? = nil
  ) async throws -> Job {
    try await submission(of: request, owner: owner, key: key, origin: origin).job
  }

  /// What came of a request: a job, and whether an earlier request with the same key had made it.
  public func submission(
    of request: JobRequest, owner: String, key: String? = nil, origin: JobOrigin? = nil
  ) async throws -> (job: Job, isRepetition: Bool) {
    // The text is made here, by as many as ask, and not on the database's thread.
    let asked = IdempotentRequest(key: key, owner: owner, fingerprint: try JSONColumn.encode(request))
    return try await idempotency.transaction { [self] connection in
      if let known = try idempotency.answer(to: asked, in: connection) {
        return (try load(known, in: connection), true)
      }
      let now = try connection.now()
      let job = try submit(request, owner: owner, origin: origin, at: now, in: connection)
      try idempotency.keep(job.id, to: asked, at: now, in: connection)
      return (job, false)
    }
  }

  /// Queues a job in a transaction of the caller's, at the time that the caller read in it.
  func submit(
    _ request: JobRequest, owner: String, origin: JobOrigin?, at now: Timestamp, in connection: any SQLConnection
  ) throws -> Job {
    let problems = request.problems(now: now)
    guard problems.isEmpty else { throw StoreError.invalid(problems) }
    let job = machine.submit(
      id: identifiers.next("job_", at: now), owner: owner, request: request, origin: origin, now: now)
    let body = try JSONColumn.encode(job)
    try connection(
      """
      INSERT INTO jobs
        (id, owner, room, state, available_at, expires_at, schedule, schedule_key, created_at, version, body)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1, ?10)
      """, .text(job.id), .text(owner), .text(request.room), .text(job.state.rawValue), SQLValue(job.notBefore),
      SQLValue(machine.nextExpiry(of: job)), SQLValue(origin?.schedule), SQLValue(origin?.key), SQLValue(now),
      .text(body))
    try events.record(.created, of: job, text: body, at: now, in: connection)
    try tell(.free, connection)
    return job
  }

  /// A job by its name.
  public func job(_ id: String) async throws -> Job {
    try await database.transaction { [self] connection in try load(id, in: connection) }
  }

  /// Jobs, the newest first: those after the job named `after` (the last of the page before).
  public func list(_ filter: JobFilter = JobFilter(), after: String? = nil, limit: Int = 50) async throws -> [Job] {
    try await database.transaction { connection in
      var page: [Job] = []
      var last = after
      let limit = max(1, min(limit, 1000))
      // What LIKE finds too much is left out, and made up for.
      while page.count < limit {
        var query = filter.query
        if let last { query.add("id < ", .text(last)) }
        let most = query.parameter(.integer(Int64(limit - page.count)))
        let rows = try connection.query(
          "SELECT body FROM jobs \(query.text) ORDER BY id DESC LIMIT CAST(\(most) AS BIGINT)", query.values)
        let found = try rows.map { try JSONColumn.decode(Job.self, $0.text(0)) }
        let isLast = rows.count < limit - page.count
        page.append(contentsOf: found.filter(filter.allows))
        guard !isLast, let id = found.last?.id else { break }
        last = id
      }
      return page
    }
  }

  /// Tells a recording something, or stops or cancels it. With a key that the owner of the request used before for the
  /// same, nothing happens again.
  @discardableResult
  public func command(
    _ verb: JobCommand.Verb, argument: String? = nil, job id: String, key: String? = nil, owner: String = ""
  ) async throws -> Job {
    try await order(verb, argument: argument, job: id, key: key, owner: owner).job
  }

  /// The same, with the command's number, by which the job says later whether it waits or was refused; nil: it is done
  /// already, without a recorder.
  public func order(
    _ verb: JobCommand.Verb, argument: String? = nil, job id: String, key: String? = nil, owner: String = ""
  ) async throws -> (job: Job, sequence: Int64?) {
    if verb == .layout, let problem = LayoutName.problem(with: argument ?? "") {
      throw StoreError.invalid(["argument: \(problem)"])
    }
    let asked = IdempotentRequest(
      key: key, owner: owner, fingerprint: "command \(id) \(verb.rawValue) \(argument ?? "")")
    let isNew = Atomic<Bool>(false)
    let told = try await idempotency.transaction { [self] connection -> (job: Job, sequence: Int64?) in
      if let known = try idempotency.answer(to: asked, in: connection) {
        return (try load(id, in: connection), Int64(known))
      }
      let now = try connection.now()
      let job = try apply(.command(verb, argument: argument), to: id, at: now, in: connection)
      let sequence = job.commands.last { $0.verb == verb }?.sequence
      try idempotency.keep(sequence.map { "\($0)" } ?? id, to: asked, at: now, in: connection)
      isNew.store(true, ordering: .relaxed)
      return (job, sequence)
    }
    if isNew.load(ordering: .relaxed) { count([told.job.state]) }
    return told
  }

  /// True when there is a job that became free within this span: a worker that asks now may be given it.
  public func hasAvailableJob(since span: Duration) async throws -> Bool {
    try await database.transaction { connection in
      let now = try connection.now()
      return try !connection(
        "SELECT 1 FROM jobs WHERE state = 'queued' AND available_at > ?1 AND available_at <= ?2 LIMIT 1",
        SQLValue(now - span), SQLValue(now)
      ).isEmpty
    }
  }

  // MARK: Workers

  /// Gives a worker up to `count` jobs whose time has come, the longest waiting first. Each has a lease. With
  /// `abilities`, only those that it can carry out.
  public func claim(worker: String, count: Int, abilities: WorkerAbilities? = nil) async throws -> JobClaim {
    let count = max(0, min(count, 100))
    return try await database.transaction { [self] connection in
      let now = try connection.now()
      var claim = JobClaim()
      var last = (at: Timestamp(microseconds: .min), id: "")
      // What this worker can't do is passed over; a queue in which nothing else stands is looked at from its head only.
      for _ in 0..<Self.longestLook where claim.jobs.count < count {
        let rows = try connection(
          """
          SELECT available_at, id, body FROM jobs
          WHERE state = 'queued' AND available_at <= ?1 AND (available_at > ?3 OR available_at = ?3 AND id > ?4)
          ORDER BY available_at, id LIMIT CAST(?2 AS BIGINT)\(connection.dialect.skipLocked)
          """, SQLValue(now), .integer(Int64(last.id.isEmpty ? count : 100)), SQLValue(last.at), .text(last.id))
        guard let end = rows.last, let at = end.timestamp(0), let id = end.text(1) else { break }
        last = (at, id)
        for row in rows {
          let job = try JSONColumn.decode(Job.self, row.text(2))
          // One whose deadline passed is left to `expire`.
          guard claim.jobs.count < count, abilities?.lack(for: job) == nil,
            let next = try? machine.apply(.claim(worker: worker), to: job, now: now)
          else {
            claim.mayLeaveSome = true
            continue
          }
          try keep(next, before: job, at: now, in: connection)
          claim.jobs.append(next)
        }
      }
      if claim.jobs.count == count { claim.mayLeaveSome = true }
      return claim
    }
  }

  /// How many pages of the queue one claim looks at.
  private static let longestLook = 10

  /// Renews a lease and takes the worker's report; the answer has the commands that wait. Throws `refused(.fenced)`
  /// when the worker was replaced: it must stop and must not touch the job's files any more.
  public func heartbeat(job id: String, fence: Int64, report: JobReport) async throws -> Job {
    try await apply(.heartbeat(fence: fence, report), to: id)
  }

  /// Takes a job back from a worker, for another one.
  public func release(job id: String, fence: Int64, report: JobReport) async throws -> Job {
    try await apply(.release(fence: fence, report), to: id)
  }

  /// Ends a job well. A repetition of the same completion (whose answer was lost) is answered like the first.
  public func complete(job id: String, fence: Int64, files: [JobFile]) async throws -> Job {
    do {
      return try await apply(.complete(fence: fence, files), to: id)
    } catch StoreError.refused(.isOver) {
      let job = try await job(id)
      guard job.state == .completed || job.state == .cancelled, job.fence == fence, job.files == files else {
        throw StoreError.refused(.isOver)
      }
      return job
    }
  }

  /// Ends a job badly, or queues it again.
  public func fail(job id: String, fence: Int64, error: JobError, mayRetry: Bool) async throws -> Job {
    try await apply(.fail(fence: fence, error, mayRetry: mayRetry), to: id)
  }

  /// Takes jobs back whose lease has ended, and ends those whose deadline has passed; gives their names. Every backend
  /// calls this about once a second; with PostgreSQL they share the work.
  @discardableResult
  public func expire(limit: Int = 100) async throws -> [String] {
    let expired = try await database.transaction { [self] connection in
      let now = try connection.now()
      let rows = try connection(
        """
        SELECT id, body FROM jobs WHERE \(Self.isActive) AND expires_at <= ?1
        ORDER BY expires_at LIMIT CAST(?2 AS BIGINT)\(connection.dialect.skipLocked)
        """, SQLValue(now), .integer(Int64(limit)))
      var expired: [Job] = []
      for row in rows {
        let job = try JSONColumn.decode(Job.self, row.text(1))
        guard let next = try? machine.apply(.expire, to: job, now: now) else { continue }
        try keep(next, before: job, at: now, in: connection)
        expired.append(next)
      }
      if !expired.isEmpty { try tell(.free, connection) }
      for job in expired { try tell(.changed(job.id), connection) }
      return expired
    }
    count(expired.map(\.state))
    return expired.map(\.id)
  }

  /// How many jobs this store has ended since it was opened, by their final state.
  public var ended: [JobState: Int64] { endings.withLock { $0 } }

  // MARK: Rows

  private func apply(_ action: JobAction, to id: String) async throws -> Job {
    let job = try await database.transaction { [self] connection in
      try apply(action, to: id, at: try connection.now(), in: connection)
    }
    count([job.state])
    return job
  }

  /// Counts what was ended by a change that is kept now.
  private func count(_ states: [JobState]) {
    endings.withLock { endings in
      for state in states where state.isFinal { endings[state, default: 0] &+= 1 }
    }
  }

  private func apply(
    _ action: JobAction, to id: String, at now: Timestamp, in connection: any SQLConnection
  ) throws -> Job {
    let job = try load(id, forUpdate: true, in: connection)
    let next: Job
    do throws(JobRefusal) {
      next = try machine.apply(action, to: job, now: now)
    } catch {
      throw StoreError.refused(error)
    }
    try keep(next, before: job, at: now, in: connection)
    // A worker's heartbeat may be held by another backend, and must hear of a command at once.
    // So must whoever waits for the recorder's answer to one.
    if next.commands.count != job.commands.count { try tell(.changed(id), connection) }
    if next.state == .queued { try tell(.free, connection) }
    return next
  }

  // MARK: In a transaction of another store's

  func load(_ id: String, forUpdate: Bool = false, in connection: any SQLConnection) throws -> Job {
    let rows = try connection(
      "SELECT body FROM jobs WHERE id = ?1\(forUpdate ? connection.dialect.forUpdate : "")", .text(id))
    guard let row = rows.first else { throw StoreError.notFound }
    return try JSONColumn.decode(Job.self, row.text(0))
  }

  /// Keeps a job that has changed in what no column and no event tells.
  func replace(_ job: Job, in connection: any SQLConnection) throws {
    try connection(
      "UPDATE jobs SET version = version + 1, body = ?2 WHERE id = ?1", .text(job.id), .text(try JSONColumn.encode(job))
    )
  }

  /// The same, and tells an event of it.
  func replace(_ job: Job, telling kind: JobEventKind, in connection: any SQLConnection) throws {
    try replace(job, in: connection)
    try events.record(
      kind, of: job, text: try JSONColumn.encode(job), at: try connection.now(), in: connection)
  }

  /// True when a schedule has made its job already.
  func exists(_ origin: JobOrigin, in connection: any SQLConnection) throws -> Bool {
    try !connection(
      "SELECT id FROM jobs WHERE schedule = ?1 AND schedule_key = ?2", .text(origin.schedule), .text(origin.key)
    ).isEmpty
  }

  /// Forgets jobs that ended before a moment, with all that is kept of them, unless something of them must still be
  /// told; at most so many. Gives how many there were.
  func prune(endedBefore moment: Timestamp, limit: Int, in connection: any SQLConnection) throws -> Int {
    let jobs = try connection(
      """
      SELECT id FROM jobs WHERE finished_at < ?1 AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE d.job = jobs.id AND d.state = 'pending')
      ORDER BY finished_at LIMIT CAST(?2 AS BIGINT)
      """, SQLValue(moment), .integer(Int64(limit)))
    for id in jobs.compactMap({ $0.text(0) }) {
      try events.remove(of: id, in: connection)
      try connection("DELETE FROM jobs WHERE id = ?1", .text(id))
    }
    return jobs.count
  }

  /// Counts jobs.
  func counts(in connection: any SQLConnection) throws -> QueueCounts {
    var counts = QueueCounts()
    // Each from its own index: the rows themselves are long.
    for part in [Self.isActive, "finished_at IS NOT NULL"] {
      for row in try connection("SELECT state, COUNT(*) FROM jobs WHERE \(part) GROUP BY state") {
        guard let state = row.text(0).flatMap(JobState.init(rawValue:)) else { continue }
        counts.jobs[state] = row.integer(1) ?? 0
      }
    }
    let now = try connection.now()
    let waiting = try connection(
      "SELECT COUNT(*), MIN(available_at) FROM jobs WHERE state = 'queued' AND available_at <= ?1", SQLValue(now)
    ).first
    counts.waiting = waiting?.integer(0) ?? 0
    counts.longestWait = waiting?.timestamp(1).map { now - $0 }
    return counts
  }

  /// What is true of rows of jobs that are not final; word for word as in the indexes.
  static let isActive = "state NOT IN ('completed', 'failed', 'cancelled')"

  private func keep(_ job: Job, before: Job, at now: Timestamp, in connection: any SQLConnection) throws {
    guard job != before else { return }
    let body = try JSONColumn.encode(job)
    try connection(
      """
      UPDATE jobs SET state = ?2, available_at = ?3, expires_at = ?4, finished_at = ?5, version = version + 1, body = ?6
      WHERE id = ?1
      """, .text(job.id), .text(job.state.rawValue), SQLValue(job.notBefore),
      SQLValue(machine.nextExpiry(of: job)), SQLValue(job.finishedAt), .text(body))
    if job.state != before.state {
      try events.record(JobEventKind(job.state, before: before.state), of: job, text: body, at: now, in: connection)
    }
  }

  private func tell(_ hint: JobHint, _ connection: any SQLConnection) throws {
    guard connection.dialect == .postgres else { return }
    try connection("SELECT pg_notify(?1, ?2)", .text(JobHint.channel), .text(hint.text))
  }
}
