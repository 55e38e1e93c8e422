import DatabaseKit
import Foundation
import Jobs
import JobsAPI
import Testing

@testable import Backend

/// Requests that are held: who is woken by what.
@Suite struct HeldRequestTests {
  /// Waits in a task of its own; `isWoken` after a round has come.
  private func wait(_ turns: ClaimTurns, since rounds: UInt64 = 0) async -> Task<ClaimTurns.Round?, Never> {
    let before = turns.waiting
    let task = Task { await turns.wait(since: rounds, atMost: .seconds(3600)) }
    while turns.waiting == before { await Task.yield() }
    return task
  }

  @Test func aRoundWakesTheLongestWaitingAndTheNextWhenItGoesOn() async throws {
    let turns = ClaimTurns()
    let (first, second, third) = (await wait(turns), await wait(turns), await wait(turns))
    turns.begin()
    let round = try #require(await first.value)
    #expect(turns.waiting == 2)
    turns.goOn(round)
    #expect(await second.value != nil && turns.waiting == 1)
    third.cancel()
    #expect(await third.value == nil && turns.waiting == 0)
  }

  @Test func nobodyIsWokenTwiceInARound() async throws {
    let turns = ClaimTurns()
    let first = await wait(turns)
    turns.begin()
    let round = try #require(await first.value)
    // It waits again, and so does a new one: both have looked since the round began.
    let (again, new) = (await wait(turns, since: 1), await wait(turns, since: 1))
    turns.goOn(round)
    #expect(turns.waiting == 2)
    turns.begin()
    #expect(await again.value != nil && turns.waiting == 1)
    turns.close()
    #expect(await new.value == nil && turns.isClosed)
  }

  @Test func aRoundThatBeginsDuringTheLookIsNotMissed() async {
    let turns = ClaimTurns()
    let rounds = turns.rounds
    turns.begin()
    #expect(await turns.wait(since: rounds, atMost: .seconds(3600)) == nil)
    #expect(await turns.wait(since: turns.rounds, atMost: .zero) == nil)
    #expect(await turns.wait(since: turns.rounds, atMost: .milliseconds(1)) == nil)
  }

  @Test func aHeldHeartbeatIsWokenByItsOwnJobAndRoomOnly() async {
    let held = HeldHeartbeats()
    await held.hold(job: "a") { heldA in
      await held.hold(job: "b") { heldB in
        let (a, b) = (heldA.notifier, heldB.notifier)
        heldA.wait(for: "x")
        heldB.wait(for: "y")
        #expect(held.count == 2)
        held.notify(job: "b")
        #expect(a.notices == 0 && b.notices == 1)
        held.notify(room: "x")
        #expect(a.notices == 1 && b.notices == 1)
        // Two heartbeats of a job are woken together.
        await held.hold(job: "a") { #expect($0.notifier === a) }
        held.notifyAll()
        #expect(a.notices == 2 && b.notices == 2)
        held.close()
        #expect(a.isClosed && b.isClosed)
      }
    }
    #expect(held.count == 0)
    await held.hold(job: "c") { #expect($0.notifier.isClosed) }
  }

  @Test func hintsAreReadAsTheyAreTold() {
    for hint in [JobHint.free, .changed("job_1"), .changed("")] { #expect(JobHint(text: hint.text) == hint) }
    for text in ["", "changed", "free job_1"] { #expect(JobHint(text: text) == nil) }
  }

  @Test(arguments: DatabaseKind.allCases) func aNewJobCostsOneLookHoweverManyWait(kind: DatabaseKind) async throws {
    let looks = StatementCount(of: "available_at, id, body")
    try await TestBackend.run(on: kind, counting: looks) { api in
      let changes = api.backend.core.changes
      try await withThrowingTaskGroup(of: [Assignment].self) { group in
        for number in 0..<20 { group.addTask { try await api.claim("w\(number)", count: 2, wait: 10) } }
        while changes.claims.waiting < 20 { await Task.yield() }
        let before = looks.value
        let job = try await api.submit("a", TestToken.caller())
        let claimed = try #require(try await group.next())
        #expect(claimed.map(\.job.id) == [job.id])
        // One for the submission; PostgreSQL tells it to this backend, too, and the poller may find it first.
        #expect(looks.value - before <= 4, "\(looks.value - before) looks")
        group.cancelAll()
      }
    }
  }

  /// A recording has one in four seconds, all day.
  @Test(arguments: DatabaseKind.allCases) func aHeldHeartbeatIsOneTransaction(kind: DatabaseKind) async throws {
    let reads = StatementCount(of: "FROM jobs WHERE id = ")
    try await TestBackend.run(on: kind, counting: reads) { api in
      let job = try await api.submit("a", TestToken.caller())
      let fence = try #require(try await api.claim().first).job.fence
      let before = reads.value
      let beat = HeartbeatRequest(fence: fence, report: JobReport(state: .running))
      let answer = try await api.send(
        "POST", "/v1/workers/jobs/\(job.id)/beat?wait=1", TestBackend.workerSecret, beat)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(reads.value - before == 1)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func manyJobsGoToAllWhoWait(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let changes = api.backend.core.changes
      try await withThrowingTaskGroup(of: [Assignment].self) { group in
        for number in 0..<6 { group.addTask { try await api.claim("w\(number)", wait: 10) } }
        while changes.claims.waiting < 6 { await Task.yield() }
        var rooms: Set<String> = []
        for number in 0..<6 { rooms.insert(try await api.submit("room-\(number)", TestToken.caller()).id) }
        let began = ContinuousClock.now
        var taken: Set<String> = []
        for try await assignments in group { taken.formUnion(assignments.map(\.job.id)) }
        #expect(taken == rooms)
        #expect(.now - began < .seconds(8))
      }
    }
  }

  /// What the first of those who wait cannot do is the next one's at once.
  @Test(arguments: DatabaseKind.allCases) func aJobIsPassedOnToWhoCanCarryItOut(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let changes = api.backend.core.changes
      func claim(_ worker: String, keys: [String]) async throws -> [Assignment] {
        var status = WorkerStatus(running: 0, capacity: 1)
        status.abilities = WorkerAbilities(hasStore: false, keys: keys)
        let answer = try await api.send(
          "POST", "/v1/workers/claim", TestBackend.workerSecret,
          ClaimRequest(worker: worker, count: 1, status: status, wait: 10))
        return try answer.value(ClaimAnswer.self).assignments
      }
      async let unable = claim("unable", keys: [])
      while changes.claims.waiting < 1 { await Task.yield() }
      async let able = claim("able", keys: ["k"])
      while changes.claims.waiting < 2 { await Task.yield() }
      let began = ContinuousClock.now
      let answer = try await api.send("POST", "/v1/jobs", TestToken.caller(), JobRequest(room: "a", key: "k"))
      #expect(answer.status == 201, "\(answer.text)")
      #expect(try await able.count == 1)
      #expect(.now - began < .seconds(5))
      #expect(try await unable.isEmpty)
    }
  }
}
