import Foundation
import Jobs
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
  private struct Body: Encodable {
    var type: JobEventKind
    var timestamp: Timestamp
    var data: Job
  }

  private static func standard(
    _ event: JobEvent, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage? {
    guard target.key == nil else { throw Impossible(description: "there is no key of this name for Standard Webhooks") }
    guard let signer = keys.standard else {
      throw Impossible(description: "there is no key for Standard Webhooks (RECBOT_WEBHOOK_SECRET)")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var job = event.job
    guard target.wants(event.kind.rawValue) else { return nil }
    // What workers use among themselves is nobody else's.
    job.lease = nil
    let body = Array(try encoder.encode(Body(type: event.kind, timestamp: event.at, data: job)))
    let headers = signer.headers(id: event.id, time: now, body: body)
    return WebhookMessage(headers: [("content-type", "application/json")] + headers, body: body)
  }

  private static func liveKit(
    _ event: JobEvent, _ target: WebhookTarget, _ keys: Keys, _ now: Int64
  ) throws -> WebhookMessage? {
    guard target.key == nil || target.key == keys.apiKey else {
      throw Impossible(description: "the signing key is not the room service's API key")
    }
    guard let message = EgressInfo.webhook(of: event), target.wants(message.event) else { return nil }
    let body: [UInt8] = try message.jsonUTF8Bytes()
    let token = try AccessToken(vouchingFor: body, apiKey: keys.apiKey, now: now, lifetime: tokenLifetime)
      .signed(secret: keys.apiSecret)
    // Without "Bearer", as LiveKit's servers send it.
    return WebhookMessage(
      headers: [
        ("content-type", "application/webhook+json"), ("authorization", token), ("webhook-id", event.id),
      ], body: body)
  }
}
