import Jobs
import JobsAPI
import Synchronization

/// Counts what the backend does, for Prometheus' text format 0.0.4. Any thread.
final class MetricsRegistry: Sendable {
  /// The upper ends of the histograms' buckets, in seconds.
  static let buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

  /// How often values fell into each bucket, their number and sum.
  struct Histogram: Sendable {
    private(set) var counts = [UInt64](repeating: 0, count: MetricsRegistry.buckets.count)
    private(set) var count: UInt64 = 0
    private(set) var sum = 0.0

    mutating func add(_ seconds: Double) {
      if let index = MetricsRegistry.buckets.firstIndex(where: { seconds <= $0 }) { counts[index] &+= 1 }
      count &+= 1
      sum += seconds
    }
  }

  private struct Answer: Hashable {
    var route: String
    var status: Int
  }

  private struct State {
    var answers: [Answer: UInt64] = [:]
    var times: [String: Histogram] = [:]
    var waits = Histogram()
    var webhooks: [String: UInt64] = [:]
  }

  private let state = Mutex(State())

  /// A request was answered.
  func answered(_ route: Route, status: Int, after time: Duration) {
    let name = route.method.isEmpty ? route.path : "\(route.method) \(route.path)"
    state.withLock { state in
      state.answers[Answer(route: name, status: status), default: 0] &+= 1
      state.times[name, default: Histogram()].add(time / .seconds(1))
    }
  }

  /// A job was given to a worker, so long after its time had come.
  func waited(_ seconds: Double) { state.withLock { $0.waits.add(max(0, seconds)) } }

  /// What came of an attempt to send a webhook. One that was put off was none.
  func sent(_ outcome: WebhookOutcome) {
    let result: String
    switch outcome {
    case .done: result = "delivered"
    case .retry: result = "retried"
    case .givenUp, .receiverGone: result = "given_up"
    case .postponed: return
    }
    state.withLock { $0.webhooks[result, default: 0] &+= 1 }
  }

  /// The counts as text.
  func text() -> String {
    let state = state.withLock { $0 }
    var text = MetricsText()
    text.family("recbot_http_requests_total", "counter", "Requests that were answered.")
    for (answer, count) in state.answers.sorted(by: { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }) {
      text.sample("recbot_http_requests_total", ["route": answer.route, "status": "\(answer.status)"], "\(count)")
    }
    text.family("recbot_http_request_seconds", "histogram", "From the head of a request to its answer.")
    for (route, histogram) in state.times.sorted(by: { $0.key < $1.key }) {
      text.histogram("recbot_http_request_seconds", ["route": route], histogram)
    }
    text.family("recbot_job_wait_seconds", "histogram", "From a job's time to a worker taking it.")
    text.histogram("recbot_job_wait_seconds", [:], state.waits)
    text.family("recbot_webhook_attempts_total", "counter", "Attempts to send webhooks, by what came of them.")
    for result in ["delivered", "retried", "given_up"] {
      text.sample("recbot_webhook_attempts_total", ["result": result], "\(state.webhooks[result] ?? 0)")
    }
    return text.text
  }
}
