import Foundation
import Logging
import Signaling
import SwiftProtobuf
import Synchronization
import Testing
import WebClient

@testable import Backend
@testable import Jobs
import JobsAPI

/// Webhooks to receivers that are real servers.
@Suite struct WebhookTests {
  static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  static let (apiKey, apiSecret) = ("devkey", "a secret that nobody else knows..")

  /// The outbox's clock: it runs, for messages that find their host busy wait a moment, and can be put forward.
  final class Clock: Sendable {
    private let ahead = Mutex(Duration.zero)
    var now: Timestamp { Timestamp.now + ahead.withLock { $0 } }
    func advance(_ span: Duration) {
      ahead.withLock { $0 += span }
    }
  }

  /// A queue with a dispatcher on it, for the time of `body`.
  private func withDispatchers(
    _ count: Int = 1, webhooks: [WebhookTarget] = [], privateAddresses: PrivateAddresses = .allow,
    _ body: (JobQueue, Clock, Notifier) async throws -> Void
  ) async throws {
    let path = NSTemporaryDirectory() + "recbot-webhooks-\(UUID().uuidString).sqlite"
    let clock = Clock()
    let database = try SQLiteDatabase(path: path, clock: .given { clock.now })
    defer {
      database.close()
      for suffix in ["", "-journal"] { unlink(path + suffix) }
    }
    let stores = try await JobQueue(database: database, webhooks: webhooks, seed: .random(in: 0 ... .max))
    let notifier = Notifier()
    let dispatchers = (0..<count).map { _ in
      WebhookDispatcher(
        deliveries: stores.deliveries,
        keys: .init(standard: StandardWebhooks(secret: Self.secret), apiKey: Self.apiKey, apiSecret: Self.apiSecret),
        retries: WebhookRetryPolicy(), client: GuardedWebClient(privateAddresses: privateAddresses), notifier: notifier,
        metrics: BackendMetrics(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for dispatcher in dispatchers { group.addTask { try await dispatcher.run() } }
      try await body(stores, clock, notifier)
      group.cancelAll()
      while (try? await group.next()) != nil {}
    }
  }

  /// Carries a job through its whole life; gives its name.
  private func life(_ stores: JobQueue, _ request: JobRequest) async throws -> String {
    let id = try await stores.jobs.submit(request, owner: "app").id
    let job = try #require(try await stores.jobs.claim(worker: "w", count: 10).jobs.first { $0.id == id })
    _ = try await stores.jobs.heartbeat(job: id, fence: job.fence, report: JobReport(state: .running))
    let file = JobFile(location: "a/b.webm", size: 9, duration: 5_000_000, sha256: "00")
    _ = try await stores.jobs.complete(job: id, fence: job.fence, files: [file])
    return id
  }

  @Test func theSignatureIsThatOfTheSpecification() throws {
    let signer = try #require(StandardWebhooks(secret: Self.secret))
    let headers = signer.headers(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
    #expect(headers.map(\.value).last == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
    for bad in ["", "whsec_", "whsec_short", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!"] {
      #expect(StandardWebhooks(secret: bad) == nil, "\(bad)")
    }
  }

  @Test func attemptsGoOnForThreeDaysAndThenEnd() {
    let retries = WebhookRetryPolicy()
    var (age, attempt) = (Duration.zero, 1)
    while let wait = retries.wait(afterAttempt: attempt, age: age, asked: nil, chance: 0.5) {
      age += wait
      attempt += 1
    }
    #expect(attempt == 10 && age == .seconds(272_105), "75 h 35 min 5 s")
    #expect(retries.wait(afterAttempt: 1, age: .seconds(0), asked: 60, chance: 0) == .seconds(60))
    #expect(retries.wait(afterAttempt: 2, age: .seconds(0), asked: 1, chance: 1) == .seconds(330))
    #expect(retries.wait(afterAttempt: 2, age: .seconds(0), asked: .max, chance: 0) == .seconds(86_400))
    #expect(
      WebhookRetryPolicy(longest: .seconds(600)).wait(afterAttempt: 3, age: .seconds(0), asked: nil, chance: 1) == nil)
    for odd in [0, -1, 11, .max] {
      #expect(retries.wait(afterAttempt: odd, age: .seconds(0), asked: nil, chance: 0) == nil)
    }
  }

  @Test(.timeLimit(.minutes(1))) func aJobIsToldInOrderAndSigned() async throws {
    let receiver = try await Receiver()
    let target = WebhookTarget(url: receiver.url())
    try await withDispatchers { stores, _, notifier in
      let id = try await life(stores, JobRequest(room: "talk", metadata: ["case": "7"], webhook: target))
      notifier.notify()
      var kinds: [String] = []
      var ids: Set<String> = []
      for _ in 0..<4 {
        let post = try #require(await receiver.next())
        let body = try #require(try JSONSerialization.jsonObject(with: Data(post.body)) as? [String: Any])
        let job = try #require(body["data"] as? [String: Any])
        kinds.append(try #require(body["type"] as? String))
        #expect(job["id"] as? String == id && job["lease"] == nil)
        let (message, time) = (post.header("webhook-id"), post.header("webhook-timestamp"))
        ids.insert(message)
        let signer = try #require(StandardWebhooks(secret: Self.secret))
        let expected = signer.headers(id: message, time: Int64(time) ?? 0, body: post.body)
        #expect(post.header("webhook-signature") == expected.last?.value)
        #expect(abs((Int64(time) ?? 0) - Timestamp.now.seconds) < 30)
        #expect(post.header("content-type") == "application/json" && post.head.method == .POST)
      }
      #expect(kinds == ["job.created", "job.started", "job.updated", "job.completed"])
      #expect(ids.count == 4)
    }
    await receiver.stop()
  }

  @Test(.timeLimit(.minutes(1))) func liveKitsFormTellsTheEgress() async throws {
    let receiver = try await Receiver()
    try await withDispatchers(webhooks: [WebhookTarget(url: receiver.url(), form: .livekit)]) { stores, _, notifier in
      let id = try await life(stores, JobRequest(room: "talk"))
      notifier.notify()
      var events: [Livekit_WebhookEvent] = []
      for _ in 0..<3 {
        let post = try #require(await receiver.next())
        #expect(post.header("content-type") == "application/webhook+json")
        // Verified as what comes in from a room service is.
        events.append(
          try LiveKitWebhookRoutes.verified(
            post.body, authorization: post.header("authorization"),
            service: RoomService(url: "ws://x", apiKey: Self.apiKey, apiSecret: Self.apiSecret),
            now: Timestamp.now.seconds))
      }
      #expect(events.map(\.event) == ["egress_started", "egress_updated", "egress_ended"])
      #expect(events.map(\.egressInfo.status) == [.egressStarting, .egressActive, .egressComplete])
      #expect(events.allSatisfy { $0.egressInfo.egressID == EgressInfo.id(ofJob: id) })
    }
    await receiver.stop()
  }

  /// Each form by itself, so that one attempt is on its way at a time and the clock moves between two.
  @Test(.timeLimit(.minutes(1)), arguments: [WebhookTarget.Form.standard, .livekit])
  func theEndOfAFailedJobIsRepeatedUntilItIsTakenAndNamesItsParts(form: WebhookTarget.Form) async throws {
    // The end is refused twice.
    let ends = Mutex<[Receiver.Post]>([])
    let receiver = try await Receiver { post in
      let text = String(decoding: post.body, as: UTF8.self)
      guard text.contains("job.failed") || text.contains("egress_ended") else { return Receiver.Reply() }
      let count = ends.withLock { ends in
        ends.append(post)
        return ends.count
      }
      return Receiver.Reply(status: count <= 2 ? .internalServerError : .ok)
    }
    let target = WebhookTarget(url: receiver.url(), form: form)
    try await withDispatchers(webhooks: [target]) { stores, clock, notifier in
      _ = try await stores.jobs.submit(JobRequest(room: "talk"), owner: "app").id
      let job = try #require(try await stores.jobs.claim(worker: "w", count: 1).jobs.first)
      let part = JobPart(
        attempt: 1, worker: "w", location: "/data/parts/one.webm", startedAt: clock.now, duration: 7_000_000)
      _ = try await stores.jobs.heartbeat(job: job.id, fence: job.fence, report: JobReport(state: .running, part: part))
      let error = JobError(name: "roomFull", message: "there is no place")
      _ = try await stores.jobs.fail(job: job.id, fence: job.fence, error: error, mayRetry: false)
      // Said again, it is over and nothing more is told.
      await #expect(throws: StoreError.self) {
        _ = try await stores.jobs.fail(job: job.id, fence: job.fence, error: error, mayRetry: false)
      }
      // The clock moves on when an answer is written down. Until then a message is held: it is due 7 to 10 s from now.
      for attempt in 1...3 {
        notifier.notify()
        let state = attempt < 3 ? "'pending' AND d.due_at NOT BETWEEN ?2 AND ?3" : "'done' AND ?2 < ?3"
        let query = """
          SELECT 1 FROM deliveries d JOIN events e ON e.id = d.event
          WHERE e.kind = 'job.failed' AND d.attempts = ?1 AND d.state = \(state)
          """
        while true {
          let held = [SQLValue(clock.now + .seconds(6)), SQLValue(clock.now + .seconds(11))]
          let answer = try await stores.database.transaction { try $0.query(query, [.integer(Int64(attempt))] + held) }
          if !answer.isEmpty { break }
          try await Task.sleep(for: .milliseconds(5))
        }
        clock.advance(.seconds(24 * 3600))
      }
      notifier.notify()
    }
    // What was taken does not come again, and each time it was the same message.
    let posts = ends.withLock { $0 }
    try #require(posts.count == 3)
    let names: [String?] = posts.map { $0.header("webhook-id") }
    #expect(Set(names).count == 1)
    switch form {
    case .standard:
      let body = try #require(try JSONSerialization.jsonObject(with: Data(posts[2].body)) as? [String: Any])
      let told = try #require(body["data"] as? [String: Any])
      let parts = try #require(told["parts"] as? [[String: Any]])
      #expect(parts.map { $0["location"] as? String } == ["/data/parts/one.webm"])
      #expect(parts.map { $0["duration_seconds"] as? Double } == [7])
    case .livekit:
      let event = try Livekit_WebhookEvent(jsonUTF8Bytes: posts[2].body)
      #expect(event.egressInfo.status == .egressFailed && event.egressInfo.error == "roomFull: there is no place")
      let files = event.egressInfo.fileResults
      #expect(files.map(\.filename) == ["one.webm"] && files.map(\.duration) == [7_000_000_000])
      #expect(files.map(\.location) == ["/data/parts/one.webm"])
      #expect(event.egressInfo.file == files.first)
    }
    await receiver.stop()
  }

  @Test(.timeLimit(.minutes(1))) func whatIsNotTakenComesAgainUnderTheSameID() async throws {
    let count = Atomic<Int>(0)
    let receiver = try await Receiver { _ in
      // 302 leads to a path that must never be asked for.
      let statuses: [Receiver.Reply] = [
        .init(status: .internalServerError), .init(status: .found, headers: [("location", "/elsewhere")]),
        .init(status: .ok, body: [UInt8](repeating: 0, count: 1 << 20)),
      ]
      return statuses[min(count.wrappingAdd(1, ordering: .relaxed).oldValue, 2)]
    }
    let target = WebhookTarget(url: receiver.url())
    try await withDispatchers { stores, clock, notifier in
      let id = try await stores.jobs.submit(JobRequest(room: "talk", webhook: target), owner: "app").id
      _ = try await stores.jobs.command(.cancel, job: id)
      var ids: [String] = []
      for (detail, wait): (String?, Int64) in [(nil, 0), ("HTTP 500", 6), ("HTTP 302", 331)] {
        // The answer must be written down before the clock moves on.
        if let detail { try await written(detail, stores) }
        clock.advance(.seconds(wait))
        notifier.notify()
        ids.append(try #require(await receiver.next()).header("webhook-id"))
      }
      #expect(Set(ids).count == 1)
      // Only now comes what follows.
      let next = try #require(await receiver.next())
      #expect(
        next.header("webhook-id") != ids[0] && String(decoding: next.body, as: UTF8.self).contains("job.cancelled"))
    }
    #expect(receiver.all.allSatisfy { $0.head.uri == "/hook" } && receiver.all.count == 4)
    await receiver.stop()
  }

  /// Waits until it is written down what came of an attempt.
  private func written(_ detail: String, _ stores: JobQueue) async throws {
    while try await stores.database.transaction({ connection in
      try connection("SELECT 1 FROM deliveries WHERE detail = ?1", .text(detail)).isEmpty
    }) {
      await Task.yield()
    }
  }

  @Test(.timeLimit(.minutes(1))) func aReceiverThatIsGoneIsLeftAlone() async throws {
    let gone = try await Receiver { _ in .init(status: .gone) }
    let witness = try await Receiver()
    try await withDispatchers(webhooks: [WebhookTarget(url: witness.url())]) { stores, _, notifier in
      _ = try await life(stores, JobRequest(room: "talk", webhook: WebhookTarget(url: gone.url())))
      notifier.notify()
      for _ in 0..<4 { _ = await witness.next() }
      _ = await gone.next()
      let pending = { @Sendable () async throws -> Int64 in
        try await stores.database.transaction { connection in
          try connection("SELECT COUNT(*) FROM deliveries WHERE state = 'pending'").first?.integer(0) ?? 0
        }
      }
      while try await pending() > 0 { await Task.yield() }
    }
    #expect(gone.all.count == 1)
    await gone.stop()
    await witness.stop()
  }

  @Test(.timeLimit(.minutes(1))) func aReceiverThatNeverAnswersHoldsUpNobodyElse() async throws {
    let dead = try await Receiver { _ in .init(answers: false) }
    let quick = try await Receiver()
    try await withDispatchers(webhooks: [WebhookTarget(url: dead.url()), WebhookTarget(url: quick.url())]) {
      stores, _, notifier in
      for index in 0..<40 { _ = try await stores.jobs.submit(JobRequest(room: "r\(index)"), owner: "app") }
      notifier.notify()
      for _ in 0..<40 { #expect(await quick.next() != nil) }
      #expect(dead.all.count <= WebhooksInFlight.mostPerHost)
    }
    await dead.stop()
    await quick.stop()
  }

  @Test func aHostGetsTheNextMessageAsSoonAsItTookOne() {
    let inFlight = WebhooksInFlight()
    let now = Timestamp(seconds: 1_800_000_000)
    func delivery(_ number: Int64, _ url: String = "https://a.example/hook") -> WebhookDelivery {
      let job = JobMachine().submit(
        id: "job_\(number)", owner: "a", request: JobRequest(room: "r"), origin: nil, now: now)
      let event = JobEvent(id: "evt_\(number)", number: number, kind: .created, at: now, job: job)
      return WebhookDelivery(event: event, target: WebhookTarget(url: url), attempts: 1)
    }
    let batch = (0..<Int64(WebhooksInFlight.batch)).map { delivery($0) }
    let admissions = batch.map { inFlight.admit($0) }
    #expect(admissions.prefix(4).allSatisfy { $0 == .sent } && admissions.dropFirst(4).allSatisfy { $0 == .waits })
    #expect(inFlight.admit(delivery(100)) == .refused)
    #expect(inFlight.busy == [batch[0].target] && inFlight.free == WebhooksInFlight.most - 4)
    #expect(inFlight.admit(delivery(101, "https://b.example/hook")) == .sent, "others are not held up")
    var order: [Int64] = []
    for index in batch.indices {
      let (next, hasMore) = inFlight.finished(batch[index])
      if let next { order.append(next.event.number) }
      #expect(hasMore == (index < WebhooksInFlight.mostWaiting - 1))
    }
    #expect(order == Array(4..<Int64(WebhooksInFlight.batch)), "in the order in which they were due")
    #expect(inFlight.busy.isEmpty && inFlight.free == WebhooksInFlight.most - 1)
  }

  @Test(.timeLimit(.minutes(1))) func oneReceiverTakesManyMessagesQuickly() async throws {
    let receiver = try await Receiver()
    let count = 500
    let started = ContinuousClock.now
    var submitted = Duration.zero
    try await withDispatchers(webhooks: [WebhookTarget(url: receiver.url())]) { stores, _, notifier in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count {
          group.addTask { _ = try await stores.jobs.submit(JobRequest(room: "r\(index)"), owner: "app") }
        }
        try await group.waitForAll()
      }
      submitted = .now - started
      notifier.notify()
      for _ in 0..<count { #expect(await receiver.next() != nil) }
    }
    let taken = ContinuousClock.now - started - submitted
    print("webhooks: \(count) to one receiver in \(taken)")
    #expect(Set(receiver.all.map { $0.header("webhook-id") }).count == count && receiver.all.count == count)
    await receiver.stop()
  }

  @Test func aReceiverHearsOnlyWhatItWants() throws {
    let job = JobMachine().submit(
      id: "job_1", owner: "a", request: JobRequest(room: "r"), origin: nil, now: Timestamp(seconds: 1_800_000_000))
    let keys = WebhookMessage.Keys(
      standard: StandardWebhooks(secret: Self.secret), apiKey: Self.apiKey, apiSecret: Self.apiSecret)
    func told(_ target: WebhookTarget) throws -> [String] {
      try [JobEventKind.created, .failed].compactMap { kind in
        let event = JobEvent(id: "evt_1", number: 1, kind: kind, at: job.createdAt, job: job)
        return try WebhookMessage.make(event, for: target, keys: keys, now: 0).map { _ in kind.rawValue }
      }
    }
    let url = "https://app.example.com/"
    #expect(try told(WebhookTarget(url: url)) == ["job.created", "job.failed"])
    #expect(try told(WebhookTarget(url: url, includeEvents: [])) == ["job.created", "job.failed"])
    #expect(try told(WebhookTarget(url: url, includeEvents: ["job.failed"])) == ["job.failed"])
    #expect(try told(WebhookTarget(url: url, excludeEvents: ["job.failed"])) == ["job.created"])
    #expect(
      try told(WebhookTarget(url: url, includeEvents: ["job.failed"], excludeEvents: ["job.failed"])).isEmpty)
    // In LiveKit's form events have LiveKit's names.
    #expect(try told(WebhookTarget(url: url, form: .livekit, includeEvents: ["egress_ended"])) == ["job.failed"])
    #expect(try told(WebhookTarget(url: url, form: .livekit, excludeEvents: ["egress_ended"])) == ["job.created"])
  }

  @Test(.timeLimit(.minutes(1))) func severalDispatchersSendEachMessageOnce() async throws {
    let receiver = try await Receiver()
    try await withDispatchers(4, webhooks: [WebhookTarget(url: receiver.url())]) { stores, _, notifier in
      for index in 0..<50 { _ = try await stores.jobs.submit(JobRequest(room: "r\(index)"), owner: "app") }
      notifier.notify()
      for _ in 0..<50 { #expect(await receiver.next() != nil) }
    }
    #expect(Set(receiver.all.map { $0.header("webhook-id") }).count == 50 && receiver.all.count == 50)
    await receiver.stop()
  }

  @Test(.timeLimit(.minutes(1))) func privateAddressesAreNotAsked() async throws {
    let receiver = try await Receiver()
    let names = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"]
    let targets = names.flatMap { name in
      ["https", "http"].map { WebhookTarget(url: "\($0)://\(name):\(receiver.port)/hook") }
    }
    try await withDispatchers(webhooks: targets, privateAddresses: .refuse) { stores, _, notifier in
      _ = try await stores.jobs.submit(JobRequest(room: "talk"), owner: "app")
      notifier.notify()
      let untried = { @Sendable () async throws -> Int64 in
        try await stores.database.transaction { connection in
          try connection("SELECT COUNT(*) FROM deliveries WHERE detail IS NULL").first?.integer(0) ?? 0
        }
      }
      while try await untried() > 0 { await Task.yield() }
    }
    #expect(receiver.all.isEmpty)
    await receiver.stop()
  }
}
