import Foundation
import Testing

@testable import Jobs

@Suite struct ScheduleTests {
  func schedule(_ cron: String, _ zone: String, catchUp: CatchUp = .latest, within: Int64 = 600) throws -> Schedule {
    Schedule(
      owner: "app", trigger: .cron(try CronExpression(cron), zone: zone), request: JobRequest(room: "daily"),
      leadTime: 30, length: 3600, catchUp: catchUp, catchUpWithin: within)
  }

  @Test func missedTimesAreMadeUpForAsTheRuleSays() throws {
    for (rule, expected) in [(CatchUp.none, 0), (.latest, 1), (.all, 5)] {
      var schedule = try schedule("*/2 * * * *", "UTC", catchUp: rule, within: 600)
      schedule.nextFire = Timestamp("2026-11-21T08:00:00Z")
      let due = schedule.due(at: try #require(Timestamp("2026-11-21T10:01:10Z")))
      #expect(due.fires.filter { $0 < Timestamp("2026-11-21T10:00:00Z")! }.count == (rule == .all ? expected - 1 : 0))
      _ = due
    }
  }

  @Test func triggersAreReadAndWritten() throws {
    for text in [
      #"{"at":"2026-11-21T09:30:00Z"}"#, #"{"cron":"0 9 * * *","zone":"Europe/Berlin"}"#, #"{"room":"team-*"}"#,
    ] {
      let trigger = try JSONText.decode(ScheduleTrigger.self, text)
      #expect(try JSONText.encode(trigger) == text)
    }
    for text in ["{}", #"{"at":"x"}"#, #"{"cron":"* * *"}"#, #"{"room":"a","at":"2026-11-21T09:30:00Z"}"#] {
      #expect(throws: DecodingError.self) { try JSONText.decode(ScheduleTrigger.self, text) }
    }
  }

  @Test(arguments: [
    ("*", "", true), ("*", "x", true), ("a*c", "abc", true), ("a*c", "ab", false), ("a", "a", true), ("", "a", false),
    ("*a*b*", "xaybz", true), ("**", "", true), ("a*", "ba", false),
  ])
  func globs(pattern: String, text: String, matches: Bool) { #expect(Glob.matches(pattern, text) == matches) }

  @Test(arguments: Backend.allCases) func theJobIsMadeAheadOfItsTime(backend: Backend) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    queue.clock.set(try #require(Timestamp("2026-11-21T08:00:00Z")))
    let added = try await queue.store.add(try schedule("0 9 * * *", "UTC"))
    #expect(added.nextFire == Timestamp("2026-11-21T09:00:00Z"))
    #expect(try await queue.store.fireSchedules().isEmpty)
    queue.clock.set(try #require(Timestamp("2026-11-21T08:59:30Z")))
    let job = try #require(try await queue.store.fireSchedules().first)
    #expect(job.notBefore == Timestamp("2026-11-21T08:59:30Z"))
    #expect(job.request.deadline == Timestamp("2026-11-21T10:00:00Z"))
    #expect(job.origin == JobOrigin(schedule: added.id, key: "2026-11-21T09:00:00Z"))
    #expect(try await queue.store.fireSchedules().isEmpty)
    #expect(try await queue.store.schedules().first?.nextFire == Timestamp("2026-11-22T09:00:00Z"))
    try await queue.store.removeSchedule(added.id)
    #expect(try await queue.store.schedules().isEmpty)
  }

  @Test(arguments: Backend.allCases) func aRoomThatBeginsIsRecordedOnce(backend: Backend) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let rule = Schedule(owner: "app", trigger: .room(glob: "team-*"), request: JobRequest(room: "any"))
    _ = try await queue.store.add(rule)
    let other = try await queue.another(seed: 9)
    async let first = queue.store.roomStarted("team-7", sid: "RM_1")
    async let second = other.roomStarted("team-7", sid: "RM_1")
    #expect(try await (first + second).map(\.request.room) == ["team-7"])
    #expect(try await queue.store.roomStarted("team-7", sid: "RM_2").count == 1)
    #expect(try await queue.store.roomStarted("lobby", sid: "RM_3").isEmpty)
    if backend == .postgres { other.database.close() }
  }

  /// 10,000 fire times in two time zones over their changes of the clock, four schedulers that die in the middle of
  /// transactions: each time makes one job.
  @Test(arguments: Backend.allCases) func eachFireTimeMakesOneJob(backend: Backend) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    struct Killed: Error {}
    let start = try #require(Timestamp("2026-10-24T00:00:00Z"))
    queue.clock.set(start)
    var expected: Set<String> = []
    var ends = start
    for (index, zone) in ["Europe/Berlin", "America/New_York"].enumerated() {
      for second in 0..<4 {
        let schedule = try await queue.store.add(
          try schedule("\(index + second * 2)-59/10 * * * *", zone, catchUp: .all, within: 86_400))
        var time = start
        for _ in 0..<1250 {
          time = try #require(schedule.fire(after: time))
          expected.insert("\(schedule.id) \(time)")
        }
        ends = max(ends, time)
      }
    }
    let last = ends
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let store = try await queue.another(seed: UInt64(50 + worker))
          var round = 0
          while queue.clock.now <= last + .seconds(60) {
            round += 1
            if (round + worker) % 5 == 0 {
              // Dies before its transaction is kept.
              do {
                try await store.database.transaction { connection in
                  _ = try connection("UPDATE schedules SET due_at = 9223372036854775807")
                  throw Killed()
                }
              } catch is Killed {}
            }
            try await store.fireSchedules()
            if worker == 0 { queue.clock.advance(.seconds(1800)) }
          }
          try await store.fireSchedules()
          if backend == .postgres { store.database.close() }
        }
      }
      try await group.waitForAll()
    }
    let made = try await queue.store.database.transaction { connection in
      try connection("SELECT schedule, schedule_key FROM jobs").map { "\($0.text(0) ?? "") \($0.text(1) ?? "")" }
    }
    #expect(made.count == Set(made).count)
    #expect(expected.isSubset(of: Set(made)), "\(expected.subtracting(made).count) fire times are missing")
    let extra = Set(made).subtracting(expected).filter { $0.split(separator: " ")[1] <= last.description }
    #expect(extra.count < 200, "only those of the schedules that reach 1,250 sooner: \(extra.count)")
  }
}
