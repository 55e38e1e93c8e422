import Jobs
import JobsAPI
import Logging
import WebClient

/// Tells receivers what the outbox has for them. Every backend runs one; what one has taken the others leave alone until
/// its hold ends. A message is sent at least once: when a backend dies after the receiver took it and before that was
/// written down, it is sent again, under the same id.
struct WebhookDispatcher: BackgroundWork {
  /// How often the outbox is looked at when nobody notifies.
  static let interval = Duration.milliseconds(500)
  /// How long a message that found its host busy waits, which is rare: the outbox is asked for none of such hosts.
  static let postponement = Duration.milliseconds(250)
  /// How long a message is kept from other backends, from the last time that this one said that it has it. So soon
  /// another one sends what a backend had that died.
  static let hold = Duration.seconds(10)
  /// How often it says so.
  static let renewal = Duration.seconds(3)

  let name = "webhooks"
  let deliveries: DeliveryStore
  let keys: WebhookMessage.Keys
  let retries: WebhookRetryPolicy
  let client: GuardedWebClient
  /// Notified when something happened to a job, and when a message has arrived.
  let notifier: Notifier
  /// Counts what came of the attempts.
  let metrics: BackendMetrics
  let logger: Logger

  func run() async throws {
    let inFlight = WebhooksInFlight()
    await withDiscardingTaskGroup { group in
      group.addTask { await renewUntilCancelled(inFlight) }
      while !Task.isCancelled {
        let notices = notifier.notices
        var count = 0
        do {
          for delivery in try await take(inFlight) {
            count += 1
            switch inFlight.admit(delivery) {
            case .sent: group.addTask { await deliverAll(from: delivery, inFlight) }
            case .waits: break
            case .refused: try await deliveries.finish(delivery, .postponed(Self.postponement))
            }
          }
        } catch {
          // What is on its way goes on.
          logger.error("webhooks: \(error)")
          try? await Task.sleep(for: .seconds(1))
        }
        if count == 0 { await notifier.wait(since: notices, atMost: Self.interval) }
      }
      group.cancelAll()
    }
  }

  private func take(_ inFlight: WebhooksInFlight) async throws -> [WebhookDelivery] {
    let free = inFlight.free
    guard free > 0 else { return [] }
    return try await deliveries.take(
      limit: min(free, WebhooksInFlight.batch), hold: Self.hold, excluding: inFlight.busy)
  }

  /// Goes on holding what is on its way or waits here.
  private func renewUntilCancelled(_ inFlight: WebhooksInFlight) async {
    while (try? await Task.sleep(for: Self.renewal)) != nil {
      do {
        inFlight.drop(try await deliveries.renew(inFlight.held, hold: Self.hold))
      } catch {
        logger.error("webhooks: \(error)")
      }
    }
  }

  /// Sends a message, and after it those of its host that wait. When the backend ends, they are given back.
  private func deliverAll(from first: WebhookDelivery, _ inFlight: WebhooksInFlight) async {
    var current = first
    while true {
      await deliver(current)
      let (next, hasMore) = inFlight.finished(current)
      // There is room for more of this host: the outbox is looked at while the last ones are on their way.
      if !hasMore { notifier.notify() }
      guard let next else { return }
      current = next
    }
  }

  /// Sends one message and writes down what came of it.
  private func deliver(_ delivery: WebhookDelivery) async {
    let (outcome, detail) = await send(delivery)
    metrics.sent(outcome)
    if outcome != .done {
      logger.log(
        level: outcome == .givenUp || outcome == .receiverGone ? .warning : .info, "a webhook was not delivered",
        metadata: [
          "event": "\(delivery.event.id)", "attempt": "\(delivery.attempts)", "reason": "\(detail)",
          "outcome": "\(outcome)",
        ])
    }
    do {
      try await deliveries.finish(delivery, outcome, detail: detail)
    } catch {
      // It is due again when its hold ends.
      logger.error("webhooks: \(error)")
    }
  }

  private func send(_ delivery: WebhookDelivery) async -> (outcome: WebhookOutcome, detail: String) {
    let now = Timestamp.now
    let message: WebhookMessage
    do {
      guard
        let made = try WebhookMessage.make(delivery.event, for: delivery.target, keys: keys, now: now.seconds)
      else { return (.done, "") }
      message = made
    } catch let error as WebhookMessage.Impossible {
      return (.givenUp, error.description)
    } catch {
      return (.givenUp, "the message could not be written")
    }
    var asked: Int64?
    let detail: String
    do throws(WebClientError) {
      let answer = try await client.post(delivery.target.url, headers: message.headers, body: message.body)
      if (200..<300).contains(answer.status) { return (.done, "") }
      if answer.status == 410 { return (.receiverGone, "HTTP 410: the receiver wants nothing more") }
      asked = answer.retryAfter
      detail = "HTTP \(answer.status)"
    } catch {
      // The backend ends: the next one goes on at once.
      if Task.isCancelled { return (.postponed(.seconds(0)), "the backend ends") }
      detail = error.description
    }
    guard
      let wait = retries.wait(
        afterAttempt: delivery.attempts, age: now - delivery.event.at, asked: asked, chance: .random(in: 0...1))
    else { return (.givenUp, detail) }
    return (.retry(after: wait), detail)
  }
}

extension WebhookDispatcher {
  /// The dispatcher of a backend.
  init(core: BackendCore, deliveries: DeliveryStore, client: GuardedWebClient) {
    let configuration = core.configuration
    self.init(
      deliveries: deliveries,
      keys: WebhookMessage.Keys(configuration),
      retries: WebhookRetryPolicy(longest: configuration.webhookGiveUpAfter), client: client,
      notifier: core.changes.webhooks,
      metrics: core.metrics, logger: core.logger)
  }
}
