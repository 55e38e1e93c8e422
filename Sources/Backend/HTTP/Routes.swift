import Hummingbird
import JobsAPI
import Logging
import Synchronization

/// Who may call a route.
enum Access: Hashable, Sendable {
  /// Anybody.
  case open
  /// A caller with this grant.
  case caller(Grant)
  /// A worker.
  case worker
  /// The handler looks at the credential itself, since it is one of another system's form.
  case own
}

/// A route of the API.
struct Route: Hashable, Sendable {
  /// `GET`, `POST`, `DELETE`.
  var method: String
  /// As in the OpenAPI description: `/v1/jobs/{id}`.
  var path: String
  /// Who may call it.
  var access: Access

  /// True when the path fits. Both are compared part by part.
  func matches(_ path: Substring) -> Bool {
    let (pattern, parts) = (self.path.split(separator: "/"), path.split(separator: "/"))
    return pattern.count == parts.count && zip(pattern, parts).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
  }
}

/// Some routes that belong together.
protocol RouteGroup: Sendable {
  /// Names the group's routes and their handlers.
  func add(to routes: Routes)
}

/// Takes the routes in: looks at the credential, limits bodies, counts, and turns errors into answers.
/// Used while the backend is made, by one task.
final class Routes {
  /// What was taken in.
  private(set) var list: [Route] = []
  let core: BackendCore
  let router = Router(context: CallContext.self, options: [.autoGenerateHeadEndpoints])

  init(core: BackendCore) { self.core = core }

  /// A route for anybody, or (with `access: .own`) one that looks at the credential itself.
  func add(
    _ method: HTTPRequest.Method, _ path: String, access: Access = .open, bodyLimit: Int? = nil,
    _ handler: @escaping @Sendable (Call) async throws -> Response
  ) {
    let route = Route(method: method.rawValue, path: path, access: access)
    list.append(route)
    let limit = bodyLimit ?? core.configuration.limits.body
    router.on(RouterPath(path), method: method) { [core] request, context in
      let started = ContinuousClock.now
      let call = Call(request: request, context: context, bodyLimit: limit, core: core)
      let response: Response
      do {
        response = try await handler(call)
      } catch {
        let refusal = Refusal(error)
        if refusal.status == .internalServerError || refusal.status == .serviceUnavailable {
          core.logger.error("\(method.rawValue) \(path): \(error)")
        }
        response = refusal.response
      }
      core.metrics.answered(route, status: response.status.code, after: .now - started)
      return response
    }
  }

  /// A route for callers with a grant.
  func caller(
    _ method: HTTPRequest.Method, _ path: String, _ grant: Grant, bodyLimit: Int? = nil,
    _ handler: @escaping @Sendable (Call, Caller) async throws -> Response
  ) {
    add(method, path, access: .caller(grant), bodyLimit: bodyLimit) { call in
      let caller = try await call.core.authenticator.caller(call.request.headers[.authorization])
      try call.enter()
      guard caller.may(grant) else { throw call.core.refusal(of: caller, lacking: "the grant \(grant.rawValue)") }
      return try await handler(call, caller)
    }
  }

  /// A route for workers.
  func worker(
    _ method: HTTPRequest.Method, _ path: String, bodyLimit: Int? = nil,
    _ handler: @escaping @Sendable (Call) async throws -> Response
  ) {
    add(method, path, access: .worker, bodyLimit: bodyLimit) { call in
      try call.core.authenticator.worker(call.request.headers[.authorization])
      try call.enter()
      return try await handler(call)
    }
  }

  /// Everything that was taken in, as Hummingbird wants it.
  func responder() -> some HTTPResponder<CallContext> {
    FallbackResponder(router: router.buildResponder(), routes: list, core: core)
  }
}

/// Answers what no route is there for in the API's own form.
private struct FallbackResponder: HTTPResponder {
  let router: RouterResponder<CallContext>
  let routes: [Route]
  let core: BackendCore

  func respond(to request: Request, context: CallContext) async throws -> Response {
    let response = try await router.respond(to: request, context: context)
    guard context.endpointPath == "NotFound" else { return response }
    let others = routes.filter { $0.matches(request.uri.path[...]) }.map(\.method)
    // Another code than for a job that is not there: who asks may have the wrong address.
    var refusal = Refusal(.notFound, "unknown_path", "there is no such path")
    if !others.isEmpty {
      refusal = Refusal(.methodNotAllowed, "method_not_allowed", "the path takes \(others.joined(separator: ", "))")
      refusal.headers[.allow] = others.joined(separator: ", ")
    }
    core.metrics.answered(
      Route(method: "", path: "none", access: .open), status: refusal.status.code, after: .zero)
    return request.method == .head ? refusal.response.createHeadResponse() : refusal.response
  }
}
