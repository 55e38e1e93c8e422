import DatabaseKit
import Foundation
import MediaCore
import Testing

@testable import Jobs
@testable import JobsAPI

/// Scheduler processes that are killed at random moments, and a database that is killed with them: each fire time makes
/// one job all the same.
@Suite(.serialized) struct FireTimeTests {
  static let seed: UInt64 = 1914
  static let kills = 30
  /// From before the clocks change in Berlin (25 October, 01:00 UTC) until they have in New York (1 November, 06:00 UTC).
  static let (start, end) = ("2026-10-24T00:00:00Z", "2026-11-01T16:00:00Z")

  /// What must have fired, told without the schedules' own arithmetic: every ten minutes of UTC, whatever the clocks
  /// show, for the schedules that mean every hour; and once a day, also on the day on which the time comes twice.
  private struct Plan {
    var cron: String
    var zone: String
    var fires: Set<String>

    static func all() throws -> [Plan] {
      let (start, end) = (try #require(Timestamp(FireTimeTests.start)), try #require(Timestamp(FireTimeTests.end)))
      var plans = (0..<8).map { minute in
        let times = stride(from: start.seconds + Int64(minute) * 60, to: end.seconds, by: 600)
        return Plan(
          cron: "\(minute)-59/10 * * * *", zone: minute % 2 == 0 ? "Europe/Berlin" : "America/New_York",
          fires: Set(times.map { Timestamp(seconds: $0).description }))
      }
      let days = (24...31).map { "2026-10-\($0)" } + ["2026-11-01"]
      plans.append(
        Plan(
          cron: "30 2 * * *", zone: "Europe/Berlin",
          fires: Set(days.map { $0 <= "2026-10-25" ? "\($0)T00:30:00Z" : "\($0)T01:30:00Z" })))
      plans.append(
        Plan(cron: "30 1 * * *", zone: "America/New_York", fires: Set(days.map { "\($0)T05:30:00Z" })))
      return plans
    }
  }

  @Test(arguments: DatabaseKind.allCases) func eachFireTimeMakesOneJobHoweverOftenSchedulersAreKilled(
    backend: DatabaseKind
  ) async throws {
    var server: PostgresServer?
    // A server of its own, because it is killed; without PostgreSQL the queue says so.
    if backend == .postgres, case .success = PostgresServer.shared { server = try PostgresServer() }
    defer { server?.end() }
    guard let queue = try await TestQueue(backend, in: server) else { return }
    defer { queue.close() }
    queue.clock.set(try #require(Timestamp(Self.start)))
    var expected: Set<String> = []
    for plan in try Plan.all() {
      let schedule = try await queue.schedules.add(
        Schedule(
          owner: "app", trigger: .cron(try CronExpression(plan.cron), zone: plan.zone),
          request: JobRequest(room: "daily"), leadTime: 0, length: 3600, catchUp: .all, catchUpWithin: 31 * 86_400))
      expected.formUnion(plan.fires.map { "\(schedule.id) \($0)" })
    }
    #expect(expected.count == 10_002)
    // The one process that has the file is the schedulers' from here on.
    if backend == .sqlite { queue.database.close() }
    try await run(backend, place: queue.place, server: server)
    let stores = try await queue.reopened(seed: 77)
    defer { stores.database.close() }
    let made = try await stores.database.transaction { connection in
      try connection("SELECT schedule, schedule_key FROM jobs").map { "\($0.text(0) ?? "") \($0.text(1) ?? "")" }
    }
    // The last round may have looked a little beyond the end.
    let inTime = made.filter { $0.split(separator: " ")[1] < Self.end }
    #expect(inTime.count == Set(inTime).count, "seed \(Self.seed): a time fired twice")
    let missing = expected.subtracting(inTime).sorted()
    #expect(missing.isEmpty, "seed \(Self.seed): \(missing.count) never fired, \(missing.prefix(5))")
    let extra = Set(inTime).subtracting(expected).sorted()
    #expect(extra.isEmpty, "seed \(Self.seed): \(extra.count) should not have fired, \(extra.prefix(5))")
  }

  /// Runs the schedulers, and kills them, until all of them say that there is nothing left to fire.
  private func run(_ backend: DatabaseKind, place: String, server: PostgresServer?) async throws {
    let (start, end) = (try #require(Timestamp(Self.start)), try #require(Timestamp(Self.end)))
    let path = NSTemporaryDirectory() + "recbot-time-\(UUID().uuidString)"
    let time = try #require(SharedTime(path: path, start: start.microseconds))
    defer { unlink(path) }
    var random = SeededRandom(seed: Self.seed)
    // On PostgreSQL each scheduler is a process; on SQLite one process has the file, and all schedulers in it.
    let (processes, schedulers) = backend == .sqlite ? (1, 4) : (4, 1)
    var started = 0
    func launch() throws -> WorkerProcess {
      started += 1
      return try #require(
        WorkerProcess(["schedule", place, path, Self.end, "\(schedulers)", "\(started * 1000)"]),
        "queue-workers was not built")
    }
    // When each is killed, in the schedulers' time; the last one long before the end.
    let moments = (0..<Self.kills).map { _ in
      Int64.random(in: start.microseconds..<(end.microseconds - 14_400_000_000), using: &random)
    }.sorted()
    var running = try (0..<processes).map { _ in try launch() }
    defer { for process in running { process.kill() } }
    let deadline = ContinuousClock.now + .seconds(120)
    var (killed, serverKills) = (0, server == nil ? 0 : 2)
    while true {
      try #require(ContinuousClock.now < deadline, "only until \(Timestamp(microseconds: time.now)), \(killed) kills")
      if killed < moments.count, time.now >= moments[killed] {
        // Somewhere in a round, which lasts some milliseconds.
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<8000, using: &random)))
        let index = Int.random(in: running.indices, using: &random)
        running[index].kill()
        running[index] = try launch()
        killed += 1
        if let server, serverKills > 0, killed % 12 == 0 {
          serverKills -= 1
          await server.killAndStart()
        }
      }
      if killed == moments.count {
        let codes = running.map { $0.ended() }
        #expect(codes.allSatisfy { $0 == nil || $0 == 0 }, "a scheduler ended with \(codes)")
        running.removeAll { $0.hasEnded }
        if running.isEmpty { break }
      }
      try await Task.sleep(for: .milliseconds(1))
    }
    print("fire times on \(backend): \(killed) kills of \(started) processes")
  }
}
