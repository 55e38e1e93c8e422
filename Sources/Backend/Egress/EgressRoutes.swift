import Hummingbird
import Jobs
import JobsAPI
import NIOCore
import Signaling
import SwiftProtobuf
import WebClient

/// LiveKit's Egress API over Twirp, `POST /twirp/livekit.Egress/<Method>` with JSON or protobuf, under a token of the
/// room service's API key with the grant roomRecord. It is answered from the job queue; what recbot does not do is
/// refused by name.
struct EgressRoutes: RouteGroup {
  private static let service = "/twirp/livekit.Egress/"
  /// How many jobs one list has; the rest follows by `page_token`.
  private static let pageSize = 1000

  let jobs: JobStore
  /// For what addresses of webhooks are allowed.
  let client: GuardedWebClient

  func add(to routes: Routes) {
    start("StartRoomCompositeEgress", Livekit_RoomCompositeEgressRequest.self, routes)
    start("StartParticipantEgress", Livekit_ParticipantEgressRequest.self, routes)
    start("StartTrackCompositeEgress", Livekit_TrackCompositeEgressRequest.self, routes)
    start("StartTrackEgress", Livekit_TrackEgressRequest.self, routes)
    method("ListEgress", Livekit_ListEgressRequest.self, routes) { request, _ in try await list(request) }
    method("StopEgress", Livekit_StopEgressRequest.self, routes) { request, caller in
      try await command(.stop, nil, request.egressID, "stopped", caller.core)
    }
    method("UpdateLayout", Livekit_UpdateLayoutRequest.self, routes) { request, caller in
      guard !request.layout.isEmpty else { throw TwirpProblem.invalid("request has missing or invalid field: layout") }
      return try await command(.layout, request.layout, request.egressID, "updated", caller.core)
    }
    for (name, text) in [
      (
        "StartEgress",
        "StartEgress (version 2 of the API) is not implemented: call StartRoomCompositeEgress, StartParticipantEgress, "
          + "StartTrackCompositeEgress or StartTrackEgress"
      ),
      ("StartWebEgress", "StartWebEgress is not implemented: recbot has no browser and records rooms only"),
      ("UpdateStream", "UpdateStream is not implemented: recbot writes files only"),
    ] {
      method(name, Livekit_StopEgressRequest.self, routes) { _, _ -> Livekit_EgressInfo in
        throw TwirpProblem.unimplemented(text)
      }
    }
  }

  /// Who asks, and where.
  private struct Caller: Sendable {
    var core: BackendCore
    /// Under this name the jobs are kept.
    var owner: String
  }

  private func start<Request: EgressRequest>(_ name: String, _: Request.Type, _ routes: Routes) {
    let client = client
    method(name, Request.self, routes) { request, caller in
      let rules = EgressRules(apiKey: caller.core.configuration.roomService.apiKey) { client.problem(with: $0) }
      let job = try await jobs.submit(try request.job(rules), owner: caller.owner)
      caller.core.changes.jobIsFree()
      return EgressInfo.make(job)
    }
  }

  // MARK: Methods

  private func list(_ request: Livekit_ListEgressRequest) async throws -> Livekit_ListEgressResponse {
    if !request.egressID.isEmpty {
      guard let id = EgressInfo.job(ofEgress: request.egressID) else { return .init() }
      let job: Job
      do { job = try await jobs.job(id) } catch StoreError.notFound { return .init() }
      let fits =
        (request.roomName.isEmpty || job.request.room == request.roomName) && !(request.active && job.state.isFinal)
      return .with { $0.items = fits ? [EgressInfo.make(job)] : [] }
    }
    let after = request.pageToken.token.isEmpty ? nil : request.pageToken.token
    let filter = JobFilter(room: request.roomName.isEmpty ? nil : request.roomName, isActive: request.active)
    let page = try await jobs.list(filter, after: after, limit: Self.pageSize)
    return .with {
      $0.items = page.map(EgressInfo.make)
      if page.count == Self.pageSize, let last = page.last { $0.nextPageToken.token = last.id }
    }
  }

  private func command(
    _ verb: JobCommand.Verb, _ argument: String?, _ egress: String, _ done: String, _ core: BackendCore
  ) async throws -> Livekit_EgressInfo {
    guard !egress.isEmpty else { throw TwirpProblem.invalid("request has missing or invalid field: egress_id") }
    guard let id = EgressInfo.job(ofEgress: egress) else { throw TwirpProblem.noEgress }
    func refuse(_ job: Job) -> TwirpProblem {
      TwirpProblem(.failedPrecondition, "egress with status \(EgressInfo.statusName(of: job)) cannot be \(done)")
    }
    let before = try await jobs.job(id)
    switch EgressInfo.status(of: before) {
    case .egressStarting, .egressActive: break
    default: throw refuse(before)
    }
    do {
      let job = try await jobs.command(verb, argument: argument, job: id)
      core.changes.changed(job)
      return EgressInfo.make(job)
    } catch StoreError.refused(.isOver) {
      throw refuse(try await jobs.job(id))
    }
  }

  // MARK: Twirp

  private func method<In: Message, Out: Message>(
    _ name: String, _: In.Type, _ routes: Routes,
    _ act: @escaping @Sendable (In, Caller) async throws -> Out
  ) {
    routes.add(.post, Self.service + name, access: .own) { call in
      guard let token = Self.token(call) else {
        // As LiveKit's servers say it: before Twirp, and as plain text.
        return .bytes(
          ByteBuffer(string: AccessTokenError().description), type: "text/plain; charset=utf-8", status: .unauthorized)
      }
      do {
        try call.enter()
        guard token.video?.roomRecord == true else { throw TwirpProblem.denied }
        let isJSON = try Self.isJSON(call)
        let request = try Self.read(In.self, Array(try await call.body().readableBytesView), isJSON: isJSON)
        let answer = try await act(request, Caller(core: call.core, owner: "livekit:" + token.apiKey))
        return try Self.write(answer, isJSON: isJSON)
      } catch {
        let problem = TwirpProblem(error)
        if problem.code == .internal || problem.code == .unavailable {
          call.core.logger.error("\(Self.service)\(name): \(error)")
        }
        return problem.response
      }
    }
  }

  private static func token(_ call: Call) -> AccessToken? {
    guard let header = call.header("Authorization"), header.hasPrefix("Bearer ") else { return nil }
    let service = call.core.configuration.roomService
    return try? AccessToken(verifying: String(header.dropFirst(7)), now: Timestamp.now.seconds) {
      $0 == service.apiKey ? service.apiSecret : nil
    }
  }

  private static func isJSON(_ call: Call) throws(TwirpProblem) -> Bool {
    switch call.contentType {
    case "application/json": return true
    case "application/protobuf": return false
    case let other: throw TwirpProblem(.badRoute, "unexpected Content-Type: '\((other ?? "").prefix(80))'")
    }
  }

  private static func read<In: Message>(_: In.Type, _ body: [UInt8], isJSON: Bool) throws(TwirpProblem) -> In {
    let bytes = isJSON && body.isEmpty ? Array("{}".utf8) : body
    let request = SignalCoding.decode(In.self, bytes, isText: isJSON, depth: EgressJSON.depth)
    guard let request else { throw TwirpProblem(.malformed, "the request could not be decoded") }
    return request
  }

  private static func write(_ message: some Message, isJSON: Bool) throws -> Response {
    let bytes: [UInt8] =
      isJSON ? try message.jsonUTF8Bytes(options: EgressJSON.encoding) : try message.serializedBytes()
    return .bytes(ByteBuffer(bytes: bytes), type: isJSON ? "application/json" : "application/protobuf")
  }
}
