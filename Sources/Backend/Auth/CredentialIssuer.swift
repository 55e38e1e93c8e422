import JobsAPI
import Signaling
import Synchronization

/// Issues the credentials of the room service: the bots' tickets and participants' tokens. Any thread.
final class CredentialIssuer: Sendable {
  private let service: RoomService
  private let publicURL: String
  private let lifetime: Duration
  /// The newest ticket of a job. Lost with the process: then a fresh one is made.
  private struct Issued {
    var at: Timestamp
    var end: Timestamp
  }

  private struct State {
    var issued: [String: Issued] = [:]
    /// When rooms began, of the last minute.
    var begun: [String: Timestamp] = [:]
  }

  private let state = Mutex(State())
  /// The most entries of each kind that are kept without looking whether they are still good for something.
  private static let most = 10_000
  /// For how long it matters that a room has begun.
  private static let news = Duration.seconds(60)

  init(service: RoomService, publicURL: String?, lifetime: Duration) {
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
      lifetime: lifetime.components.seconds)
    let until = Timestamp(seconds: token.expires)
    let ticket = RoomTicket(url: service.url, token: try token.signed(secret: service.apiSecret), until: until)
    state.withLock { state in
      if state.issued.count >= Self.most { state.issued = state.issued.filter { $0.value.end > now } }
      state.issued[job.id] = Issued(at: now, end: until)
    }
    return ticket
  }

  /// A fresh ticket, when the one before ends before half its time, or is not known here; and when the job waits for a
  /// room that has begun since: the bot tries the room at once with it.
  func renewal(for job: Job, now: Timestamp) throws -> RoomTicket? {
    if let issued = state.withLock({ $0.issued[job.id] }), issued.end - now >= lifetime / 2, !hasBegun(job) {
      return nil
    }
    return try ticket(for: job, now: now)
  }

  /// The room service told that a room has begun.
  func began(_ room: String, at now: Timestamp) {
    state.withLock { state in
      if state.begun.count >= Self.most { state.begun = state.begun.filter { now - $0.value < Self.news } }
      if state.begun.count < Self.most { state.begun[room] = now }
    }
  }

  /// True when a job waits for a room that has begun since its newest ticket was made.
  func hasBegun(_ job: Job) -> Bool {
    guard job.state == .waiting else { return false }
    return state.withLock { state in
      guard let began = state.begun[job.request.room], let issued = state.issued[job.id] else { return false }
      return issued.at <= began
    }
  }

  /// The job needs no ticket any more.
  func forget(_ job: String) { state.withLock { _ = $0.issued.removeValue(forKey: job) } }

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
