import DatabaseKit
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Jobs
@testable import JobsAPI

/// Who follows the events misses none, in whatever order the transactions end that write them.
@Suite struct EventOrderTests {
  /// A database in which something happens just before a chosen statement. Everything else is the real one's.
  final class Interleaved: SQLDatabase {
    private let inner: any SQLDatabase
    private let statements = Atomic<Int>(0)
    private let plan = Mutex<(before: Int, action: @Sendable () -> Void)?>(nil)
    var dialect: SQLDialect { inner.dialect }

    init(_ inner: any SQLDatabase) { self.inner = inner }

    /// `action` runs before the statement with this number, the next one being 0.
    func run(before statement: Int, _ action: @escaping @Sendable () -> Void) {
      statements.store(0, ordering: .relaxed)
      plan.withLock { $0 = (statement, action) }
    }

    func transaction<Value: Sendable>(
      _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
      try await inner.transaction { connection in try body(Connection(connection, self)) }
    }

    func listen(_ channel: String, _ hear: @escaping @Sendable (String) -> Void) { inner.listen(channel, hear) }
    func close() { inner.close() }

    private func step() {
      let number = statements.wrappingAdd(1, ordering: .relaxed).oldValue
      plan.withLock { $0?.before == number ? $0?.action : nil }?()
    }

    private final class Connection: SQLConnection {
      private let inner: any SQLConnection
      private let database: Interleaved
      var dialect: SQLDialect { inner.dialect }

      init(_ inner: any SQLConnection, _ database: Interleaved) { (self.inner, self.database) = (inner, database) }

      func query(_ sql: String, _ parameters: [SQLValue]) throws(SQLError) -> [SQLRow] {
        database.step()
        return try inner.query(sql, parameters)
      }

      func now() throws(SQLError) -> Timestamp { try inner.now() }
    }
  }

  /// One event was committed, a later number is not yet, and a still later one is: whenever the one in the middle comes,
  /// before whichever question of a page, it is found.
  @Test(arguments: 0..<7, [false, true])
  func anEventThatCommitsLateIsNotPassedOver(beforeStatement: Int, isFarAhead: Bool) async throws {
    guard let queue = try await TestQueue(.postgres) else { return }
    defer { queue.close() }
    _ = try await queue.jobs.submit(JobRequest(room: "r"), owner: "me")
    let database = Interleaved(try #require(queue.database as? PostgresDatabase))
    let follower = try await JobQueue(database: database, seed: 7)
    let (isWritten, mayCommit, isCommitted) = (Gate(), Gate(), Gate())
    let late = Task {
      try await queue.database.transaction { connection in
        try connection(
          "INSERT INTO events (id, job, kind, at, body) SELECT 'late', job, kind, at, body FROM events LIMIT 1")
        isWritten.open()
        mayCommit.wait()
      }
      isCommitted.open()
    }
    while !isWritten.isOpen { try await Task.sleep(for: .milliseconds(1)) }
    _ = try await queue.jobs.submit(JobRequest(room: "r"), owner: "me")
    // Much was written and forgotten in between: further ahead than what one page looks at.
    if isFarAhead {
      _ = try await queue.database.transaction { connection in
        try connection("UPDATE events SET number = 5000 WHERE number = 3")
      }
    }
    database.run(before: beforeStatement) {
      mayCommit.open()
      isCommitted.wait()
    }
    // A page that waits for the writer itself never comes to that statement. Not a task: the threads of Swift's pool may be
    // held by tests that start a server, for longer than a statement may take.
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(300)) { mayCommit.open() }
    var (after, found) = (Int64(0), [String]())
    for _ in 0..<20 {
      let page = try await follower.events.page(after: after)
      found += page.events.map(\.id)
      after = page.next
    }
    try await late.value
    for _ in 0..<20 {
      let page = try await follower.events.page(after: after)
      found += page.events.map(\.id)
      after = page.next
    }
    let all = try await queue.database.transaction { connection in
      try connection("SELECT id FROM events ORDER BY number").compactMap { $0.text(0) }
    }
    #expect(all.count == 3 && all[1] == "late")
    #expect(found == all)
  }

  /// Opened once; who waits then goes on. Waiting blocks the thread: it is for a database's own.
  private final class Gate: Sendable {
    private let state = Atomic<Bool>(false)
    var isOpen: Bool { state.load(ordering: .acquiring) }
    func open() { state.store(true, ordering: .releasing) }
    func wait() { while !isOpen { usleep(1_000) } }
  }
}
