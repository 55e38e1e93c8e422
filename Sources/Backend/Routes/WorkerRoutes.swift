import Hummingbird
import Jobs
import JobsAPI
import MediaCore

/// The workers' side: taking jobs, signs of life, giving back. And the list of workers, for callers.
struct WorkerRoutes: RouteGroup {
  let jobs: JobStore
  let workers: WorkerStore
  let recordings: RecordingStore
  /// A claim is held for less than a lease lasts: what a worker that died asked for is over before its jobs are given
  /// to others, and can't take them again.
  private static let longestClaim: Int64 = 10

  func add(to routes: Routes) {
    routes.worker(.post, "/v1/workers/claim") { call in .json(try await claim(call), for: .workers) }
    routes.worker(.get, "/v1/workers/jobs/{id}") { call in
      .json(try await jobs.job(try call.parameter("id")), for: .workers)
    }
    routes.worker(.post, "/v1/workers/jobs/{id}/beat", bodyLimit: 1 << 20) { call in
      .json(try await heartbeat(call), for: .workers)
    }
    routes.worker(.post, "/v1/workers/jobs/{id}/release", bodyLimit: 1 << 20) { call in
      let request = try await call.decode(HeartbeatRequest.self, isFromWorker: true)
      let job = try await jobs.release(
        job: try call.parameter("id"), fence: request.fence, report: request.report)
      return Self.over(job, call, HeartbeatAnswer(job: job))
    }
    routes.worker(.post, "/v1/workers/jobs/{id}/complete", bodyLimit: 1 << 20) { call in
      let request = try await call.decode(CompleteRequest.self, isFromWorker: true)
      let job = try await jobs.complete(
        job: try call.parameter("id"), fence: request.fence, files: request.files)
      return Self.over(job, call, job)
    }
    routes.worker(.post, "/v1/workers/jobs/{id}/fail", bodyLimit: 1 << 20) { call in
      let request = try await call.decode(FailRequest.self, isFromWorker: true)
      let job = try await jobs.fail(
        job: try call.parameter("id"), fence: request.fence, error: request.error, mayRetry: request.mayRetry)
      return Self.over(job, call, job)
    }
    routes.worker(.post, "/v1/workers/jobs/{id}/moved") { call in
      let request = try await call.decode(MovedRequest.self, isFromWorker: true)
      let job = try await recordings.moved(request, of: try call.parameter("id"))
      call.core.changes.events.notify()
      return .json(job, for: .workers)
    }
    routes.caller(.get, "/v1/workers", .workersRead) { call, _ in
      .json(["workers": try await workers.list(seenWithin: QueueMetrics.workerAge)])
    }
  }

  private func claim(_ call: Call) async throws -> ClaimAnswer {
    let request = try await call.decode(ClaimRequest.self, isFromWorker: true)
    guard (1...128).contains(request.worker.utf8.count),
      !request.worker.unicodeScalars.contains(where: { $0.value < 32 })
    else { throw Refusal.invalid("worker: 1 to 128 bytes, no control characters") }
    guard (0...100).contains(request.count) else { throw Refusal.invalid("count: 0 to 100") }
    guard (0...3600).contains(request.wait) else { throw Refusal.invalid("wait: 0 to 3600 seconds") }
    guard (request.status.dataFolder ?? "").utf8.count <= 64 else {
      throw Refusal.invalid("status.data_folder: at most 64 bytes")
    }
    guard (request.status.filesURL ?? "").utf8.count <= 512 else {
      throw Refusal.invalid("status.files_url: at most 512 bytes")
    }
    guard (request.status.abilities?.layouts ?? []).count <= 1000 else {
      throw Refusal.invalid("status.abilities.layouts: at most 1000")
    }
    guard (request.status.abilities?.keys ?? []).count <= 1000 else {
      throw Refusal.invalid("status.abilities.e2ee_keys: at most 1000")
    }
    guard (request.status.abilities?.processors ?? []).count <= 1000 else {
      throw Refusal.invalid("status.abilities.processors: at most 1000")
    }
    try await workers.seen(worker: request.worker, status: request.status)
    guard request.count > 0, !request.status.isDraining else { return ClaimAnswer(assignments: []) }
    let claimed = try await jobs(for: request, call)
    guard call.isConnected else {
      // It went while it was served: the jobs are free at once, and not when the leases end.
      for job in claimed { _ = try? await jobs.release(job: job.id, fence: job.fence, report: JobReport()) }
      if !claimed.isEmpty { call.core.changes.jobIsFree() }
      return ClaimAnswer(assignments: [])
    }
    let now = Timestamp.now
    if !claimed.isEmpty { call.core.changes.events.notify() }
    return ClaimAnswer(
      assignments: try claimed.map { job in
        call.core.metrics.waited(now - job.notBefore)
        return Assignment(job: job, ticket: try call.core.credentials.ticket(for: job, now: now))
      })
  }

