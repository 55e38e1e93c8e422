import Jobs
import Signaling
import Synchronization

/// Makes room tokens. Any thread.
final class TicketOffice: Sendable {
  private let service: RoomService
  private let publicURL: String
  private let lifetime: TimeSpan
  /// When the newest ticket of a job ends. Lost with the process: then a fresh one is made.
  private let ends = Mutex<[String: Timestamp]>([:])

  init(service: RoomService, publicURL: String?, lifetime: TimeSpan) {
    self.service = service
    self.publicURL = publicURL ?? service.url
    self.lifetime = lifetime
  }

  /// A bot's way into its job's room: hidden, a recorder, may only receive, and only for a short time.
  func ticket(for job: Job, now: Timestamp) throws -> RoomTicket {
    let grant = VideoGrant(
      room: job.request.room, roomJoin: true, canPublish: false, canSubscribe: true, canPublishData: false,
      hidden: true, recorder: true)
    let token = AccessToken(
      apiKey: service.apiKey, identity: "recbot-\(job.id)", video: grant, now: now.seconds,
      lifetime: lifetime.microseconds / 1_000_000)
    let until = Timestamp(seconds: token.expires)
    let ticket = RoomTicket(url: service.url, token: try token.signed(secret: service.apiSecret), until: until)
    ends.withLock { ends in
      if ends.count >= 10_000 { ends = ends.filter { $0.value > now } }
      ends[job.id] = until
    }
    return ticket
  }

  /// A fresh ticket, when the one before ends before half its time, or is not known here.
  func renewal(for job: Job, now: Timestamp) throws -> RoomTicket? {
    let half = TimeSpan(microseconds: lifetime.microseconds / 2)
    if let end = ends.withLock({ $0[job.id] }), end - now >= half { return nil }
    return try ticket(for: job, now: now)
  }

  /// The job needs no ticket any more.
  func forget(_ job: String) { ends.withLock { _ = $0.removeValue(forKey: job) } }

  /// A participant's token.
  func token(
    identity: String, name: String?, metadata: String?, grant: VideoGrant, lifetime: Int64, now: Timestamp
  ) throws -> (text: String, url: String, until: Timestamp) {
    let token = AccessToken(
      apiKey: service.apiKey, identity: identity, video: grant, now: now.seconds, lifetime: lifetime, name: name,
      metadata: metadata)
    return (try token.signed(secret: service.apiSecret), publicURL, Timestamp(seconds: token.expires))
  }
}
