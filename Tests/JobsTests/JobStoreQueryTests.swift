import DatabaseKit
import Foundation
import Synchronization
import SystemKit
import Testing

@testable import Jobs
@testable import JobsAPI

/// What the store asks the databases costs little however much is kept, and what is kept goes at its time.
@Suite(.serialized) struct JobStoreQueryTests {
  /// A database that tells how it means to carry out each statement, and then does.
  private final class Explained: SQLDatabase {
    let inner: SQLiteDatabase
    let plans = Mutex<[String]>([])
    var dialect: SQLDialect { inner.dialect }
    init(_ inner: SQLiteDatabase) { self.inner = inner }

    private final class Connection: SQLConnection {
      let inner: any SQLConnection
      let owner: Explained
      var dialect: SQLDialect { inner.dialect }
      init(_ inner: any SQLConnection, _ owner: Explained) { (self.inner, self.owner) = (inner, owner) }
      func now() throws(SQLError) -> Timestamp { try inner.now() }
      func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow] {
        let steps = try inner.query("EXPLAIN QUERY PLAN " + sql, parameters).compactMap { $0.text(3) }
        owner.plans.withLock { $0 += steps }
        return try inner.query(sql, parameters)
      }
    }

    func transaction<Value: Sendable>(
      _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
      try await inner.transaction { [self] in try body(Connection($0, self)) }
    }
    func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void) {}
    func close() { inner.close() }
  }

  @Test func noQuestionReadsAWholeTableOfJobsOrEvents() async throws {
    let path = NSTemporaryDirectory() + "recbot-plans-\(UUID().uuidString).sqlite"
    defer { for suffix in ["", "-journal"] { unlink(path + suffix) } }
    let database = Explained(try SQLiteDatabase(path: path))
    defer { database.close() }
    let stores = try await JobQueue(database: database, seed: 1)
    database.plans.withLock { $0 = [] }
    let request = JobRequest(room: "talk", webhook: WebhookTarget(url: "https://one.example.com/"))
    let job = try await stores.jobs.submit(request, owner: "app", key: "k")
    for filter in [
      JobFilter(), .init(owner: "app"), .init(room: "talk"), .init(owner: "app", rooms: "t*"),
      .init(isActive: true), .init(owner: "app", isActive: true),
    ] {
      _ = try await stores.jobs.list(filter, after: "job_z")
      _ = try await stores.recordings.list(filter, after: "job_z:0")
      _ = try await stores.events.page(filter: filter)
    }
    _ = try await stores.events.page(of: job.id)
    _ = try await stores.schedules.list(owner: "app")
    _ = try await stores.jobs.hasAvailableJob(since: .seconds(2))
    _ = try await stores.jobs.claim(worker: "w", count: 1)
    _ = try await stores.jobs.expire()
    _ = try await stores.schedules.fire()
    _ = try await stores.schedules.roomStarted("talk", sid: "RM_1")
    _ = try await stores.counts()
    _ = try await stores.events.newest()
    let delivery = try #require(try await stores.deliveries.take().first)
    _ = try await stores.deliveries.renew([delivery], hold: .seconds(1))
    try await stores.deliveries.finish(delivery, .retry(after: .seconds(1)))
    _ = try await stores.jobs.command(.cancel, job: job.id)
    try await stores.prune(keysOlderThan: .seconds(-10), jobsOlderThan: .seconds(-10))
    let plans = database.plans.withLock { $0 }
    #expect(plans.count > 50)
    // Through an index a table is read in order, and only as far as it is needed.
    for plan in plans where plan.hasPrefix("SCAN ") && plan != "SCAN CONSTANT ROW" {
      #expect(plan.contains(" USING "), "\(plan)")
    }
    #expect(!plans.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }, "\(plans)")
    #expect(plans.contains { $0.contains("jobs_of_owner") } && plans.contains { $0.contains("events_of_job") })
  }

  @Test(arguments: DatabaseKind.allCases) func aJobIsKeptForItsTimeFromItsEnd(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let day: Int64 = 86_400
    let request = JobRequest(room: "later", startAt: queue.clock.now + .seconds(60 * day))
    let id = try await queue.jobs.submit(request, owner: "app").id
    queue.clock.advance(.seconds(61 * day))
    let fence = try #require(try await queue.jobs.claim(worker: "w", count: 1).jobs.first).fence
    let file = JobFile(location: "f", size: 1, duration: 1)
    _ = try await queue.jobs.complete(job: id, fence: fence, files: [file])
    queue.clock.advance(.seconds(29 * day))
    try await queue.stores.prune(keysOlderThan: .seconds(day), jobsOlderThan: .seconds(30 * day))
    #expect(try await queue.recordings.list().recordings.map(\.job) == [id])
    queue.clock.advance(.seconds(2 * day))
    try await queue.stores.prune(keysOlderThan: .seconds(day), jobsOlderThan: .seconds(30 * day))
    #expect(try await queue.jobs.list().isEmpty)
    #expect(try await queue.events.list().isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases) func whatIsOldGoesALittleAtATimeUntilAllIsGone(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    for number in 0..<7 {
      let id = try await queue.jobs.submit(JobRequest(room: "r"), owner: "app", key: "\(number)").id
      if number > 0 { _ = try await queue.jobs.command(.cancel, job: id) }
    }
    queue.clock.advance(.seconds(100))
    var rounds = 1
    while try await queue.stores.prune(keysOlderThan: .seconds(10), jobsOlderThan: .seconds(10), limit: 3) {
      rounds += 1
    }
    #expect(rounds == 3, "7 keys, 3 at a time")
    #expect(try await queue.jobs.list().map(\.state) == [.queued])
  }

  @Test(arguments: DatabaseKind.allCases) func othersEventsArePassedOverOnce(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    for _ in 0..<5 { _ = try await queue.jobs.submit(JobRequest(room: "r"), owner: "other") }
    let mine = JobFilter(owner: "me")
    let first = try await queue.events.page(filter: mine)
    #expect(first.events.isEmpty && first.next == 5)
    let id = try await queue.jobs.submit(JobRequest(room: "r"), owner: "me").id
    let second = try await queue.events.page(filter: mine, after: first.next)
    #expect(second.events.map(\.job.id) == [id] && second.next == 6)
    #expect(try await queue.events.page(filter: mine, after: 6).next == 6)
    // Long ago there was much that is forgotten.
    _ = try await queue.database.transaction { connection in
      try connection("UPDATE events SET number = number + 1000000")
    }
    var (after, found, steps) = (Int64(0), [String](), 0)
    while steps < 10 {
      let page = try await queue.events.page(filter: mine, after: after)
      guard page.next > after else { break }
      (after, steps) = (page.next, steps + 1)
      found += page.events.map(\.job.id)
    }
    #expect(found == [id] && after == 1_000_006)
  }

  @Test(arguments: DatabaseKind.allCases) func whatABackendSaysItHasStaysItsOwn(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend, webhooks: [WebhookTarget(url: "https://all.example.com/")]) else {
      return
    }
    defer { queue.close() }
    let (stores, hold) = (queue.stores, Duration.seconds(10))
    let id = try await stores.jobs.submit(JobRequest(room: "r"), owner: "app").id
    _ = try await stores.jobs.command(.cancel, job: id)
    let mine = try await stores.deliveries.take(hold: hold)
    #expect(mine.count == 1)
    for _ in 0..<20 {
      queue.clock.advance(.seconds(3))
      #expect(try await stores.deliveries.renew(mine, hold: hold).isEmpty)
      #expect(try await stores.deliveries.take(hold: hold).isEmpty)
    }
    // It dies: another one has it within seconds, and the first can't hold it any more.
    queue.clock.advance(.seconds(10))
    let theirs = try await stores.deliveries.take(hold: hold)
    #expect(theirs.map(\.event.id) == mine.map(\.event.id) && theirs.first?.attempts == 2)
    #expect(try await stores.deliveries.renew(mine, hold: hold) == mine)
    // What follows waits with it, and comes as soon as it was told.
    try await stores.deliveries.finish(try #require(theirs.first), .retry(after: .seconds(300)))
    queue.clock.advance(.seconds(299))
    #expect(try await stores.deliveries.take(hold: hold).isEmpty)
    queue.clock.advance(.seconds(1))
    let again = try #require(try await stores.deliveries.take(hold: hold).first)
    try await stores.deliveries.finish(again, .done)
    #expect(try await stores.deliveries.take(hold: hold).map(\.event.kind) == [.cancelled])
  }

  @Test(arguments: DatabaseKind.allCases) func layoutsAreNamedAndNeverFiles(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let id = try await queue.jobs.submit(JobRequest(room: "r", layout: "speaker-dark"), owner: "app").id
    for name in ["/etc/passwd", "../secret.yaml", "twilio:/run/secret", "TWILIO:x", "a.json", "a.YML", "a\nb", ""] {
      await #expect(throws: StoreError.self, "\(name)") {
        try await queue.jobs.submit(JobRequest(room: "r", layout: name), owner: "app")
      }
      await #expect(throws: StoreError.self, "\(name)") {
        try await queue.jobs.command(.layout, argument: name, job: id)
      }
    }
    #expect(try await queue.jobs.command(.layout, argument: "grid", job: id).commands.count == 1)
  }

  @Test func theFileOfADatabaseIsItsOwnersAlone() async throws {
    guard let queue = try await TestQueue(.sqlite) else { return }
    defer { queue.close() }
    let mode = try FileManager.default.attributesOfItem(atPath: queue.place)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
  }

  @Test func aDatabaseOfTheFirstShapeIsBroughtUp() async throws {
    let path = NSTemporaryDirectory() + "recbot-shape-\(UUID().uuidString).sqlite"
    defer { for suffix in ["", "-journal"] { unlink(path + suffix) } }
    let database = try SQLiteDatabase(path: path)
    defer { database.close() }
    let job = JobMachine().submit(
      id: "job_0", owner: "app", request: JobRequest(room: "r"), origin: nil, now: Timestamp(seconds: 1_700_000_000))
    var over = job
    over.state = .failed
    let bodies = try [job, over].map { try JSONColumn.encode($0) }
    try await database.transaction { connection in
      for statement in Migrations.steps[0](.sqlite) { try connection(statement) }
      try connection("CREATE TABLE migrations (number BIGINT PRIMARY KEY, at BIGINT NOT NULL)")
      try connection("INSERT INTO migrations (number, at) VALUES (1, 0)")
      for (id, state, body) in [("job_0", "queued", bodies[0]), ("job_1", "failed", bodies[1])] {
        try connection(
          """
          INSERT INTO jobs (id, owner, room, state, available_at, expires_at, created_at, version, body)
          VALUES (?1, 'app', 'r', ?2, 0, 9223372036854775807, 1700000000000000, 1, ?3)
          """, .text(id), .text(state), .text(body))
      }
    }
    let stores = try await JobQueue(database: database, seed: 1)
    #expect(try await stores.counts().jobs == [.queued: 1, .failed: 1])
    #expect(try await stores.jobs.claim(worker: "w", count: 2).jobs.map(\.id) == ["job_0"])
    try await stores.prune(keysOlderThan: .seconds(1), jobsOlderThan: .seconds(1))
    #expect(try await stores.jobs.list().map(\.id) == ["job_0"])
  }

  /// A server that takes connections and says nothing, as one behind a way that is gone: libpq would wait for ever.
  @Test(.timeLimit(.minutes(2))) func aServerThatSaysNothingIsGivenUp() async throws {
    let silent = try LoopbackSocket(.silent)
    defer { withExtendedLifetime(silent) {} }
    // The address has the last word, so that a test need not wait as long as is usual.
    let database = PostgresDatabase(
      address: "postgres://nobody@127.0.0.1:\(silent.port)/none?connect_timeout=2", connections: 1)
    defer { database.close() }
    await #expect(
      performing: {
        try await database.transaction { _ in 1 }
      },
      throws: { error in
        guard case SQLError.unavailable = error else { return false }
        return true
      })
  }
}