  /// Looks for jobs, and again when it is this worker's turn, until there are some, the time is over, or nobody is there any more.
  private func jobs(for request: ClaimRequest, _ call: Call) async throws -> [Job] {
    let turns = call.core.changes.claims
    let end = ContinuousClock.now + .seconds(min(request.wait, Self.longestClaim))
    var round: ClaimTurns.Round?
    while true {
      let rounds = turns.rounds
      let found = try await look(for: request, in: round, call)
      let left = end - .now
      if !found.isEmpty || left <= .zero || turns.isClosed || !call.isConnected { return found }
      round = await turns.wait(since: rounds, atMost: left)
      // Nobody called it: its next question looks.
      if round == nil, ContinuousClock.now >= end { return [] }
    }
  }

  /// Looks once. Whatever comes of it, the next in the round looks when there may be something left.
  private func look(for request: ClaimRequest, in round: ClaimTurns.Round?, _ call: Call) async throws -> [Job] {
    var mayLeaveSome = true
    defer { if let round, mayLeaveSome { call.core.changes.claims.goOn(round) } }
    guard call.isConnected else { return [] }
    let claim = try await jobs.claim(
      worker: request.worker, count: request.count, abilities: request.status.abilities)
    mayLeaveSome = claim.mayLeaveSome
    return claim.jobs
  }

  /// A sign of life. With `?wait=SECONDS` in the query the answer is held until there is a command for the recording,
  /// or the room begins that it waits for, so that nobody waits for the next heartbeat.
  private func heartbeat(_ call: Call) async throws -> HeartbeatAnswer {
    let request = try await call.decode(HeartbeatRequest.self, isFromWorker: true)
    let id = try call.parameter("id")
    let end = ContinuousClock.now + .seconds(min(try call.number("wait", in: 0...3600, default: 0), 10))
    let core = call.core
    let job = try await core.changes.heartbeats.hold(job: id) { held in
      var notices = held.notifier.notices
      var job = try await jobs.heartbeat(job: id, fence: request.fence, report: request.report)
      held.wait(for: job.request.room)
      if request.report.confirmed > 0 { core.changes.answers.notify() }
      while job.commands.isEmpty, !core.credentials.hasBegun(job), !held.notifier.isClosed, call.isConnected {
        let left = end - .now
        guard left > .zero else { break }
        await held.notifier.wait(since: notices, atMost: left)
        // When nothing was heard the answer is as it was: the next sign of life finds what a lost hint was about.
        guard held.notifier.notices != notices else { break }
        notices = held.notifier.notices
        job = try await jobs.job(id)
        guard job.fence == request.fence, job.lease != nil else { throw StoreError.refused(.fenced) }
      }
      return job
    }
    return HeartbeatAnswer(job: job, ticket: try core.credentials.renewal(for: job, now: .now))
  }

  /// The worker has nothing to do with the job any more.
  private static func over(_ job: Job, _ call: Call, _ answer: some Encodable) -> Response {
    call.core.credentials.forget(job.id)
    call.core.changes.changed(job)
    return .json(answer, for: .workers)
  }
}
