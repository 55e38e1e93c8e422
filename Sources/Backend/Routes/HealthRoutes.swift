import Hummingbird
import Jobs
import NIOCore

/// For supervisors, balancers and Prometheus: does the process live, can it work, how does it stand. And the API's own
/// description.
struct HealthRoutes: RouteGroup {
  func add(to routes: Routes) {
    routes.add(.get, "/healthz") { _ in .json(["status": "ok"]) }
    routes.add(.get, "/readyz") { call in
      guard await Self.isReady(call.core.store) else {
        throw Refusal(.serviceUnavailable, "unavailable", "the database does not answer")
      }
      return .json(["status": "ok"])
    }
    routes.add(.get, "/metrics") { call in
      let text = try await QueueMetrics.text(of: call.core.store) + call.core.metrics.text()
      return .bytes(ByteBuffer(string: text), type: "text/plain; version=0.0.4; charset=utf-8")
    }
    routes.add(.get, "/openapi.yaml") { _ in
      .bytes(ByteBuffer(bytes: PackageResources.openapi_yaml), type: "application/yaml")
    }
  }

  /// False as well when the database takes longer than two seconds.
  private static func isReady(_ store: JobStore) async -> Bool {
    let answer = OnceValue<Bool>()
    Task { answer.set(.success(await store.isReady())) }
    let timer = Task {
      try await Task.sleep(for: .seconds(2))
      answer.set(.success(false))
    }
    defer { timer.cancel() }
    return (try? await answer.value) ?? false
  }
}
