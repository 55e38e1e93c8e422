import DatabaseKit
import Foundation
import JobsAPI
import Signaling
import SwiftProtobuf
import Testing

@testable import Backend

/// The workers' side of the API.
@Suite struct WorkerRouteTests {
  @Test(arguments: DatabaseKind.allCases) func aJobGoesFromClaimToFile(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let job = try await api.submit("a", ann)
      let assignment = try #require(try await api.claim().first)
      #expect(assignment.job.id == job.id && assignment.job.state == .waiting && assignment.job.fence == 1)

      // The ticket is a bot's: hidden, a recorder, only for this room, and not for long.
      #expect(assignment.ticket.url == TestBackend.service.url)
      let token = try AccessToken(verifying: assignment.ticket.token, now: TestToken.now) { _ in
        TestBackend.service.apiSecret
      }
      #expect(token.identity == "recbot-\(job.id)" && token.video?.room == "a" && token.video?.roomJoin == true)
      #expect(token.video?.hidden == true && token.video?.recorder == true && token.video?.allowsPublish == false)
      #expect(token.video?.allowsData == false && token.video?.allowsSubscribe == true && token.video?.roomAdmin == nil)
      #expect(token.expires - TestToken.now <= 600)

      let part = JobPart(attempt: 1, worker: "w1", location: "part-1.webm", startedAt: .now, duration: 1_000_000)
      let beat = try await api.send(
        "POST", "/v1/workers/jobs/\(job.id)/beat", TestBackend.workerSecret,
        HeartbeatRequest(fence: 1, report: JobReport(state: .running, part: part)))
      let alive = try beat.value(HeartbeatAnswer.self)
      // The ticket is fresh: no other is needed.
      #expect(alive.job.state == .running && alive.ticket == nil)
      let file = JobFile(location: "a.webm", size: 10, duration: 1_000_000, sha256: "00")
      for _ in 0..<2 {
        let done = try await api.send(
          "POST", "/v1/workers/jobs/\(job.id)/complete", TestBackend.workerSecret,
          CompleteRequest(fence: 1, files: [file]))
        #expect(done.status == 200)
        #expect(try done.value(Job.self).state == .completed)
      }
      let page = try await api.ask("GET", "/v1/recordings", ann).value(RecordingPage.self)
      #expect(page.recordings.map(\.file) == [file] && page.recordings.first?.job == job.id && page.next == nil)
      #expect(
        try await api.ask("GET", "/v1/recordings", TestToken.caller("bob")).value(RecordingPage.self).recordings.isEmpty
      )
      let workers = try await api.ask("GET", "/v1/workers", ann)
      #expect(workers.text.contains(#""id":"w1""#), "\(workers.text)")
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aFileThatWaitedIsFoundWhereItIsNow(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let job = try await api.submit("a", TestToken.caller())
      let fence = try #require(try await api.claim().first).job.fence
      func move(_ from: String, _ to: String, isLast: Bool, of id: String? = nil) async throws -> TestBackend.Answer {
        try await api.send(
          "POST", "/v1/workers/jobs/\(id ?? job.id)/moved", TestBackend.workerSecret,
          MovedRequest(from: from, to: to, size: 9, sha256: "ff", isLast: isLast))
      }
      // While the job goes on, its files are not known: it is told again later.
      #expect(try await move("/backup/a.webm", "s3://b/a.webm", isLast: true).status == 409)
      #expect(try await move("/backup/a.webm", "s3://b/a.webm", isLast: true, of: "job_none").status == 404)
      let error = JobError(name: "deliveryFailed", message: "waits")
      _ = try await api.send(
        "POST", "/v1/workers/jobs/\(job.id)/beat", TestBackend.workerSecret,
        HeartbeatRequest(fence: fence, report: JobReport(state: .running, isRecorded: true, error: error)))
      let beside = JobSideFile(kind: .manifest, location: "/backup/a.json", size: 3)
      let file = JobFile(
        location: "/backup/a.webm", size: 10, duration: 1_000_000, dataFolder: "folder", beside: [beside])
      _ = try await api.send(
        "POST", "/v1/workers/jobs/\(job.id)/complete", TestBackend.workerSecret,
        CompleteRequest(fence: fence, files: [file]))

      let first = try await move("/backup/a.webm", "s3://b/a.webm", isLast: false).value(Job.self)
      #expect(first.files.map(\.location) == ["s3://b/a.webm"] && first.files[0].dataFolder == nil)
      #expect(first.files[0].size == 9 && first.files[0].sha256 == "ff" && first.error?.name == "deliveryFailed")
      // What is told twice is told once.
      for _ in 0..<2 {
        let last = try await move("/backup/a.json", "s3://b/a.json", isLast: true).value(Job.self)
        #expect(last.files[0].beside?.map(\.location) == ["s3://b/a.json"] && last.error == nil)
      }
      let events = try await api.ask("GET", "/v1/jobs/\(job.id)/events", TestToken.caller()).value(EventPage.self)
      #expect(events.events.map(\.kind).suffix(2) == [.completed, .delivered])
      #expect(events.events.last?.job.files[0].location == "s3://b/a.webm")
    }
  }

  @Test(arguments: DatabaseKind.allCases) func recordingsOfOneJobCanSpanPages(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      for number in 0..<3 {
        let job = try await api.submit("a", ann)
        let claimed = try #require(try await api.claim().first)
        let files = (0..<3).map { JobFile(location: "\(number)-\($0)", size: 1, duration: 1) }
        _ = try await api.send(
          "POST", "/v1/workers/jobs/\(job.id)/complete", TestBackend.workerSecret,
          CompleteRequest(fence: claimed.job.fence, files: files))
      }
      var seen: [String] = []
      var after: String?
      repeat {
        let cursor = after.map { "&after=\($0)" } ?? ""
        let page = try await api.ask("GET", "/v1/recordings?limit=2\(cursor)", ann).value(RecordingPage.self)
        #expect(page.recordings.count <= 2)
        seen += page.recordings.map(\.file.location)
        after = page.next
      } while after != nil && seen.count < 20
      #expect(seen == ["2-0", "2-1", "2-2", "1-0", "1-1", "1-2", "0-0", "0-1", "0-2"])
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aWorkerThatWasReplacedCanChangeNothing(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let job = try await api.submit("a", ann)
      let old = try #require(try await api.claim("old").first).job
      let path = "/v1/workers/jobs/\(job.id)"
      let given = try await api.send(
        "POST", "\(path)/release", TestBackend.workerSecret, HeartbeatRequest(fence: old.fence, report: JobReport()))
      #expect(try given.value(HeartbeatAnswer.self).job.state == .queued)
      let new = try #require(try await api.claim("new").first).job
      #expect(new.fence == old.fence + 1)

      let report = HeartbeatRequest(fence: old.fence, report: JobReport(state: .running))
      let answers = [
        try await api.send("POST", "\(path)/beat", TestBackend.workerSecret, report),
        try await api.send("POST", "\(path)/release", TestBackend.workerSecret, report),
        try await api.send(
          "POST", "\(path)/complete", TestBackend.workerSecret, CompleteRequest(fence: old.fence, files: [])),
        try await api.send(
          "POST", "\(path)/fail", TestBackend.workerSecret,
          FailRequest(fence: old.fence, error: JobError(name: "x", message: "x"), mayRetry: false)),
      ]
      for answer in answers { #expect(answer.status == 409 && answer.problem?.code == "fenced", "\(answer.text)") }
      let seen = try await api.ask("GET", "/v1/jobs/\(job.id)", ann).value(Job.self)
      #expect(seen.lease?.worker == "new" && seen.state == .waiting && seen.parts.isEmpty && seen.error == nil)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aWorkerThatIsGoneLosesItsJob(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) {
      $0.machine.leaseTime = .milliseconds(200)
      $0.startPatience = .milliseconds(0)
    } _: { api in
      let job = try await api.submit("a", TestToken.caller())
      let first = try #require(try await api.claim("gone").first)
      #expect(first.job.id == job.id)
      let second = try #require(try await api.claim("next", wait: 10).first)
      #expect(second.job.id == job.id && second.job.fence == 2 && second.job.lease?.worker == "next")
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aHeldClaimIsServedAtOnce(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      async let claimed = api.claim(wait: 10)
      while api.backend.core.changes.claims.waiting == 0 { await Task.yield() }
      let started = ContinuousClock.now
      let job = try await api.submit("a", TestToken.caller())
      #expect(try await claimed.map(\.job.id) == [job.id])
      #expect(.now - started < .seconds(8))
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aClaimOfAWorkerThatLeftTakesNothing(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      // A request that is cancelled closes its connection, as a killed process does.
      let held = Task { try await api.claim("dead", wait: 10) }
      while api.backend.core.changes.claims.waiting == 0 { await Task.yield() }
      held.cancel()
      _ = await held.result
      while api.backend.core.changes.claims.waiting > 0 {
        if api.backend.core.connections.count == 0 { break }
        await Task.yield()
      }
      let job = try await api.submit("a", TestToken.caller())
      let claimed = try #require(try await api.claim("alive", wait: 10).first)
      #expect(claimed.job.id == job.id && claimed.job.lease?.worker == "alive")
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aHeldHeartbeatBringsACommandAtOnce(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let job = try await api.submit("a", ann)
      let fence = try #require(try await api.claim().first).job.fence
      let report = HeartbeatRequest(fence: fence, report: JobReport(state: .running))
      // Known to record before it is told something: until then nobody hears a command, and none is waited for.
      _ = try await api.send("POST", "/v1/workers/jobs/\(job.id)/beat", TestBackend.workerSecret, report)
      async let held = api.send(
        "POST", "/v1/workers/jobs/\(job.id)/beat?wait=10", TestBackend.workerSecret, report)
      while api.backend.core.changes.heartbeats.count == 0 { await Task.yield() }
      let command = #"{"verb":"layout","argument":"speaker"}"#
      async let told = api.ask("POST", "/v1/jobs/\(job.id)/commands?wait=10", ann, json: command)
      let answer = try await held.value(HeartbeatAnswer.self)
      #expect(answer.job.commands.map(\.argument) == ["speaker"])
      let confirmed = try await api.send(
        "POST", "/v1/workers/jobs/\(job.id)/beat", TestBackend.workerSecret,
        HeartbeatRequest(fence: fence, report: JobReport(confirmed: 1)))
      // Who told it is answered when the recorder has.
      #expect(try await told.status == 200)
      let unheard = try await api.ask("POST", "/v1/jobs/\(job.id)/commands?wait=0", ann, json: command)
      #expect(unheard.status == 202)
      #expect(try confirmed.value(HeartbeatAnswer.self).job.commands.isEmpty)
    }
  }

  /// Whoever waits for a room hears at once that it has begun: by a fresh ticket.
  @Test(arguments: DatabaseKind.allCases) func aRoomThatBeginsWakesWhoWaitsForIt(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      var claimed: [Job] = []
      for room in ["a", "a", "b"] {
        _ = try await api.submit(room, ann)
        claimed.append(try #require(try await api.claim().first).job)
      }
      let jobs = claimed
      let beat = { @Sendable (job: Job, state: JobState, wait: Int) async throws -> HeartbeatAnswer in
        try await api.send(
          "POST", "/v1/workers/jobs/\(job.id)/beat?wait=\(wait)", TestBackend.workerSecret,
          HeartbeatRequest(fence: job.fence, report: JobReport(state: state))
        ).value()
      }
      // One that records is not woken, nor one that waits for another room.
      _ = try await beat(jobs[1], .running, 0)
      async let held = beat(jobs[0], .waiting, 10)
      while api.backend.core.changes.heartbeats.count == 0 { await Task.yield() }
      let service = TestBackend.service
      let event = Livekit_WebhookEvent.with {
        ($0.event, $0.id) = ("room_started", "EV_1")
        $0.room = .with { ($0.name, $0.sid) = ("a", "RM_1") }
      }
      let body: [UInt8] = try event.jsonUTF8Bytes()
      let token = AccessToken(vouchingFor: body, apiKey: service.apiKey, now: Timestamp.now.seconds, lifetime: 60)
      let told = ContinuousClock.now
      let answer = try await api.ask(
        "POST", "/webhooks/livekit", token.signed(secret: service.apiSecret),
        json: String(decoding: body, as: UTF8.self), type: "application/webhook+json")
      #expect(answer.status == 200, "\(answer.text)")
      #expect(try await held.ticket != nil)
      #expect(ContinuousClock.now - told < .seconds(5), "it was not woken, its time was over")
      #expect(try await beat(jobs[0], .waiting, 0).ticket == nil, "told once")
      #expect(try await beat(jobs[1], .running, 0).ticket == nil)
      #expect(try await beat(jobs[2], .waiting, 0).ticket == nil)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aTicketIsRenewedBeforeItEnds(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) {
      $0.ticketLifetime = .seconds(2)
    } _: { api in
      let job = try await api.submit("a", TestToken.caller())
      let assignment = try #require(try await api.claim().first)
      let end = ContinuousClock.now + .seconds(20)
      var ticket: RoomTicket?
      while ticket == nil, .now < end {
        let answer = try await api.send(
          "POST", "/v1/workers/jobs/\(job.id)/beat", TestBackend.workerSecret,
          HeartbeatRequest(fence: 1, report: JobReport(state: .running)))
        ticket = try answer.value(HeartbeatAnswer.self).ticket
      }
      #expect(try #require(ticket).until > assignment.ticket.until)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func requestsOfWorkersAreLookedAtToo(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let secret = TestBackend.workerSecret
      let status = #""status":{"running":0,"capacity":1,"cores":0,"memory":0,"draining":false}"#
      for (json, field) in [
        ("{\"worker\":\"\",\"count\":1,\"wait\":0,\(status)}", "worker"),
        ("{\"worker\":\"w\",\"count\":-1,\"wait\":0,\(status)}", "count"),
        ("{\"worker\":\"w\",\"count\":101,\"wait\":0,\(status)}", "count"),
        ("{\"worker\":\"w\",\"count\":1,\"wait\":-1,\(status)}", "wait"),
        ("{\"worker\":\"w\",\"count\":1,\"wait\":0}", "status"),
      ] {
        let answer = try await api.ask("POST", "/v1/workers/claim", secret, json: json)
        #expect(answer.status == 400 && answer.problem?.message.hasPrefix(field) == true, "\(json): \(answer.text)")
      }
      let none = HeartbeatRequest(fence: 1, report: JobReport())
      #expect(try await api.send("POST", "/v1/workers/jobs/job_none/beat", secret, none).status == 404)
      // One that drains says how it stands, and is given nothing.
      _ = try await api.submit("a", TestToken.caller())
      let draining = ClaimRequest(
        worker: "w", count: 1, status: WorkerStatus(running: 0, capacity: 1, isDraining: true))
      let answer = try await api.send("POST", "/v1/workers/claim", secret, draining)
      #expect(try answer.value(ClaimAnswer.self).assignments.isEmpty)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func metricsTellHowTheQueueStands(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      _ = try await api.submit("a", TestToken.caller())
      let second = try await api.submit("b", TestToken.caller())
      _ = try await api.claim()
      let path = "/v1/jobs/\(second.id)/commands"
      let cancel = [("Idempotency-Key", "once")]
      for _ in 0..<2 {
        _ = try await api.ask("POST", path, TestToken.caller(), json: #"{"verb":"cancel"}"#, headers: cancel)
      }
      _ = try await api.ask("GET", "/nowhere", nil)
      let answer = try await api.ask("GET", "/metrics", nil)
      #expect(answer.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
      let lines = Set(answer.text.split(separator: "\n").map(String.init))
      for line in [
        #"recbot_jobs{state="queued"} 0"#, #"recbot_jobs{state="waiting"} 1"#, "recbot_jobs_queue_depth 0",
        #"recbot_jobs_finished_total{result="cancelled"} 1"#, #"recbot_jobs_finished_total{result="completed"} 0"#,
        "recbot_workers 1", "recbot_worker_capacity 1", "recbot_webhooks_pending 0",
        #"recbot_http_requests_total{route="POST /v1/jobs",status="201"} 2"#,
        #"recbot_http_requests_total{route="none",status="404"} 1"#, "recbot_job_wait_seconds_count 1",
        #"recbot_http_request_seconds_count{route="POST /v1/jobs"} 2"#,
      ] { #expect(lines.contains(line), "\(line)") }
    }
  }
}
