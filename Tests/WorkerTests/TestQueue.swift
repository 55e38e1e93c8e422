import Backend
import Foundation
import Jobs
import JobsAPI
import Logging
import Synchronization

@testable import Worker

/// A backend over an empty SQLite file, whose time goes on only when a test says so, and a data folder of its own.
struct TestQueue: Sendable {
  static let secret = "the-secret-that-all-the-workers-have-in-common"

  /// What time it is for the queue.
  final class Clock: Sendable {
    private let state = Mutex(Timestamp.now)
    var now: Timestamp { state.withLock { $0 } }
    func advance(_ span: Duration) { state.withLock { $0 = $0 + span } }
  }

  let store: JobStore
  let clock: Clock
  let client: BackendClient
  let folder: String
  let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Runs a backend for the time of `body`.
  static func run(_ body: (TestQueue) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "recbot-worker-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let clock = Clock()
    let database = try SQLiteDatabase(path: folder + "/queue.sqlite", clock: .given { clock.now })
    defer {
      database.close()
      try? FileManager.default.removeItem(atPath: folder)
    }
    var configuration = BackendConfiguration(
      roomService: RoomService(url: "ws://127.0.0.1:7880", apiKey: "devkey", apiSecret: "a secret of the room service"))
    configuration.port = 0
    configuration.workerSecret = secret
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let backend = try await BackendService(configuration: configuration, database: database, logger: quiet)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await backend.run() }
      let client = try BackendClient(url: "http://127.0.0.1:\(try await backend.port)", credential: secret)
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await body(TestQueue(store: backend.queue.jobs, clock: clock, client: client, folder: folder)))
      } catch {
        result = .failure(error)
      }
      await client.shutdown()
      group.cancelAll()
      while (try? await group.next()) != nil {}
      try result.get()
    }
  }

  func submit(_ request: JobRequest = JobRequest(room: "room")) async throws -> Job {
    try await store.submit(request, owner: "tests")
  }

  func claim(_ worker: String = "w1") async throws -> Assignment? {
    let request = ClaimRequest(worker: worker, count: 1, status: WorkerStatus(running: 0, capacity: 1))
    return try await client.claim(request).assignments.first
  }

  /// What a job's run needs, with processes that are started like this.
  func context(_ launch: RecordingLaunch) throws -> RunContext {
    let place = try WorkerFolder.take(in: folder)
    let (journal, _) = try Journal.open(place.journal)
    let settings = WorkerSettings(dataDirectory: folder, name: "w1", launch: launch)
    return RunContext(
      settings: settings, client: client, folder: place, journal: journal,
      delivery: FileDelivery(plan: settings.delivery, logger: logger), logger: logger)
  }

  /// Waits until something is so; false when it isn't within a generous time.
  func until(_ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
      if try await condition() { return true }
      try await Task.sleep(for: .milliseconds(20))
    }
    return false
  }
}
