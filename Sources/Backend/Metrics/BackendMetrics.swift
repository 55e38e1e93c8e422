import CoreMetrics
import HTTPService
import Jobs
import MediaCore

/// Counts what the backend does. Any thread.
struct BackendMetrics: Sendable {
  private static let requests = "recbot_http_requests_total", requestTime = "recbot_http_request_seconds"
  private static let waits = "recbot_job_wait_seconds", attempts = "recbot_webhook_attempts_total"

  private let registry = MetricsRegistry()
  private let waits: Timer

  init() {
    registry.describe(Self.requests, .counter, "Requests that were answered.")
    registry.describe(Self.requestTime, .histogram, "From the head of a request to its answer.")
    registry.describe(Self.waits, .histogram, "From a job's time to a worker taking it.")
    registry.describe(Self.attempts, .counter, "Attempts to send webhooks, by what came of them.")
    waits = Timer(label: Self.waits, factory: registry)
    for result in ["delivered", "retried", "given_up"] { _ = attempts(result) }
  }

  /// A request was answered.
  func answered(_ route: Route, status: Int, after time: Duration) {
    let name = ("route", route.method.isEmpty ? route.path : "\(route.method) \(route.path)")
    Counter(label: Self.requests, dimensions: [name, ("status", "\(status)")], factory: registry).increment()
    Timer(label: Self.requestTime, dimensions: [name], factory: registry).recordNanoseconds(time.nanoseconds)
  }

  /// A job was given to a worker, so long after its time had come.
  func waited(_ time: Duration) { waits.recordNanoseconds(max(.zero, time).nanoseconds) }

  /// What came of an attempt to send a webhook. One that was put off was none.
  func sent(_ outcome: WebhookOutcome) {
    switch outcome {
    case .done: attempts("delivered").increment()
    case .retry: attempts("retried").increment()
    case .givenUp, .receiverGone: attempts("given_up").increment()
    case .postponed: break
    }
  }

  /// The counts as Prometheus' text.
  var text: String { registry.text }

  private func attempts(_ result: String) -> Counter {
    Counter(label: Self.attempts, dimensions: [("result", result)], factory: registry)
  }
}
