import DatabaseKit
import Foundation
import Synchronization
import Testing

@testable import Jobs
@testable import JobsAPI

/// One suite for both databases: what holds on one holds on the other.
@Suite(.serialized) struct JobStoreTests {
  @Test(arguments: DatabaseKind.allCases) func aJobIsGivenOnlyToAWorkerThatCanCarryItOut(_ backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let stores = queue.stores
    var stored: [String] = []
    for number in 0..<150 {
      let outputs = [JobOutput(destination: .s3)]
      stored.append(try await stores.jobs.submit(JobRequest(room: "s\(number)", outputs: outputs), owner: "app").id)
      queue.clock.advance(.milliseconds(1))
    }
    let own = try await stores.jobs.submit(JobRequest(room: "own", layout: "mine-light"), owner: "app")
    let plain = try await stores.jobs.submit(JobRequest(room: "plain", layout: "grid"), owner: "app")
    let without = WorkerAbilities(hasStore: false, layouts: ["grid"])
    // However many stand before it that others must do.
    #expect(try await stores.jobs.claim(worker: "w", count: 5, abilities: without).jobs.map(\.id) == [plain.id])
    #expect(try await stores.jobs.claim(worker: "w", count: 5, abilities: without).jobs.isEmpty)
    let other = WorkerAbilities(hasStore: false, layouts: ["grid", "mine"])
    #expect(try await stores.jobs.claim(worker: "x", count: 5, abilities: other).jobs.map(\.id) == [own.id])
    let locked = try await stores.jobs.submit(JobRequest(room: "locked", key: "lesson-7"), owner: "app")
    for keys in [nil, [], ["lesson-8"]] as [[String]?] {
      #expect(
        try await stores.jobs.claim(worker: "k", count: 5, abilities: .init(hasStore: false, keys: keys)).jobs.isEmpty)
    }
    let opening = WorkerAbilities(hasStore: false, keys: ["lesson-7"])
    #expect(try await stores.jobs.claim(worker: "k", count: 5, abilities: opening).jobs.map(\.id) == [locked.id])
    let hidden = try await stores.jobs.submit(
      JobRequest(room: "hidden", processors: ["Ann=none", "bob=blur,silence"]), owner: "app")
    for words in [nil, [], ["blur"], ["none", "silence"]] as [[String]?] {
      let abilities = WorkerAbilities(hasStore: false, processors: words)
      #expect(try await stores.jobs.claim(worker: "p", count: 5, abilities: abilities).jobs.isEmpty, "\(words ?? [])")
    }
    let hiding = WorkerAbilities(hasStore: false, processors: ["mask", "silence", "blur"])
    #expect(try await stores.jobs.claim(worker: "p", count: 5, abilities: hiding).jobs.map(\.id) == [hidden.id])
    let able = WorkerAbilities(hasStore: true, layouts: ["grid"])
    #expect(
      try await stores.jobs.claim(worker: "v", count: 2, abilities: able).jobs.map(\.id) == Array(stored.prefix(2)))
  }

  static let request = JobRequest(room: "talk", metadata: ["case": "7"])

  @Test(arguments: DatabaseKind.allCases) func aJobGoesThroughItsLife(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let stores = queue.stores
    let job = try await stores.jobs.submit(Self.request, owner: "app")
    #expect(try await stores.jobs.job(job.id) == job)
    #expect(try await stores.jobs.claim(worker: "w", count: 5).jobs.map(\.id) == [job.id])
    #expect(try await stores.jobs.claim(worker: "v", count: 5).jobs.isEmpty)
    let part = JobPart(attempt: 1, worker: "w", location: "p", startedAt: queue.clock.now, duration: 1)
    _ = try await stores.jobs.heartbeat(job: job.id, fence: 1, report: JobReport(state: .running, part: part))
    _ = try await stores.jobs.command(.layout, argument: "speaker", job: job.id)
    let beaten = try await stores.jobs.heartbeat(job: job.id, fence: 1, report: JobReport())
    #expect(beaten.commands == [JobCommand(sequence: 1, verb: .layout, argument: "speaker")])
    let file = JobFile(location: "f", size: 2, duration: 3, sha256: "00")
    let done = try await stores.jobs.complete(job: job.id, fence: 1, files: [file])
    #expect(done.state == .completed && done.files == [file] && done.parts == [part])
    #expect(
      try await stores.jobs.complete(job: job.id, fence: 1, files: [file]) == done, "a repetition is answered alike")
    #expect(try await stores.events.list(of: job.id).map(\.kind) == [.created, .started, .updated, .completed])
  }

  @Test(arguments: DatabaseKind.allCases) func anIdempotencyKeyMakesOneJob(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let first = try await queue.jobs.submit(Self.request, owner: "app", key: "k")
    #expect(try await queue.jobs.submit(Self.request, owner: "app", key: "k") == first)
    #expect(try await queue.jobs.submit(Self.request, owner: "other", key: "k").id != first.id)
    await #expect(throws: StoreError.keyReused) {
      try await queue.jobs.submit(JobRequest(room: "else"), owner: "app", key: "k")
    }
    #expect(try await queue.jobs.list().count == 2)
  }

  @Test(arguments: DatabaseKind.allCases) func aRequestThatCannotBeCarriedOutIsRefusedWhole(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    await #expect(throws: StoreError.invalid(["room: 1 to 256 bytes, no control characters"])) {
      try await queue.jobs.submit(JobRequest(room: ""), owner: "app", key: "k")
    }
    await #expect(throws: StoreError.self) {
      try await queue.jobs.submit(JobRequest(room: "a\0b"), owner: "app")
    }
    #expect(try await queue.jobs.list().isEmpty)
    // The key is free again.
    _ = try await queue.jobs.submit(Self.request, owner: "app", key: "k")
  }

  @Test(arguments: DatabaseKind.allCases) func textsComeBackAsTheyWere(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let room = "مرحبا '; DROP TABLE jobs; -- ?1 $1 \\ \" 🎬"
    let job = try await queue.jobs.submit(JobRequest(room: room, metadata: ["?": "\u{0}\n"]), owner: "ow'ner?2")
    #expect(try await queue.jobs.job(job.id) == job)
    #expect(try await queue.jobs.list(.init(owner: "ow'ner?2", room: room)) == [job])
  }

  @Test(arguments: DatabaseKind.allCases) func pagesShowEachJobOnceNewestFirst(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    var made: [String] = []
    for index in 0..<25 {
      made.append(try await queue.jobs.submit(JobRequest(room: "r\(index % 2)"), owner: "app").id)
      queue.clock.advance(.milliseconds(1))
    }
    var seen: [String] = []
    while true {
      let page = try await queue.jobs.list(after: seen.last, limit: 10)
      if page.isEmpty { break }
      seen += page.map(\.id)
    }
    #expect(seen == made.reversed())
    #expect(try await queue.jobs.list(.init(room: "r1")).count == 12)
    _ = try await queue.jobs.command(.cancel, job: made[0])
    #expect(try await queue.jobs.list(.init(isActive: true), limit: 100).count == 24)
  }

  @Test(arguments: DatabaseKind.allCases) func theLongestWaitingJobIsTakenFirstAndLaterOnesWait(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let later = try await queue.jobs.submit(
      JobRequest(room: "b", startAt: queue.clock.now + .seconds(60)), owner: "app")
    let now = try await queue.jobs.submit(JobRequest(room: "a"), owner: "app")
    #expect(try await queue.jobs.claim(worker: "w", count: 9).jobs.map(\.id) == [now.id])
    queue.clock.advance(.seconds(60))
    #expect(try await queue.jobs.claim(worker: "w", count: 9).jobs.map(\.id) == [later.id])
  }

  /// Whoever waits is told of what is new, and the next one only when there may be something for it.
  @Test(arguments: DatabaseKind.allCases) func onlyWhatIsNewlyFreeIsNewsAndAClaimSaysWhetherThereIsMore(
    backend: DatabaseKind
  ) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let jobs = queue.jobs
    _ = try await jobs.submit(JobRequest(room: "later", startAt: queue.clock.now + .seconds(60)), owner: "app")
    #expect(try await !jobs.hasAvailableJob(since: .seconds(2)))
    _ = try await jobs.submit(JobRequest(room: "locked", key: "k"), owner: "app")
    #expect(try await jobs.hasAvailableJob(since: .seconds(2)))
    queue.clock.advance(.seconds(2))
    #expect(try await !jobs.hasAvailableJob(since: .seconds(2)))
    queue.clock.advance(.seconds(58))
    #expect(try await jobs.hasAvailableJob(since: .seconds(2)))
    // One is taken, and one is left for somebody who has its key.
    let without = try await jobs.claim(worker: "v", count: 5, abilities: .init(hasStore: false, keys: []))
    #expect(without.jobs.map(\.request.room) == ["later"] && without.mayLeaveSome)
    let claim = try await jobs.claim(worker: "w", count: 1)
    #expect(claim.jobs.map(\.request.room) == ["locked"] && claim.mayLeaveSome)
    #expect(try await jobs.claim(worker: "w", count: 1) == JobClaim())
    for room in ["a", "b"] { _ = try await jobs.submit(JobRequest(room: room), owner: "app") }
    #expect(try await !jobs.claim(worker: "w", count: 3).mayLeaveSome)
  }

  @Test(arguments: DatabaseKind.allCases) func aDeadWorkerIsReplacedAndAZombieChangesNothing(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let id = try await queue.jobs.submit(Self.request, owner: "app").id
    _ = try await queue.jobs.claim(worker: "dead", count: 1)
    queue.clock.advance(.seconds(14))
    #expect(try await queue.jobs.expire().isEmpty)
    queue.clock.advance(.seconds(1))
    #expect(try await queue.jobs.expire() == [id])
    let second = try #require(try await queue.jobs.claim(worker: "b", count: 1).jobs.first)
    #expect(second.fence == 2)
    for attempt in [1, 0, 3, Int64.max] {
      await #expect(throws: StoreError.refused(.fenced)) {
        try await queue.jobs.heartbeat(job: id, fence: attempt, report: JobReport(state: .uploading))
      }
      await #expect(throws: StoreError.refused(.fenced)) {
        try await queue.jobs.complete(job: id, fence: attempt, files: [])
      }
    }
    #expect(try await queue.jobs.job(id) == second)
  }

  @Test(arguments: DatabaseKind.allCases) func deadlinesEndJobsByThemselves(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let job = try await queue.jobs.submit(
      JobRequest(room: "a", deadline: queue.clock.now + .seconds(30)), owner: "app")
    queue.clock.advance(.seconds(31))
    #expect(try await queue.jobs.claim(worker: "w", count: 1).jobs.isEmpty)
    try await queue.jobs.expire()
    #expect(try await queue.jobs.job(job.id).error?.name == "deadlinePassed")
  }

  @Test(arguments: DatabaseKind.allCases) func deliveriesGoInOrderAndOnePerReceiverAtATime(backend: DatabaseKind)
    async throws
  {
    let global = WebhookTarget(url: "https://all.example.com/")
    guard let queue = try await TestQueue(backend, webhooks: [global]) else { return }
    defer { queue.close() }
    var request = Self.request
    request.webhook = WebhookTarget(url: "https://one.example.com/")
    let id = try await queue.jobs.submit(request, owner: "app").id
    _ = try await queue.jobs.claim(worker: "w", count: 1)
    var first = try await queue.deliveries.take()
    #expect(first.map(\.event.kind) == [.created, .created])
    #expect(Set(first.map(\.target.url)) == ["https://all.example.com/", "https://one.example.com/"])
    #expect(try await queue.deliveries.take().isEmpty, "what follows waits")
    try await queue.deliveries.finish(first.removeFirst(), .done)
    let second = try await queue.deliveries.take()
    #expect(second.map(\.event.kind) == [.started])
    try await queue.deliveries.finish(first[0], .retry(after: .seconds(5)), detail: "HTTP 500")
    #expect(try await queue.deliveries.take().isEmpty)
    queue.clock.advance(.seconds(5))
    let again = try await queue.deliveries.take()
    #expect(again.map(\.event.id) == [first[0].event.id] && again[0].attempts == 2)
    // A backend that dies with a delivery does not lose it.
    queue.clock.advance(.seconds(60))
    #expect(try await Set(queue.deliveries.take().map(\.event.kind)) == [.created, .started])
    _ = id
  }

  @Test(arguments: DatabaseKind.allCases) func theDatabaseOfANewerProgramIsRefused(backend: DatabaseKind) async throws {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    try await queue.database.transaction { _ = try $0("INSERT INTO migrations (number, at) VALUES (99, 0)") }
    await #expect(throws: SQLError.self) { try await JobQueue(database: queue.database, seed: 1) }
  }

  @Test(arguments: DatabaseKind.allCases) func oldJobsAreForgottenWhenEverythingIsTold(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    let silent = try await queue.jobs.submit(Self.request, owner: "app", key: "k").id
    var request = Self.request
    request.webhook = WebhookTarget(url: "https://one.example.com/")
    let told = try await queue.jobs.submit(request, owner: "app").id
    for id in [silent, told] { _ = try await queue.jobs.command(.cancel, job: id) }
    queue.clock.advance(.seconds(1000))
    try await queue.stores.prune(keysOlderThan: .seconds(10), jobsOlderThan: .seconds(10))
    await #expect(throws: StoreError.notFound) { try await queue.jobs.job(silent) }
    _ = try await queue.jobs.job(told)
    #expect(try await queue.jobs.submit(Self.request, owner: "app", key: "k").id != silent)
  }

  /// PostgreSQL gives an event its number before the transaction ends: one that ends late must not be passed over.
  @Test(.timeLimit(.minutes(1))) func anEventThatIsKeptLateIsNotMissed() async throws {
    guard let queue = try await TestQueue(.postgres) else { return }
    defer { queue.close() }
    let other = try await queue.another(seed: 2)
    defer { other.database.close() }
    let gate = DispatchSemaphore(value: 0)
    let (inserted, isInserted) = AsyncStream.makeStream(of: Void.self)
    let first = Task {
      try await other.database.transaction { connection in
        let job = try other.jobs.submit(Self.request, owner: "a", origin: nil, at: connection.now(), in: connection)
        isInserted.yield()
        gate.wait()
        return job.id
      }
    }
    for await _ in inserted { break }
    let second = try await queue.jobs.submit(Self.request, owner: "b").id
    let stores = queue.stores
    let reading = Task { try await stores.events.list() }
    var isWaiting = false
    let deadline = ContinuousClock.now + .seconds(10)
    while !isWaiting, ContinuousClock.now < deadline {
      isWaiting = try await stores.database.transaction { connection in
        try !connection("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'events'::regclass").isEmpty
      }
    }
    #expect(isWaiting)
    gate.signal()
    let ids = [try await first.value, second]
    #expect(try await reading.value.map(\.job.id) == ids)
    // A number that was taken back leaves a gap for ever, and holds up nobody.
    struct Undone: Error {}
    await #expect(throws: Undone.self) {
      try await other.database.transaction { connection in
        _ = try other.jobs.submit(Self.request, owner: "a", origin: nil, at: connection.now(), in: connection)
        throw Undone()
      }
    }
    let third = try await queue.jobs.submit(Self.request, owner: "b").id
    #expect(try await queue.events.list(after: 2).map(\.job.id) == [third])
  }

  @Test(arguments: DatabaseKind.allCases) func whatAReceiverSaysTooLateCountsOnlyWhenItIsGood(backend: DatabaseKind)
    async throws
  {
    guard let queue = try await TestQueue(backend) else { return }
    defer { queue.close() }
    var request = Self.request
    request.webhook = WebhookTarget(url: "https://one.example.com/")
    let id = try await queue.jobs.submit(request, owner: "app").id
    _ = try await queue.jobs.command(.cancel, job: id)
    let slow = try #require(try await queue.deliveries.take().first)
    queue.clock.advance(.seconds(60))
    let again = try #require(try await queue.deliveries.take().first)
    #expect(again.attempts == 2)
    // The first backend had given it up for dead.
    try await queue.deliveries.finish(slow, .givenUp)
    try await queue.deliveries.finish(slow, .retry(after: .seconds(0)))
    #expect(try await queue.deliveries.take().isEmpty, "the second backend has it")
    try await queue.deliveries.finish(slow, .done)
    #expect(try await queue.deliveries.take().map(\.event.kind) == [.cancelled])
    try await queue.deliveries.finish(again, .retry(after: .seconds(0)))
    #expect(try await queue.deliveries.take().isEmpty, "what is done stays done")
  }

  @Test(arguments: DatabaseKind.allCases) func receiversThatAreBusyOrGoneAreLeftOut(backend: DatabaseKind) async throws
  {
    let (slow, quick) = (WebhookTarget(url: "https://slow.example.com/"), WebhookTarget(url: "https://q.example.com/"))
    guard let queue = try await TestQueue(backend, webhooks: [slow, quick]) else { return }
    defer { queue.close() }
    let id = try await queue.jobs.submit(Self.request, owner: "app").id
    _ = try await queue.jobs.command(.cancel, job: id)
    let first = try await queue.deliveries.take(excluding: [slow])
    #expect(first.map(\.target) == [quick])
    try await queue.deliveries.finish(first[0], .receiverGone)
    #expect(try await queue.deliveries.take(excluding: [slow]).isEmpty, "nothing more of this job for that one")
    let other = try #require(try await queue.deliveries.take().first)
    #expect(other.target == slow && other.attempts == 1)
    try await queue.deliveries.finish(other, .postponed(.seconds(0)))
    #expect(try await queue.deliveries.take().map(\.attempts) == [1], "it was not tried")
  }
}
