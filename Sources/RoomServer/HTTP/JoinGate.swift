import MediaCore
import Signaling

/// A client that showed a good token.
struct JoinRequest: Sendable {
  /// The token's claims; `identity` is set.
  var token: AccessToken
  /// The token's grants.
  var grant: VideoGrant
  /// The room to join; not empty.
  var room: String
  /// How the client wants to join.
  var query: SignalQuery
  /// Attributes of the token and, where the grant allows it, of the query.
  var attributes: [String: String]
}

/// Decides about a request for `/rtc` or `/rtc/validate` by its token alone, before anything is made for it.
/// Stateless; used on the network threads.
struct JoinGate: Sendable {
  /// Secrets by API key.
  @Redacted var apiKeys: [String: String]

  /// The longest identity and room name, in bytes (as the stock server has it).
  static let longestName = 256

  /// Why a request is refused: HTTP status and the text that SDKs show to their users.
  struct Refusal: Error, Hashable, Sendable {
    var status: Int
    var text: String

    /// The token was good once.
    static let expired = Refusal(status: 401, text: "invalid authorization token: token is expired (exp)")
    /// The token will be good.
    static let early = Refusal(status: 401, text: "invalid authorization token: token not valid yet (nbf)")
    /// The room takes nobody in any more.
    static let full = Refusal(status: 429, text: "room has exceeded its max participants")
    /// There is no such room, and joining doesn't make one.
    static let noRoom = Refusal(status: 404, text: "requested room does not exist")
    /// The server ends just now.
    static let shuttingDown = Refusal(status: 503, text: "the server shuts down")
  }

  /// Checks a request. `authorization` is the header's value, `query` the part of the target behind `?`, `now`
  /// seconds since 1970.
  func admit(authorization: String?, query text: Substring, now: Int64) throws(Refusal) -> JoinRequest {
    let query = SignalQuery(parsing: text)
    var token = try verify(Self.token(authorization, query), now: now)
    guard let grant = token.video else { throw Refusal(status: 401, text: "permissions denied: no video grant") }
    guard grant.roomJoin == true else { throw Refusal(status: 401, text: "permissions denied: no roomJoin grant") }
    guard let room = grant.room, !room.isEmpty else {
      throw Refusal(status: 400, text: "room name cannot be empty: the token's grant names none")
    }
    guard !token.identity.isEmpty else { throw Refusal(status: 400, text: "identity cannot be empty") }
    if let publish = query.publish, !publish.isEmpty {
      guard grant.allowsPublish else { throw Refusal(status: 401, text: "permissions denied: no canPublish grant") }
      token.identity += "#" + publish
    }
    guard token.identity.utf8.count <= Self.longestName, room.utf8.count <= Self.longestName else {
      throw Refusal(status: 400, text: "identity and room name must not exceed \(Self.longestName) bytes")
    }
    guard !room.hasControlCharacters, !token.identity.hasControlCharacters else {
      throw Refusal(status: 400, text: "identity and room name must not have control characters")
    }
    var attributes = token.attributes ?? [:]
    if let encoded = query.attributes, !encoded.isEmpty {
      guard grant.canUpdateOwnMetadata == true else {
        throw Refusal(status: 401, text: "permissions denied: no canUpdateOwnMetadata grant")
      }
      for (key, value) in Self.attributes(encoded) { attributes[key] = value }
    }
    return JoinRequest(token: token, grant: grant, room: room, query: query, attributes: attributes)
  }

  /// The claims of a token that is good now, whatever it allows.
  func verify(_ token: String, now: Int64) throws(Refusal) -> AccessToken {
    let claims: AccessToken
    do {
      claims = try AccessToken(signed: token) { apiKeys[$0] }
    } catch {
      throw Refusal(status: 401, text: error.description)
    }
    // Only the holder of a token that is good at another time is told so.
    guard claims.isValid(at: now) else { throw claims.expires < now ? .expired : .early }
    return claims
  }

  static func token(_ authorization: String?, _ query: SignalQuery) throws(Refusal) -> String {
    if let authorization {
      let scheme = "Bearer "
      guard authorization.hasPrefix(scheme) else {
        throw Refusal(status: 401, text: "invalid authorization header: it must start with \"Bearer \"")
      }
      return String(authorization.dropFirst(scheme.count))
    }
    guard let token = query.accessToken, !token.isEmpty else {
      throw Refusal(status: 401, text: "no access token: send it as Authorization: Bearer, or as access_token")
    }
    return token
  }

  /// Reads the query's attributes: base64 of a JSON object of texts. What can't be read counts as none.
  private static func attributes(_ encoded: String) -> [String: String] {
    guard let bytes = Base64URL.decode(encoded.utf8) else { return [:] }
    // The same JSON as in the message that changes attributes later.
    let json = Array("{\"attributes\":".utf8) + bytes + [UInt8(ascii: "}")]
    let message = SignalCoding.decode(
      Livekit_UpdateParticipantMetadata.self, json, isText: true, takesUnknownFields: false)
    return message?.attributes ?? [:]
  }
}
