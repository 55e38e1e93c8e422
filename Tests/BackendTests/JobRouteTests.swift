import DatabaseKit
import Foundation
import JobsAPI
import Testing

@testable import Backend

/// Jobs, schedules, recordings and events over HTTP.
@Suite struct JobRouteTests {
  @Test(arguments: DatabaseKind.allCases) func aRepeatedRequestWithAKeyMakesOneJob(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let key = [("Idempotency-Key", "order-1")]
      let first = try await api.ask("POST", "/v1/jobs", ann, json: #"{"room":"a","max_duration":60}"#, headers: key)
      #expect(first.status == 201)
      // In another order: it is the same request.
      let second = try await api.ask("POST", "/v1/jobs", ann, json: #"{"max_duration":60,"room":"a"}"#, headers: key)
      #expect(second.status == 200)
      let (one, two) = (try first.value(Job.self), try second.value(Job.self))
      #expect(one.id == two.id)
      let other = try await api.ask("POST", "/v1/jobs", ann, json: #"{"room":"b"}"#, headers: key)
      #expect(other.status == 422 && other.problem?.code == "key_reused")
      // Keys are each caller's own.
      let bob = try await api.ask("POST", "/v1/jobs", TestToken.caller("bob"), json: #"{"room":"b"}"#, headers: key)
      #expect(bob.status == 201)

      // Many at once.
      let ids = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<20 {
          group.addTask {
            let answer = try await api.ask(
              "POST", "/v1/jobs", ann, json: #"{"room":"c"}"#, headers: [("Idempotency-Key", "order-2")])
            return try answer.value(Job.self).id
          }
        }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(ids.count == 1)

      for bad in ["", String(repeating: "k", count: 256)] {
        let answer = try await api.ask(
          "POST", "/v1/jobs", ann, json: #"{"room":"a"}"#, headers: [("Idempotency-Key", bad)])
        #expect(answer.status == 400 && answer.problem?.message.hasPrefix("Idempotency-Key") == true, "\(bad.count)")
      }

      // Commands too: a marker that is sent twice is set once.
      for _ in 0..<2 {
        let answer = try await api.ask(
          "POST", "/v1/jobs/\(one.id)/commands", ann, json: #"{"verb":"marker","argument":"here"}"#,
          headers: [("Idempotency-Key", "marker-1")])
        // Nobody records yet: it waits.
        #expect(answer.status == 202, "\(answer.text)")
      }
      let job = try await api.ask("GET", "/v1/jobs/\(one.id)", ann).value(Job.self)
      #expect(job.commands.map(\.argument) == ["here"])
    }
  }

  @Test(arguments: DatabaseKind.allCases) func pagesTogetherAreEverythingOnce(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      var made: [String] = []
      for index in 0..<23 { made.append(try await api.submit(index % 3 == 0 ? "red" : "blue", ann).id) }
      _ = try await api.submit("red", TestToken.caller("bob"))

      func all(_ query: String, _ credential: String) async throws -> (ids: [String], pages: Int) {
        var ids: [String] = []
        var after: String?
        var pages = 0
        repeat {
          let cursor = after.map { "&after=\($0)" } ?? ""
          let page = try await api.ask("GET", "/v1/jobs?\(query)\(cursor)", credential).value(JobPage.self)
          ids += page.jobs.map(\.id)
          after = page.next
          pages += 1
        } while after != nil && pages < 100
        return (ids, pages)
      }
      let everything = try await all("limit=5", ann)
      #expect(everything.ids == made.sorted().reversed() && everything.pages == 5)
      #expect(try await all("limit=200", ann).pages == 1)
      #expect(try await all("limit=3&room=red", ann).ids.count == 8)
      #expect(try await all("active=true", ann).ids.count == 23)
      #expect(try await all("limit=10", TestToken.caller("eve", grants: [.admin])).ids.count == 24)
      #expect(try await all("limit=4", TestToken.caller(rooms: "r*")).ids.count == 8)
      for query in ["limit=0", "limit=201", "limit=x", "limit=-1", "active=maybe"] {
        #expect(try await api.ask("GET", "/v1/jobs?\(query)", ann).status == 400, "\(query)")
      }
    }
  }

  @Test(arguments: DatabaseKind.allCases) func nobodySeesOrStopsAnothersJobs(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let (ann, bob) = (TestToken.caller("ann"), TestToken.caller("bob"))
      let admin = TestToken.caller("root", grants: [.admin])
      let job = try await api.submit("secret-room", ann)
      for (method, path, json) in [
        ("GET", "/v1/jobs/\(job.id)", nil), ("GET", "/v1/jobs/\(job.id)/events", nil),
        ("POST", "/v1/jobs/\(job.id)/commands", #"{"verb":"cancel"}"#),
      ] as [(String, String, String?)] {
        #expect(try await api.ask(method, path, bob, json: json).status == 404, "\(path)")
        #expect(try await api.ask(method, path, TestToken.caller(rooms: "public-*"), json: json).status == 404)
      }
      #expect(try await api.ask("GET", "/v1/events", bob).value(EventPage.self).events.isEmpty)
      #expect(try await api.ask("GET", "/v1/events", ann).value(EventPage.self).events.map(\.job.id) == [job.id])
      #expect(try await api.ask("GET", "/v1/jobs/\(job.id)", admin).status == 200)
      #expect(try await api.ask("GET", "/v1/jobs/\(job.id)", ann).value(Job.self).state == .queued)
      let cancelled = try await api.ask(
        "POST", "/v1/jobs/\(job.id)/commands", ann, json: #"{"verb":"cancel"}"#)
      #expect(try cancelled.value(Job.self).state == .cancelled)
      let again = try await api.ask("POST", "/v1/jobs/\(job.id)/commands", ann, json: #"{"verb":"stop"}"#)
      #expect(again.status == 409 && again.problem?.code == "is_over")
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aRequestThatCannotBeCarriedOutNamesItsField(kind: DatabaseKind)
    async throws
  {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller(rooms: "r*")
      for (json, field) in [
        ("{}", "room"), (#"{"room":""}"#, "room"), (#"{"room":7}"#, "room"), (#"{"room":null,"layout":3}"#, "layout"),
        (#"{"room":"r","deadline":"tomorrow"}"#, "deadline"),
        (#"{"room":"r","deadline":"2001-01-01T00:00:00Z"}"#, "deadline"),
        (#"{"room":"r","max_duration":0}"#, "max_duration"), (#"{"room":"r","max_duration":1.5}"#, "max_duration"),
        (#"{"room":"r","metadata":{"a":1}}"#, "metadata.a"), (#"{"room":"r","outputs":{}}"#, "outputs"),
        (#"{"room":"r","outputs":[{"destination":"ftp"}]}"#, "outputs[0].destination"),
        (#"{"room":"r","picture":{"codec":"h264"}}"#, "picture.codec: there is no codec for recordings 'h264'"),
        (#"{"room":"r","outputs":[{},{"path":"a/../../b.webm"}]}"#, "outputs[1].path: name 'a/../../b.webm' has a"),
        (#"{"room":"r","outputs":[{"path":"/etc/x.webm"}]}"#, "outputs[0].path"),
        (#"{"room":"r","outputs":[{"path":"{home}.webm"}]}"#, "outputs[0].path: name: there is no {home}"),
        (#"{"room":"r","outputs":[{"path":""}]}"#, "outputs[0].path"),
        (#"{"room":"r","url":"wss://evil.example.com"}"#, "url"),
        (#"{"room":"r","webhook":{}}"#, "webhook.url"),
        (#"{"room":"r","webhook":{"url":"https://127.0.0.1/x"}}"#, "webhook.url"),
        (#"{"room":"r","webhook":{"url":"http://169.254.169.254/latest"}}"#, "webhook.url"),
        (#"{"room":"r","webhook":{"url":"file:///etc/passwd"}}"#, "webhook.url"),
        ("[]", "body"), ("room", "body"), ("", "body"), ("{\"room\":\"r\"", "body"), ("\u{ff}", "body"),
        (String(repeating: "[", count: 60_000), "body"), (String(repeating: "[", count: 513), "body"),
        (#"{"room":"r","unknown":"# + String(repeating: "[", count: 512), "body"),
        (#"{"room":"r","max_duration":1e19}"#, "max_duration: the number 1e19 does not fit the field"),
        (#"{"room":"r","room":"q"}"#, "body: a name is given twice"), (#"{"room":"r","tags":[1,]}"#, "body"),
      ] {
        let answer = try await api.ask("POST", "/v1/jobs", ann, json: json)
        #expect(answer.status == 400, "\(json.prefix(80)): \(answer.status)")
        #expect(answer.problem?.message.hasPrefix(field) == true, "\(json.prefix(80)): \(answer.text)")
      }
      #expect(try await api.ask("POST", "/v1/jobs", ann, json: #"{"room":"x"}"#).status == 401)
      #expect(try await api.ask("POST", "/v1/jobs", ann, json: #"{"room":"r"}"#, type: "text/plain").status == 415)
      #expect(
        try await api.ask("POST", "/v1/jobs", ann, json: #"{"room":"r"}"#, type: "application/json; charset=utf-8")
          .status == 201)
      let same = #"{"room":"r","url":"http://127.0.0.1:7880/"}"#
      #expect(try await api.ask("POST", "/v1/jobs", ann, json: same).status == 201)
      #expect(try await api.ask("DELETE", "/v1/jobs", ann).status == 405)
      #expect(try await api.ask("DELETE", "/v1/jobs", ann).headers["allow"] == "POST, GET")
      #expect(try await api.ask("GET", "/v1/nothing", ann).problem?.code == "unknown_path")
      #expect(try await api.ask("GET", "/v1/jobs/..%2f..%2fetc", ann).status == 404)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func eventsAreWaitedForAndComeInOrder(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let job = try await api.submit("a", ann)
      let first = try await api.ask("GET", "/v1/jobs/\(job.id)/events", ann).value(EventPage.self)
      #expect(first.events.map(\.kind) == [.created])
      async let waited = api.ask("GET", "/v1/jobs/\(job.id)/events?after=\(first.next)&wait=30", ann)
      while !api.backend.core.changes.events.isAwaited { await Task.yield() }
      let started = ContinuousClock.now
      _ = try await api.ask("POST", "/v1/jobs/\(job.id)/commands", ann, json: #"{"verb":"cancel"}"#)
      let page = try await waited.value(EventPage.self)
      #expect(page.events.map(\.kind) == [.cancelled] && page.events[0].job.id == job.id)
      #expect(.now - started < .seconds(20))
      // There is nothing more: a short wait ends with the same place.
      let last = try await api.ask("GET", "/v1/events?after=\(page.next)&wait=0", ann).value(EventPage.self)
      #expect(last.events.isEmpty && last.next == page.next)
    }
  }

  @Test(arguments: DatabaseKind.allCases) func schedulesSayWhenTheyFire(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let json = """
        {"trigger":{"cron":"30 9 * * 1-5","zone":"Europe/Berlin"},"request":{"room":"standup"},"length":1800}
        """
      let key = [("Idempotency-Key", "s1")]
      let made = try await api.ask("POST", "/v1/schedules", ann, json: json, headers: key)
      #expect(made.status == 201, "\(made.text)")
      let schedule = try made.value(Schedule.self)
      #expect(try await api.ask("POST", "/v1/schedules", ann, json: json, headers: key).status == 200)
      let times = try await api.ask("GET", "/v1/schedules/\(schedule.id)/next?count=3", ann).value(FireTimes.self).times
      #expect(times.count == 3 && times[0] == schedule.nextFire && times == times.sorted())
      let rule = try await api.ask(
        "POST", "/v1/schedules", ann, json: #"{"trigger":{"room":"team-*"},"request":{"layout":"grid"}}"#)
      #expect(rule.status == 201, "\(rule.text)")
      let page = try await api.ask("GET", "/v1/schedules?limit=1", ann).value(SchedulePage.self)
      #expect(page.schedules.count == 1 && page.next != nil)
      #expect(try await api.ask("GET", "/v1/schedules/\(schedule.id)", TestToken.caller("bob")).status == 404)
      #expect(try await api.ask("DELETE", "/v1/schedules/\(schedule.id)", TestToken.caller("bob")).status == 404)
      #expect(try await api.ask("DELETE", "/v1/schedules/\(schedule.id)", ann).status == 204)
      #expect(try await api.ask("GET", "/v1/schedules/\(schedule.id)", ann).status == 404)
      for (json, field) in [
        (#"{"trigger":{"cron":"61 * * * *"},"request":{"room":"a"}}"#, "trigger.cron"),
        (#"{"trigger":{"cron":"* * * * *","zone":"Mars/Base"},"request":{"room":"a"}}"#, "zone"),
        (#"{"trigger":{},"request":{"room":"a"}}"#, "trigger"), (#"{"request":{"room":"a"}}"#, "trigger"),
        (#"{"trigger":{"at":"2030-01-01T00:00:00Z"},"request":{}}"#, "room"),
        (#"{"trigger":{"at":"2030-01-01T00:00:00Z"},"request":{"room":"a"},"lead_time":-1}"#, "lead_time"),
      ] {
        let answer = try await api.ask("POST", "/v1/schedules", ann, json: json)
        #expect(answer.status == 400 && answer.problem?.message.hasPrefix(field) == true, "\(json): \(answer.text)")
      }
      // A rule can't reach rooms that its maker can't.
      let narrow = TestToken.caller(rooms: "team-*")
      for (glob, status) in [("*", 401), ("team-*", 201), ("team-x*", 201), ("te*", 401), ("team-1", 201)] {
        let answer = try await api.ask(
          "POST", "/v1/schedules", narrow, json: #"{"trigger":{"room":"\#(glob)"},"request":{"room":"team-1"}}"#)
        #expect(answer.status == status, "\(glob): \(answer.text)")
      }
    }
  }

  @Test(arguments: DatabaseKind.allCases) func aScheduleThatIsDueMakesItsJob(kind: DatabaseKind) async throws {
    try await TestBackend.run(on: kind) { api in
      let ann = TestToken.caller()
      let soon = Timestamp.now + .seconds(5)
      let json = #"{"trigger":{"at":"\#(soon)"},"request":{"room":"a"},"lead_time":30}"#
      let schedule = try await api.ask("POST", "/v1/schedules", ann, json: json).value(Schedule.self)
      let page = try await api.ask("GET", "/v1/events?wait=30", ann).value(EventPage.self)
      #expect(page.events.first?.job.origin?.schedule == schedule.id)
      #expect(page.events.first?.job.owner == "ann")
    }
  }
}
