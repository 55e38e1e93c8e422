import Digests
import Foundation
import Hummingbird
import Jobs
import JobsAPI
import NIOCore
import Signaling

/// What the room service tells: `POST /webhooks/livekit`. A room that begins fires the rules that match its name, and
/// jobs that wait for it hear of it.
struct LiveKitWebhookRoutes: RouteGroup {
  let schedules: ScheduleStore
  /// Events of large rooms can be long.
  static let longestBody = 1 << 20

  func add(to routes: Routes) {
    routes.add(.post, "/webhooks/livekit", access: .own, bodyLimit: Self.longestBody) { call in
      let body = Array(try await call.body().readableBytesView)
      let event = try Self.verified(
        body, authorization: call.header("Authorization"), service: call.core.configuration.roomService,
        now: Timestamp.now.seconds)
      try call.enter()
      if event.event == "room_started", !event.room.name.isEmpty, !event.room.sid.isEmpty {
        let jobs = try await schedules.roomStarted(event.room.name, sid: event.room.sid)
        // Who waits for the room hears of it at once.
        call.core.credentials.began(event.room.name, at: .now)
        call.core.changes.heartbeats.notify(room: event.room.name)
        if !jobs.isEmpty { call.core.changes.jobIsFree() }
      }
      return .json(["status": "ok"])
    }
  }

  /// The event of a message that the room service has signed: a JWT under the API key's secret whose claim `sha256`
  /// vouches for the body. Any defect is the same refusal.
  static func verified(
    _ body: [UInt8], authorization: String?, service: RoomService, now: Int64
  ) throws(Refusal) -> Livekit_WebhookEvent {
    guard let authorization, !authorization.isEmpty else { throw .unauthorized }
    // LiveKit's servers send the bare token; others put the scheme before it.
    let token = authorization.hasPrefix("Bearer ") ? String(authorization.dropFirst(7)) : authorization
    let claims: AccessToken
    do throws(AccessTokenError) {
      claims = try AccessToken(verifying: token, now: now) { $0 == service.apiKey ? service.apiSecret : nil }
    } catch {
      throw .unauthorized
    }
    guard let text = claims.sha256, let claimed = Data(base64Encoded: text),
      HMAC.isEqual(Array(claimed), Digest.sha256(body))
    else { throw .unauthorized }
    guard let event = SignalCoding.decode(Livekit_WebhookEvent.self, body, isText: true, depth: 16) else {
      throw .invalid("body: is not an event of LiveKit")
    }
    return event
  }
}
