import DatabaseKit
import Foundation
import MediaCore
import Testing

@testable import Jobs
@testable import JobsAPI

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

  /// However many were missed, the last one is made up for, and the next look finds nothing more.
  @Test func ofManyMissedTimesTheLastIsMadeUpForAndNoOther() throws {
    let now = try #require(Timestamp("2026-11-21T10:00:30Z"))
    for (cron, last) in [
      ("* * * * *", "2026-11-21T09:59:00Z"), ("*/7 3 1-20 * *", "2026-11-20T03:56:00Z"),
      ("0 0 1 11 *", "2026-11-01T00:00:00Z"),
    ] {
      for rule in [CatchUp.latest, .none] {
        var schedule = try schedule(cron, "UTC", catchUp: rule, within: 31 * 86_400)
        schedule.nextFire = schedule.fire(after: now - .seconds(25 * 86_400))
        let due = schedule.due(at: now)
        let missed = due.fires.filter { $0 < now - .seconds(60) }
        let current = due.fires.filter { $0 >= now - .seconds(60) }
        // One that is in time leaves nothing to make up for.
        let expected = rule == .none || !current.isEmpty ? [] : [last]
        #expect(missed.map(\.description) == expected, "\(cron) \(rule)")
        #expect(current.count <= 2 && (due.next ?? now) >= now - .seconds(60), "\(cron) \(rule)")
      }
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aTimeThatIsOverIsRefused(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let past = Schedule(
      owner: "app", trigger: .at(queue.clock.now - .seconds(60)), request: JobRequest(room: "once"))
    await #expect(throws: StoreError.self) { try await queue.schedules.add(past) }
    let soon = Schedule(
      owner: "app", trigger: .at(queue.clock.now + .seconds(60)), request: JobRequest(room: "once"))
    #expect(try await queue.schedules.add(soon).nextFire == queue.clock.now + .seconds(60))
  }

  @Test func triggersAreReadAndWritten() throws {
    for text in [
      #"{"at":"2026-11-21T09:30:00Z"}"#, #"{"cron":"0 9 * * *","zone":"Europe/Berlin"}"#, #"{"room":"team-*"}"#,
    ] {
      let trigger = try JSONColumn.decode(ScheduleTrigger.self, text)
      #expect(try JSONColumn.encode(trigger) == text)
    }
    for text in ["{}", #"{"at":"x"}"#, #"{"cron":"* * *"}"#, #"{"room":"a","at":"2026-11-21T09:30:00Z"}"#] {
      #expect(throws: DecodingError.self) { try JSONColumn.decode(ScheduleTrigger.self, text) }
    }
  }

  @Test(arguments: [
    ("*", "", true), ("*", "x", true), ("a*c", "abc", true), ("a*c", "ab", false), ("a", "a", true), ("", "a", false),
    ("*a*b*", "xaybz", true), ("**", "", true), ("a*", "ba", false),
  ])
  func globs(pattern: String, text: String, matches: Bool) { #expect(Glob.matches(pattern, text) == matches) }

  @Test(arguments: DatabaseKind.allCases) func theJobIsMadeAheadOfItsTime(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    queue.clock.set(try #require(Timestamp("2026-11-21T08:00:00Z")))
    let added = try await queue.schedules.add(try schedule("0 9 * * *", "UTC"))
    #expect(added.nextFire == Timestamp("2026-11-21T09:00:00Z"))
    #expect(try await queue.schedules.fire().isEmpty)
    queue.clock.set(try #require(Timestamp("2026-11-21T08:59:30Z")))
    let job = try #require(try await queue.schedules.fire().first)
    #expect(job.notBefore == Timestamp("2026-11-21T08:59:30Z"))
    #expect(job.request.deadline == Timestamp("2026-11-21T10:00:00Z"))
    #expect(job.origin == JobOrigin(schedule: added.id, key: "2026-11-21T09:00:00Z"))
    #expect(try await queue.schedules.fire().isEmpty)
    #expect(try await queue.schedules.list().first?.nextFire == Timestamp("2026-11-22T09:00:00Z"))
    try await queue.schedules.remove(added.id)
    #expect(try await queue.schedules.list().isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases) func aRoomThatBeginsIsRecordedOnce(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let rule = Schedule(owner: "app", trigger: .room(glob: "team-*"), request: JobRequest(room: "any"))
    _ = try await queue.schedules.add(rule)
    let other = try await queue.another(seed: 9)
    async let first = queue.schedules.roomStarted("team-7", sid: "RM_1")
    async let second = other.schedules.roomStarted("team-7", sid: "RM_1")
    #expect(try await (first + second).map(\.request.room) == ["team-7"])
    #expect(try await queue.schedules.roomStarted("team-7", sid: "RM_2").count == 1)
    #expect(try await queue.schedules.roomStarted("lobby", sid: "RM_3").isEmpty)
    if backend == .postgres { other.database.close() }
  }
}
