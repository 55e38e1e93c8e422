import DatabaseKit
import Foundation
import MediaCore
import Synchronization
import Testing

@testable import Jobs
@testable import JobsAPI

/// A clock that tests move by hand.
final class ManualClock: Sendable {
  private let time = Mutex(Timestamp(seconds: 1_800_000_000))
  var now: Timestamp { time.withLock { $0 } }
  func advance(_ span: Duration) { time.withLock { $0 = $0 + span } }
  func set(_ moment: Timestamp) { time.withLock { $0 = moment } }
}

/// A queue in an empty database of its own, removed afterwards. Its stores are named as if they were its own.
@dynamicMemberLookup struct TestQueue {
  let clock = ManualClock()
  let backend: DatabaseKind
  /// The file (SQLite) or the address (PostgreSQL).
  let place: String
  let stores: JobQueue
  private let given: DatabaseClock?
  private let machine: JobMachine

  private static let counter = Atomic<Int>(0)

  /// On PostgreSQL in the server that all tests share, or in `own`. Nil when there is no PostgreSQL here; the reason is
  /// printed.
  init?(
    _ backend: DatabaseKind, machine: JobMachine = JobMachine(), webhooks: [WebhookTarget] = [],
    clock given: DatabaseClock? = nil, in own: PostgresServer? = nil
  ) async throws {
    self.backend = backend
    self.given = given
    self.machine = machine
    let number = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
    switch backend {
    case .sqlite: place = NSTemporaryDirectory() + "recbot-jobs-\(getpid())-\(number).sqlite"
    case .postgres:
      guard let address = try own?.makeDatabase("own\(number)") ?? DatabaseKind.sharedPostgresDatabase() else {
        return nil
      }
      place = address
    }
    let manual = clock
    stores = try await Self.open(
      backend, place, given ?? .given { manual.now }, machine, webhooks, seed: UInt64(number))
  }

  private static func open(
    _ backend: DatabaseKind, _ place: String, _ clock: DatabaseClock, _ machine: JobMachine,
    _ webhooks: [WebhookTarget] = [], seed: UInt64
  ) async throws -> JobQueue {
    let database: any SQLDatabase =
      switch backend {
      case .sqlite: try SQLiteDatabase(path: place, clock: clock)
      case .postgres: PostgresDatabase(address: place, connections: 3, clock: clock)
      }
    return try await JobQueue(database: database, machine: machine, webhooks: webhooks, seed: seed)
  }

  subscript<Value>(dynamicMember path: KeyPath<JobQueue, Value>) -> Value { stores[keyPath: path] }

  /// Another backend on the same database; on SQLite, where one process has the file, the same.
  func another(seed: UInt64) async throws -> JobQueue {
    backend == .sqlite ? stores : try await reopened(seed: seed)
  }

  /// The same queue once more.
  func reopened(seed: UInt64) async throws -> JobQueue {
    let manual = clock
    return try await Self.open(backend, place, given ?? .given { manual.now }, machine, seed: seed)
  }

  func close() {
    stores.database.close()
    if backend == .sqlite { for suffix in ["", "-journal"] { unlink(place + suffix) } }
  }
}
