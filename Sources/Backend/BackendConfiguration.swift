public import HTTPService
import Jobs
import JobsAPI
import MediaCore
import WebClient

/// The room service whose API secret the backend holds.
public struct RoomService: Hashable, Sendable {
  /// Its address, ws:// or wss://.
  public var url: String
  /// The room server's API key, that tokens are issued with.
  public var apiKey: String
  /// The API key's secret. Never shown.
  @Redacted public var apiSecret: String
  /// Makes one.
  public init(url: String, apiKey: String, apiSecret: String) {
    self.url = url
    self.apiKey = apiKey
    self.apiSecret = apiSecret
  }
}

/// Everything that a backend is told when it is made.
///
/// Large: a property for each thing that an operator can set.
public struct BackendConfiguration: Sendable {
  /// The address to listen on.
  public var bind = "127.0.0.1"
  /// The port; 0 takes any free one (`BackendService.port` says which).
  public var port = 8080
  /// The room server that tokens are issued for, and that is asked about rooms.
  public var roomService: RoomService
  /// What participants are told with a token, when the room service has another address for them.
  public var publicRoomURL: String?
  /// What callers' JWTs are signed with (HS256), at least 32 bytes; nil: only API keys are taken.
  @Redacted public var apiSecret: String? = nil
  /// What Prometheus shows (`Authorization: Bearer`), at least 16 bytes; nil: `/metrics` is open to everybody.
  @Redacted public var metricsSecret: String? = nil
  /// What workers show, at least 32 bytes; nil: no worker is let in.
  @Redacted public var workerSecret: String? = nil
  /// The key of webhooks in the form of Standard Webhooks, `whsec_` and base64; nil: only LiveKit's form is sent.
  @Redacted public var webhookSecret: String? = nil
  /// Who is told of every job, besides the receivers that the jobs name.
  public var webhooks: [WebhookTarget] = []
  /// The form of webhooks to receivers that name none.
  public var webhookForm = WebhookTarget.Form.standard
  /// After so long a webhook that nobody took is given up; there are ten attempts within 76 hours at most.
  public var webhookGiveUpAfter = Duration.seconds(4 * 86_400)
  /// True: webhooks may go to private and link-local addresses.
  public var allowsPrivateAddresses = false
  /// The layouts that every worker knows by name; nil: layouts are not looked at before a worker has the job.
  public var layouts: [String]?
  /// How long a bot's room token is good for; it is renewed when less than half is left.
  public var ticketLifetime = Duration.seconds(600)
  /// The finished files in folders of this machine; nil: none are.
  public var keptFiles: (any RecordingFolder)?
  /// The store where workers bring finished files; nil: the backend knows none.
  public var store: (any RecordingBucket)?
  /// How long final jobs are kept.
  public var jobRetention = Duration.seconds(30 * 86_400)
  /// How long an idempotency key is known.
  public var keyRetention = Duration.seconds(86_400)
  /// What one connection may cost.
  public var limits = ConnectionLimits()
  /// So long after the start no lease is ended: workers that went on recording while no backend was there renew theirs
  /// first. Nil: as long as a lease lasts, and five seconds.
  public var startPatience: Duration?
  /// The rules of the queue.
  public var machine = JobMachine()

  /// The usual settings for a room service.
  public init(roomService: RoomService) { self.roomService = roomService }

  /// What is wrong with it, one line each.
  public var problems: [String] {
    var problems: [String] = []
    if let apiSecret, apiSecret.utf8.count < 32 { problems.append("RECBOT_API_SECRET: at least 32 bytes") }
    if let workerSecret, workerSecret.utf8.count < 32 { problems.append("RECBOT_WORKER_SECRET: at least 32 bytes") }
    if let apiSecret, let workerSecret, apiSecret == workerSecret {
      problems.append("RECBOT_WORKER_SECRET: must differ from RECBOT_API_SECRET")
    }
    if let metricsSecret, metricsSecret.utf8.count < 16 { problems.append("RECBOT_METRICS_SECRET: at least 16 bytes") }
    if let webhookSecret, StandardWebhooks(secret: webhookSecret) == nil {
      problems.append("RECBOT_WEBHOOK_SECRET: whsec_ and base64 of 24 to 64 bytes")
    }
    for (name, url) in [("LIVEKIT_URL", roomService.url), ("RECBOT_PUBLIC_ROOM_URL", publicRoomURL ?? "ws://")]
    where !["ws://", "wss://"].contains(where: url.hasPrefix) {
      problems.append("\(name): ws:// or wss://")
    }
    return problems + webhookProblems
  }

  /// The webhooks that can never be sent, one line each.
  public var webhookProblems: [String] {
    // What a wrong secret means is said of the secret.
    if let webhookSecret, StandardWebhooks(secret: webhookSecret) == nil { return [] }
    let client = GuardedWebClient(privateAddresses: allowsPrivateAddresses ? .allow : .refuse)
    let keys = WebhookMessage.Keys(self)
    return webhooks.compactMap { target in
      if let problem = client.problem(with: target.url) {
        return "RECBOT_WEBHOOK_URLS: \(PeerText.line(target.url, limit: 200)) \(problem)"
      }
      guard keys.problem(with: target) != nil else { return nil }
      return
        "RECBOT_WEBHOOK_SECRET: is missing, and signs what \(PeerText.line(target.url, limit: 200)) is sent in the "
        + "form standard; make one, or set RECBOT_WEBHOOK_FORM=livekit"
    }
  }
}

/// What one connection may cost the backend. Times are from the first byte of a request.
public struct ConnectionLimits: Hashable, Sendable {
  /// Bytes of a request's body, unless the route allows more or less.
  public var body = 65_536
  /// How large the head of a request may be, and how long each part of it may take.
  public var request = RequestLimits()
  /// How many connections of callers and workers with a good credential are open at once.
  public var connections = 4096
  /// How many connections are open at once that have never shown one. When more come, the oldest of the address with the
  /// most is closed.
  public var waiting = 1024
  /// How many of these one address may have (of IPv6: one /64 network). A proxy in front is one address.
  public var perAddress = 64
  /// How many files are sent at once.
  public var downloads = 64
  /// How many of them are of recordings of one caller.
  public var downloadsPerOwner = 16
  /// The longest time a request is held until something happens (long poll).
  public var wait = Duration.seconds(55)
  /// The usual limits.
  public init() {}
}
