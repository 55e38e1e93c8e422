import DatabaseKit
import Foundation
import MediaCore
import Testing

@testable import Jobs
@testable import JobsAPI

/// Worker processes that are killed and frozen, and a database that is killed, at random; then the history is checked:
/// no job is lost, none has two owners at a time, none is completed twice, and no zombie changed anything.
/// `make test` looks at three thousand operations on each database, `make endurance` at ten thousand
/// (`RECBOT_HISTORY_OPERATIONS`).
@Suite(.serialized) struct HistoryTests {
  /// A line of a history: what the queue said yes to.
  struct Entry {
    var what: Substring
    var job: String
    var fence: Int64
    var worker: Substring
    /// Monotonic nanoseconds at which it was asked for, and at which the answer was known.
    var asked: UInt64
    var known: UInt64

    init?(_ line: Substring) {
      let words = line.split(separator: " ")
      guard words.count == 6, let fence = Int64(words[2]), let asked = UInt64(words[4]), let known = UInt64(words[5])
      else { return nil }
      (what, job, self.fence, worker) = (words[0], String(words[1]), fence, words[3])
      (self.asked, self.known) = (asked, known)
    }
  }

  static let operations =
    ProcessInfo.processInfo.environment["RECBOT_HISTORY_OPERATIONS"].flatMap(Int.init) ?? 3000
  static let jobCount = operations / 10
  /// Milliseconds.
  static let lease = 400

  @Test(arguments: DatabaseKind.allCases) func thousandsOfOperationsByEightWorkersWithKills(backend: DatabaseKind)
    async throws
  {
    var server: PostgresServer?
    // A server of its own, because it is killed; without PostgreSQL the queue says so.
    if backend == .postgres, case .success = PostgresServer.shared { server = try PostgresServer() }
    defer { server?.end() }
    // However often workers lose a job: also whoever finishes the rest must not give it up. Where a machine is slow, that
    // is more often than the usual limit.
    var machine = JobMachine()
    machine.maximumAttempts = 100_000
    guard let queue = try await TestQueue(backend, machine: machine, clock: .system, in: server) else { return }
    defer { queue.close() }
    var ids: Set<String> = []
    for index in 0..<Self.jobCount {
      ids.insert(try await queue.jobs.submit(JobRequest(room: "r\(index)"), owner: "app", key: "k\(index)").id)
    }
    #expect(ids.count == Self.jobCount)
    // The one process that has the file is the workers' from here on.
    if backend == .sqlite { queue.database.close() }
    let entries = try await run(backend, place: queue.place, server: server)
    let stores = try await queue.reopened(seed: 77)
    defer { stores.database.close() }
    let finished = try await finishRest(stores)
    try await check(entries, finished, jobs: ids, stores: stores)
  }

