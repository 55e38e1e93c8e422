import Hummingbird
import JobsAPI
import MediaCore
import Signaling

/// `POST /v1/tokens`.
struct TokenRequest: Decodable, Hashable, Sendable {
  /// The room that the token is for.
  var room: String
  /// Who the token is for; unique in the room.
  var identity: String
  /// The name that others see.
  var name: String?
  /// How long it is good for, in seconds; an hour unless said.
  var ttl: Int64?
  /// May publish; yes unless said.
  var canPublish: Bool?
  /// May receive; yes unless said.
  var canSubscribe: Bool?
  /// May send data; as `canPublish` unless said.
  var canPublishData: Bool?
  /// Not shown to others.
  var hidden: Bool?
  /// Free text for the others.
  var metadata: String?

  enum CodingKeys: String, CodingKey, CaseIterable {
    case room, identity, name, hidden, metadata
    case ttlSeconds = "ttl_seconds"
    // As an earlier version had it.
    case ttl
    case canPublish = "can_publish"
    case canSubscribe = "can_subscribe"
    case canPublishData = "can_publish_data"
  }

  /// Reads a request; what is absent has its default.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    room = try values.decode(String.self, forKey: .room)
    identity = try values.decode(String.self, forKey: .identity)
    name = try values.decodeIfPresent(String.self, forKey: .name)
    ttl =
      try values.decodeIfPresent(Int64.self, forKey: .ttlSeconds) ?? values.decodeIfPresent(Int64.self, forKey: .ttl)
    canPublish = try values.decodeIfPresent(Bool.self, forKey: .canPublish)
    canSubscribe = try values.decodeIfPresent(Bool.self, forKey: .canSubscribe)
    canPublishData = try values.decodeIfPresent(Bool.self, forKey: .canPublishData)
    hidden = try values.decodeIfPresent(Bool.self, forKey: .hidden)
    metadata = try values.decodeIfPresent(String.self, forKey: .metadata)
  }

  /// What is wrong with it, one line each.
  var problems: [String] {
    var problems: [String] = []
    func isText(_ text: String) -> Bool {
      (1...256).contains(text.utf8.count) && !text.hasControlCharacters
    }
    for (field, text) in [("room", room), ("identity", identity)] where !isText(text) {
      problems.append("\(field): 1 to 256 bytes, no control characters")
    }
    if identity.hasPrefix("recbot-job_") { problems.append("identity: those of the bots begin with recbot-job_") }
    if let name, name.utf8.count > 256 { problems.append("name: at most 256 bytes") }
    if let metadata, metadata.utf8.count > 16_384 { problems.append("metadata: at most 16384 bytes") }
    if let ttl, !(1...86_400).contains(ttl) { problems.append("ttl_seconds: 1 to 86400") }
    return problems
  }
}

/// The answer.
struct TokenAnswer: Codable, Hashable, Sendable {
  @Redacted var token: String
  var url: String
  var expiresAt: Timestamp

  enum CodingKeys: String, CodingKey {
    case token, url
    case expiresAt = "expires_at"
  }
}

/// Room tokens for participants.
struct TokenRoutes: RouteGroup {
  func add(to routes: Routes) {
    routes.caller(.post, "/v1/tokens", .tokensWrite) { call, caller in
      let request = try await call.decode(TokenRequest.self)
      guard request.problems.isEmpty else { throw Refusal.invalid(request.problems.joined(separator: "; ")) }
      try call.core.check(caller, mayUse: request.room)
      let grant = VideoGrant(
        room: request.room, roomJoin: true, canPublish: request.canPublish ?? true,
        canSubscribe: request.canSubscribe ?? true, canPublishData: request.canPublishData,
        hidden: request.hidden == true ? true : nil)
      let token = try call.core.credentials.token(
        identity: request.identity, name: request.name, metadata: request.metadata, grant: grant,
        lifetime: request.ttl ?? 3600, now: .now)
      return .json(TokenAnswer(token: token.text, url: token.url, expiresAt: token.until), status: .created)
    }
  }
}

extension BackendCore {
  /// Throws when a credential is for other rooms.
  func check(_ caller: Caller, mayUse room: String) throws {
    guard caller.mayUse(room: room) else {
      throw refusal(of: caller, lacking: "the room \(room.prefix(256).debugDescription)")
    }
  }
}
