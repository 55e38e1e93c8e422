import JobsAPI

/// How the queue stands, for metrics.
public struct QueueCounts: Hashable, Sendable {
  /// Jobs in each state; final ones as long as they are kept.
  public var jobs: [JobState: Int64] = [:]
  /// Jobs whose time has come and that no worker has.
  public var waiting: Int64 = 0
  /// How long the longest of them has been waiting; nil: none waits.
  public var longestWait: Duration?
  /// Messages to receivers that were not delivered yet.
  public var pendingDeliveries: Int64 = 0
}

/// The queue: one store for each aggregate, over one of two databases.
///
/// ```
/// schedules ───┐
///              ├──► jobs ──► events ──► deliveries        workers        keys
/// recordings ──┘
/// schedules, jobs ──► idempotency
/// ```
///
/// A store's public functions are a transaction each. What touches several aggregates is one transaction too: whoever
/// began it hands its connection on, along the arrows, to the functions of the others that take one (`in:`). So a job's
/// row, its events and their deliveries are kept together or not at all. Any thread.
public struct JobQueue: Sendable {
  /// Where all stores keep their rows.
  public let database: any SQLDatabase
  /// Jobs and their leases.
  public let jobs: JobStore
  /// What happened to jobs.
  public let events: EventStore
  /// What is to be told to whom.
  public let deliveries: DeliveryStore
  /// What makes jobs by itself.
  public let schedules: ScheduleStore
  /// The finished files of jobs.
  public let recordings: RecordingStore
  /// Who asks for work.
  public let workers: WorkerStore
  /// The callers' API keys.
  public let keys: KeyStore
  private let idempotency: IdempotencyStore

  /// Opens a queue, and brings the database to the newest shape. Throws `SQLError`.
  ///
  /// - Parameters:
  ///   - machine: the rules.
  ///   - webhooks: who is told of every job, besides the jobs' own receivers.
  ///   - seed: must differ from process to process: names of jobs and events are made from it and the time.
  public init(
    database: any SQLDatabase, machine: JobMachine = JobMachine(), webhooks: [WebhookTarget] = [], seed: UInt64
  ) async throws {
    self.database = database
    let identifiers = IdentifierGenerator(seed: seed)
    idempotency = IdempotencyStore(database: database)
    deliveries = DeliveryStore(database: database, webhooks: webhooks)
    events = EventStore(database: database, identifiers: identifiers, deliveries: deliveries)
    jobs = JobStore(
      database: database, machine: machine, identifiers: identifiers, events: events, idempotency: idempotency)
    schedules = ScheduleStore(database: database, identifiers: identifiers, jobs: jobs, idempotency: idempotency)
    recordings = RecordingStore(database: database, jobs: jobs)
    workers = WorkerStore(database: database)
    keys = KeyStore(database: database)
    try await Migrations.run(database)
  }

  /// Counts what there is.
  public func counts() async throws -> QueueCounts {
    try await database.transaction { [jobs, deliveries] connection in
      var counts = try jobs.counts(in: connection)
      counts.pendingDeliveries = try deliveries.pending(in: connection)
      return counts
    }
  }

  /// Forgets what nobody asks for any more: idempotency keys, and jobs that ended so long ago, with their events and
  /// deliveries, unless something of them must still be told. At most `limit` of each at once; true when that was not
  /// all.
  @discardableResult
  public func prune(
    keysOlderThan keyAge: Duration, jobsOlderThan jobAge: Duration, limit: Int = 500
  ) async throws -> Bool {
    let most = max(1, limit)
    return try await database.transaction { [jobs, idempotency] connection in
      let now = try connection.now()
      let keys = try idempotency.prune(before: now - keyAge, limit: most, in: connection)
      let ended = try jobs.prune(endedBefore: now - jobAge, limit: most, in: connection)
      return max(keys, ended) >= most
    }
  }

  /// True when the database answers.
  public func isReady() async -> Bool {
    let answer = try? await database.transaction { connection in try connection("SELECT 1").first?.integer(0) }
    return answer == 1
  }
}
