import Foundation
import JobsAPI
import MediaCore
import Signaling
import SwiftProtobuf

/// What is told to a receiver about an event: the body and the headers, in one of the two forms.
struct WebhookMessage: Sendable {
  /// What signs messages.
  struct Keys: Sendable {
    /// For Standard Webhooks; nil: none is configured.
    var standard: StandardWebhooks?
    /// The room service's API key and secret, for LiveKit's form.
    var apiKey: String
    @Redacted var apiSecret: String
    /// The form of receivers that name none.
    var form = WebhookTarget.Form.standard

    /// What a backend signs with.
    init(_ configuration: BackendConfiguration) {
      standard = configuration.webhookSecret.flatMap(StandardWebhooks.init(secret:))
      apiKey = configuration.roomService.apiKey
      apiSecret = configuration.roomService.apiSecret
      form = configuration.webhookForm
    }

    /// Keys that are given one by one.
    init(standard: StandardWebhooks?, apiKey: String, apiSecret: String, form: WebhookTarget.Form = .standard) {
      self.standard = standard
      self.apiKey = apiKey
      self.apiSecret = apiSecret
      self.form = form
    }

    /// Why nothing can ever be signed for a receiver, in one line that begins with the field; nil when it can.
    func problem(with target: WebhookTarget) -> String? {
      switch target.form ?? form {
      case .standard:
        if target.key != nil { return "key: there is no key of this name for the form standard" }
        return standard == nil
          ? "form: the backend has no secret for the form standard (RECBOT_WEBHOOK_SECRET); livekit needs none" : nil
      case .livekit:
        return target.key == nil || target.key == apiKey ? nil : "key: is not the API key of the room service"
      }
    }
  }

  /// Why nothing can be sent; it is given up.
  struct Impossible: Error, Hashable, Sendable {
    var description: String
  }

  /// A token's lifetime in LiveKit's form, in seconds.
  private static let tokenLifetime: Int64 = 300

  var headers: [(name: String, value: String)]
  var body: [UInt8]

  /// Makes the message of an event for a receiver; nil when there is nothing to tell in its form. `now` is the time of
  /// the attempt, in seconds since 1970.
  static func make(_ event: JobEvent, for target: WebhookTarget, keys: Keys, now: Int64) throws -> WebhookMessage? {
    switch target.form ?? keys.form {
    case .standard: try standard(event, target, keys, now)
    case .livekit: try liveKit(event, target, keys, now)
    }
  }

  /// The body of Standard Webhooks: the event's type, its time, and the job.
  private struct Body<Data: Encodable>: Encodable {
    var type: String
    var timestamp: Timestamp
    var data: Data
  }

  private static func standard(
    _ event: JobEvent, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage? {
    guard target.wants(event.kind.rawValue) else { return nil }
    let body = Body(type: event.kind.rawValue, timestamp: event.at, data: event.job)
    return try standard(body, id: event.id, target, keys, now)
  }

  private static func standard(
    _ body: Body<some Encodable>, id: String, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage {
    if let problem = keys.problem(with: target) { throw Impossible(description: problem) }
    guard let signer = keys.standard else { throw Impossible(description: "there is no secret to sign with") }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.userInfo[Audience.key] = Audience.callers
    let bytes = Array(try encoder.encode(body))
    let headers = signer.headers(id: id, time: now, body: bytes)
    return WebhookMessage(headers: [("content-type", "application/json")] + headers, body: bytes)
  }

  /// A message that tells of nothing, to try a receiver: `webhook.test`, in LiveKit's form `webhook_test`.
  static func test(id: String, for target: WebhookTarget, keys: Keys, at: Timestamp) throws -> WebhookMessage {
    switch target.form ?? keys.form {
    case .standard:
      return try standard(
        Body(type: "webhook.test", timestamp: at, data: [String: String]()), id: id, target, keys, at.seconds)
    case .livekit:
      let message = Livekit_WebhookEvent.with {
        $0.event = "webhook_test"
        $0.id = id
        $0.createdAt = at.seconds
      }
      return try liveKit(message, id: id, target, keys, at.seconds)
    }
  }

  private static func liveKit(
    _ event: JobEvent, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage? {
    guard let message = EgressInfo.webhook(of: event), target.wants(message.event) else { return nil }
    return try liveKit(message, id: event.id, target, keys, now)
  }

  private static func liveKit(
    _ message: Livekit_WebhookEvent, id: String, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage {
    if let problem = keys.problem(with: target) { throw Impossible(description: problem) }
    let body: [UInt8] = try message.jsonUTF8Bytes()
    let token = try AccessToken(vouchingFor: body, apiKey: keys.apiKey, now: now, lifetime: tokenLifetime)
      .signed(secret: keys.apiSecret)
    // Without "Bearer", as LiveKit's servers send it.
    return WebhookMessage(
      headers: [
        ("content-type", "application/webhook+json"), ("authorization", token), ("webhook-id", id),
      ], body: body)
  }
}
