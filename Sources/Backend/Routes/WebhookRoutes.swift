import Hummingbird
import JobsAPI
import MediaCore
import WebClient

/// Trying a receiver of webhooks, before a job depends on it.
struct WebhookRoutes: RouteGroup {
  let client: GuardedWebClient

  func add(to routes: Routes) {
    // Whoever may have jobs tell a receiver may try it.
    routes.caller(.post, "/v1/webhooks/test", .jobsWrite) { call, _ in
      let test = try await call.decode(WebhookTest.self)
      if let problem = client.problem(with: test.url) { throw Refusal.invalid("url: \(problem)") }
      let target = WebhookTarget(url: test.url, form: test.form)
      let keys = WebhookMessage.Keys(call.core.configuration)
      if let problem = keys.problem(with: target) { throw Refusal.invalid(problem) }
      let name = "test_" + String(UInt64.random(in: .min ... .max), radix: 36)
      return .json(await answer(to: try WebhookMessage.test(id: name, for: target, keys: keys, at: .now), test.url))
    }
  }

  private func answer(to message: WebhookMessage, _ url: String) async -> WebhookTestAnswer {
    do throws(WebClientError) {
      let answer = try await client.post(url, headers: message.headers, body: message.body)
      return WebhookTestAnswer(
        isDelivered: (200..<300).contains(answer.status), status: answer.status, message: "HTTP \(answer.status)")
    } catch {
      return WebhookTestAnswer(isDelivered: false, message: PeerText.line(error.description, limit: 300))
    }
  }
}
