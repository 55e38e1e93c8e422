import HTTPGuard
import HTTPService
import Hummingbird
import Jobs
import JobsAPI
import NIOCore

/// For supervisors, balancers and Prometheus: does the process live, can it work, how does it stand. And the API's own
/// description.
struct HealthRoutes: RouteGroup {
  let queue: JobQueue
  private let readiness: ReadinessCheck

  init(queue: JobQueue) {
    self.queue = queue
    readiness = ReadinessCheck { await queue.isReady() }
  }

  func add(to routes: Routes) {
    routes.add(.get, "/healthz") { _ in .json(["status": "ok"]) }
    routes.add(.get, "/readyz") { _ in
      guard await readiness.isReady() else {
        throw Refusal(.serviceUnavailable, "unavailable", "the database does not answer")
      }
      return .json(["status": "ok"])
    }
    // Prometheus has a credential of its own, where one is set.
    routes.add(.get, "/metrics", access: routes.core.configuration.metricsSecret == nil ? .open : .own) { call in
      try call.core.authenticator.metrics(call.request.headers[.authorization])
      try call.enter()
      let text =
        try await QueueMetrics.text(of: queue) + call.core.metrics.text + Self.connections(call.core.door)
      return .bytes(ByteBuffer(string: text), type: "text/plain; version=0.0.4; charset=utf-8")
    }
    routes.add(.get, "/openapi.yaml") { _ in
      .bytes(ByteBuffer(bytes: PackageResources.openapi_yaml), type: "application/yaml")
    }
  }

  private static func connections(_ door: ConnectionDoor) -> String {
    let counts = door.counts
    var text = MetricsText()
    text.family("recbot_connections", .gauge, "Connections that have shown a credential, or not.")
    text.sample("recbot_connections", ["state": "waiting"], "\(counts.waiting)")
    text.sample("recbot_connections", ["state": "entered"], "\(counts.entered)")
    text.single(
      "recbot_connections_refused_total", .counter, "Connections closed before a credential.", "\(counts.refused)")
    return text.text
  }
}