  /// Runs the workers until enough was done, and gives what they wrote down.
  private func run(_ backend: DatabaseKind, place: String, server: PostgresServer?) async throws -> [Entry] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-history-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var random = SeededRandom(seed: 4711)
    // On PostgreSQL each worker is a process; on SQLite one process has the file, and all workers in it.
    let (processes, workers) = backend == .sqlite ? (1, 8) : (8, 1)
    var started = 0
    func start() throws -> WorkerProcess {
      started += 1
      return try #require(
        WorkerProcess([
          "work", place, "\(folder)/\(started)", "w\(started)", "\(workers)", "\(started * 1000)", "\(Self.lease)",
        ]), "queue-workers was not built")
    }
    var running = try (0..<processes).map { _ in try start() }
    defer { for process in running { process.kill() } }
    let deadline = ContinuousClock.now + .seconds(120)
    let (kills, serverKills) = (12, server == nil ? 0 : 2)
    var (killed, serverKilled) = (0, 0)
    while true {
      let done = Self.lineCount(in: folder)
      if done >= Self.operations, killed >= kills, serverKilled >= serverKills { break }
      try #require(ContinuousClock.now < deadline, "only \(done) operations, \(killed) kills")
      if killed < kills, done >= Self.operations * (killed + 1) / (kills + 1) {
        killed += 1
        let index = Int.random(in: running.indices, using: &random)
        if backend == .postgres, killed % 3 == 0 {
          // Frozen for longer than its lease; it wakes as a zombie.
          running[index].freeze()
          try await Task.sleep(for: .milliseconds(Self.lease + 200))
          running[index].thaw()
        } else {
          running[index].kill()
          running[index] = try start()
        }
      }
      if let server, serverKilled < serverKills, done >= Self.operations * (serverKilled + 1) / (serverKills + 1) {
        serverKilled += 1
        await server.killAndStart()
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    for process in running { process.kill() }
    return try (1...started).flatMap { number -> [Entry] in
      let text = (try? String(contentsOfFile: "\(folder)/\(number)", encoding: .utf8)) ?? ""
      return try text.split(separator: "\n").map { try #require(Entry($0), "\($0)") }
    }
  }

  /// Counts cheaply: lines are at least 60 bytes long, and most of them 85.
  private static func lineCount(in folder: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.reduce(0) { sum, name in
      let size = (try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size] as? Int) ?? 0
      return sum + size / 85
    }
  }

  /// Takes what is left to its end, with a worker that makes no mistakes. Gives the jobs that it completed.
  private func finishRest(_ stores: JobQueue) async throws -> [String: Int64] {
    var finished: [String: Int64] = [:]
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      try await stores.jobs.expire(limit: 1000)
      for job in try await stores.jobs.claim(worker: "last", count: 100).jobs {
        _ = try await stores.jobs.complete(job: job.id, fence: job.fence, files: [])
        finished[job.id] = job.fence
      }
      if try await stores.jobs.list(.init(isActive: true), limit: 1).isEmpty { return finished }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("jobs were left over")
    return finished
  }

  private func check(
    _ entries: [Entry], _ finished: [String: Int64], jobs: Set<String>, stores: JobQueue
  ) async throws {
    #expect(entries.count >= Self.operations * 9 / 10, "\(entries.count) operations")
    #expect(entries.filter { $0.what == "error" }.map(\.job).isEmpty)
    var owners: [String: Substring] = [:]
    var claims: [String: [(fence: Int64, known: UInt64)]] = [:]
    for entry in entries where entry.what == "claimed" {
      let key = "\(entry.job) \(entry.fence)"
      #expect(owners[key] == nil, "\(key) was given to two workers")
      owners[key] = entry.worker
      claims[entry.job, default: []].append((entry.fence, entry.known))
    }
    for entry in entries where entry.what == "beaten" || entry.what == "completed" {
      let newer = claims[entry.job]?.first { $0.fence > entry.fence && $0.known < entry.asked }
      #expect(newer == nil, "\(entry) was allowed after a newer claim")
    }
    let completed = Dictionary(grouping: entries.filter { $0.what == "completed" }, by: \.job)
      .mapValues { Set($0.map(\.fence)) }
    let attempted = Set(entries.filter { $0.what == "completing" }.map { "\($0.job) \($0.fence)" })
    var events: [String: [JobEvent]] = [:]
    var last: Int64 = 0
    while true {
      let page = try await stores.events.list(after: last, limit: 1000)
      guard let newest = page.last else { break }
      last = newest.number
      for event in page { events[event.job.id, default: []].append(event) }
    }
    for id in jobs {
      let job = try await stores.jobs.job(id)
      let told = try #require(events[id], "\(id) was never told of")
      #expect(job.state == .completed, "\(id) was lost: \(job.state)")
      #expect(
        told.filter(\.job.state.isFinal).count == 1, "\(id) ended \(told.filter(\.job.state.isFinal).count) times")
      #expect(
        zip(told, told.dropFirst()).allSatisfy { $0.job.fence <= $1.job.fence }, "\(id) went back to an old owner")
      for lease in told.compactMap(\.job.lease) {
        if let owner = owners["\(id) \(lease.fence)"] { #expect(lease.worker == owner, "\(id) has two owners") }
      }
      // What a worker was told is done stays done; what is done was asked for by the owner of that time.
      if let fences = completed[id] { #expect(fences == [job.fence], "\(id) was completed by \(fences)") }
      let isKnown = finished[id] == job.fence || attempted.contains("\(id) \(job.fence)")
      #expect(isKnown, "nobody completed \(id) with \(job.fence)")
    }
    let kinds = Dictionary(grouping: entries, by: \.what).mapValues(\.count)
    print("history: \(kinds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))")
  }
}
