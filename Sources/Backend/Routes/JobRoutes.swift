import Delivery
import Hummingbird
import Jobs
import WebClient

/// Jobs: submitting, seeing, controlling.
struct JobRoutes: RouteGroup {
  /// Knows which addresses webhooks may go to.
  let client: WebClient

  func add(to routes: Routes) {
    routes.caller(.post, "/v1/jobs", .jobsWrite) { call, caller in
      var request = try await call.decode(JobRequest.self)
      // Only the Egress API knows what its own requests were.
      request.egress = nil
      try Self.check(request, of: caller, in: call.core, client)
      let submission = try await call.core.store.submission(
        of: request, owner: caller.name, key: try call.idempotencyKey())
      call.core.changed()
      return .json(submission.job, status: submission.isRepetition ? .ok : .created)
    }
    routes.caller(.get, "/v1/jobs", .jobsRead) { call, caller in
      let limit = try call.pageSize()
      let filter = JobStore.Filter(
        owner: caller.visibleOwner, room: try call.query("room"), rooms: caller.rooms,
        isActive: try call.flag("active"))
      var jobs = try await call.core.store.jobs(filter, after: try call.query("after"), limit: limit + 1)
      let hasMore = jobs.count > limit
      if hasMore { jobs.removeLast() }
      return .json(JobPage(jobs: jobs, next: hasMore ? jobs.last?.id : nil))
    }
    routes.caller(.get, "/v1/jobs/{id}", .jobsRead) { call, caller in
      .json(try await Self.job(of: call, caller))
    }
    routes.caller(.post, "/v1/jobs/{id}/commands", .jobsWrite, bodyLimit: 131_072) { call, caller in
      let command = try await call.decode(CommandRequest.self)
      let job = try await Self.job(of: call, caller)
      let next = try await call.core.store.command(
        command.verb, argument: command.argument, job: job.id, key: try call.idempotencyKey(), owner: caller.name)
      call.core.changed()
      return .json(next)
    }
  }

  /// The job that the path names. One of another owner isn't there.
  static func job(of call: Call, _ caller: Caller) async throws -> Job {
    let job = try await call.core.store.job(try call.parameter("id"))
    guard caller.maySee(owner: job.owner, room: job.request.room) else { throw Refusal.notFound("job") }
    return job
  }

  /// Throws when the caller may not ask for this, or the backend can't have it done.
  static func check(_ request: JobRequest, of caller: Caller, in core: BackendCore, _ client: WebClient) throws {
    // One without a name is refused by the store, with what is wrong.
    if !request.room.isEmpty { try core.check(caller, mayUse: request.room) }
    // A token that is signed with the API secret goes to no other server.
    let services = [core.configuration.roomService.url, core.configuration.publicRoomURL].compactMap { $0 }
    guard request.url.map({ url in services.contains { RoomService.isSame($0, url) } }) ?? true else {
      throw Refusal.invalid("url: the backend serves \(services.joined(separator: " and ")) only")
    }
    for (index, path) in request.outputs.map(\.path).enumerated() {
      if let path, let problem = KeyTemplate.problem(with: path) {
        throw Refusal.invalid("outputs[\(index)].path: \(problem)")
      }
    }
    if let webhook = request.webhook, let problem = client.problem(with: webhook.url) {
      throw Refusal.invalid("webhook.url: \(problem)")
    }
  }
}
