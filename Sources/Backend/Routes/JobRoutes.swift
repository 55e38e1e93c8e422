import Hummingbird
import Jobs
import JobsAPI
import MediaCore
import WebClient

/// Jobs: submitting, seeing, controlling.
struct JobRoutes: RouteGroup {
  let jobs: JobStore
  let deliveries: DeliveryStore
  let workers: WorkerStore
  /// Knows which addresses webhooks may go to.
  let client: GuardedWebClient

  func add(to routes: Routes) {
    routes.caller(.post, "/v1/jobs", .jobsWrite) { call, caller in
      var request = try await call.decode(JobRequest.self)
      // Only the Egress API knows what its own requests were.
      request.egress = nil
      try Self.check(request, of: caller, in: call.core, client)
      try await call.core.check(layout: request.layout, "layout", in: workers)
      let submission = try await jobs.submission(
        of: request, owner: caller.name, key: try call.idempotencyKey())
      call.core.changes.jobIsFree()
      return .json(submission.job, status: submission.isRepetition ? .ok : .created)
    }
    routes.caller(.get, "/v1/jobs", .jobsRead) { call, caller in
      let limit = try call.pageSize()
      let filter = JobFilter(
        owner: caller.visibleOwner, room: try call.query("room"), rooms: caller.rooms,
        isActive: try call.flag("active"))
      var page = try await jobs.list(filter, after: try call.query("after"), limit: limit + 1)
      let hasMore = page.count > limit
      if hasMore { page.removeLast() }
      return .json(JobPage(jobs: page, next: hasMore ? page.last?.id : nil))
    }
    routes.caller(.get, "/v1/jobs/{id}", .jobsRead) { call, caller in
      .json(try await detail(of: try await Self.job(of: call, caller, in: jobs)))
    }
    routes.caller(.post, "/v1/jobs/{id}/commands", .jobsWrite, bodyLimit: 131_072) { call, caller in
      let command = try await call.decode(CommandRequest.self)
      if let problem = command.problem { throw Refusal.invalid(problem) }
      if command.verb == .layout { try await call.core.check(layout: command.argument, "argument", in: workers) }
      let job = try await Self.job(of: call, caller, in: jobs)
      let (next, sequence) = try await jobs.order(
        command.verb, argument: command.argument, job: job.id, key: try call.idempotencyKey(), owner: caller.name)
      call.core.changes.changed(next)
      guard let sequence else { return .json(next) }
      return try await answer(to: sequence, of: next, call)
    }
  }

  /// How long the recorder's answer to a command is waited for, unless the caller says, in seconds.
  private static let patience: Int64 = 5

  /// The recorder's answer to a command: the job when it was carried out (200) or waits (202), and why it was refused.
  /// An end is never refused, and one that no recorder hears yet can't be.
  private func answer(to sequence: Int64, of job: Job, _ call: Call) async throws -> Response {
    func waits(_ job: Job) -> Bool { job.commands.contains { $0.sequence == sequence } }
    let wait = min(try call.number("wait", in: 0...3600, default: Self.patience), 10)
    var job = job
    let isEnd = job.commands.contains { $0.sequence == sequence && ($0.verb == .stop || $0.verb == .cancel) }
    if waits(job), !isEnd, job.state.isLeased, job.state != .waiting {
      let id = job.id
      job = try await call.hold(on: call.core.changes.answers, for: .seconds(wait)) {
        try await jobs.job(id)
      } until: {
        !waits($0)
      }
    }
    if let refusal = job.refusals?.last(where: { $0.sequence == sequence }) {
      throw Refusal(.conflict, "refused", "the recorder refused it: \(refusal.message)")
    }
    return .json(job, status: waits(job) ? .accepted : .ok)
  }

  /// The job that the path names. One of another owner isn't there.
  static func job(of call: Call, _ caller: Caller, in jobs: JobStore) async throws -> Job {
    let job = try await jobs.job(try call.parameter("id"))
    guard caller.maySee(owner: job.owner, room: job.request.room) else { throw Refusal.notFound("job") }
    return job
  }

  /// A job with what is not in itself.
  private func detail(of job: Job) async throws -> JobDetail {
    var detail = JobDetail(job: job, undelivered: try await deliveries.undelivered(of: job.id))
    guard job.state == .queued, job.notBefore <= .now else { return detail }
    let workers = try await workers.list(seenWithin: QueueMetrics.workerAge).map(\.status).filter { !$0.isDraining }
    let lacks = workers.map { $0.abilities?.lack(for: job) }
    if workers.isEmpty {
      detail.waitsFor = "a worker: none is there"
    } else if let lack = lacks.first ?? nil, !lacks.contains(nil) {
      detail.waitsFor = "a worker with \(lack): none is there"
    } else if zip(workers, lacks).allSatisfy({ $1 != nil || $0.running >= $0.capacity }) {
      detail.waitsFor = "a worker that is free"
    }
    return detail
  }

  /// Throws when the caller may not ask for this, or the backend can't have it done.
  static func check(_ request: JobRequest, of caller: Caller, in core: BackendCore, _ client: GuardedWebClient) throws {
    // One without a name is refused by the store, with what is wrong.
    if !request.room.isEmpty { try core.check(caller, mayUse: request.room) }
    // A token that is signed with the API secret goes to no other server.
    let services = [core.configuration.roomService.url, core.configuration.publicRoomURL].compactMap { $0 }
    guard request.url.map({ url in services.contains { RoomService.isSame($0, url) } }) ?? true else {
      throw Refusal.invalid("url: the backend serves \(services.joined(separator: " and ")) only")
    }
    for (index, path) in request.outputs.map(\.template).enumerated() {
      if let path, let problem = KeyTemplate.problem(with: path) {
        throw Refusal.invalid("outputs[\(index)].path: \(problem)")
      }
    }
    if let webhook = request.webhook {
      if let problem = client.problem(with: webhook.url) { throw Refusal.invalid("webhook.url: \(problem)") }
      if let problem = WebhookMessage.Keys(core.configuration).problem(with: webhook) {
        throw Refusal.invalid("webhook.\(problem)")
      }
    }
  }
}
