import FoundationEssentials
import MediaCore

/// A LiveKit access token: the claims of a JWT (RFC 7519) signed with HMAC SHA-256 (RFC 7515, `HS256`) under the
/// secret that belongs to an API key. `SignedToken` says what is accepted.
public struct AccessToken: Hashable, Sendable {
  /// The API key (`iss`).
  public var apiKey: String
  /// Who the token is for (`sub`).
  public var identity: String
  /// Display name.
  public var name: String?
  /// Free text for the others to read.
  public var metadata: String?
  /// Free key-value texts for the others to read.
  public var attributes: [String: String]?
  /// `standard`, `egress`, `agent`…
  public var kind: String?
  /// What it allows; absent in tokens that are not for rooms.
  public var video: VideoGrant?
  /// Base64 of the SHA-256 of a body that the token vouches for (webhooks).
  public var sha256: String?
  /// Not valid before, seconds since 1970.
  public var notBefore: Int64?
  /// Valid until, seconds since 1970.
  public var expires: Int64

  /// By how many seconds the clocks of two machines may differ.
  public static let leeway: Int64 = 60

  /// Makes the claims of a token that is valid from `now` (seconds since 1970) for `lifetime` seconds.
  public init(
    apiKey: String, identity: String, video: VideoGrant?, now: Int64, lifetime: Int64 = 6 * 3600,
    name: String? = nil, metadata: String? = nil, attributes: [String: String]? = nil,
    kind: String? = nil
  ) {
    self.apiKey = apiKey
    self.identity = identity
    self.video = video
    self.name = name
    self.metadata = metadata
    self.attributes = attributes
    self.kind = kind
    notBefore = now
    expires = now &+ lifetime
  }

  /// The claims of a compact token without any check of signature and time: for showing, and for knowing what a
  /// token that somebody else made is for. Never for access.
  public init(reading token: String) throws(AccessTokenError) {
    do {
      try self.init(CompactToken(token).claims.decode(Claims.self))
    } catch {
      throw AccessTokenError()
    }
  }

  /// True when `now` (seconds since 1970) lies in the token's time, with `leeway` on both sides.
  public func isValid(at now: Int64) -> Bool {
    let (early, late) = (now &+ Self.leeway, now &- Self.leeway)
    return late < expires && (notBefore ?? early) <= early
  }

  /// The claims as JSON.
  func json() throws(AccessTokenError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(Claims(self)) else { throw AccessTokenError() }
    return Array(data)
  }

  init(_ claims: Claims) throws(AccessTokenError) {
    guard let expires = claims.exp else { throw AccessTokenError() }
    apiKey = claims.iss ?? ""
    identity = claims.sub.flatMap { $0.isEmpty ? nil : $0 } ?? claims.jti ?? ""
    name = claims.name
    metadata = claims.metadata
    attributes = claims.attributes
    kind = claims.kind
    video = claims.video
    sha256 = claims.sha256
    notBefore = claims.nbf?.seconds
    self.expires = expires.seconds
  }
}

/// The claims as they stand in the JSON.
struct Claims: Codable {
  var iss: String?
  var sub: String?
  var jti: String?
  var exp: NumericDate?
  var nbf: NumericDate?
  var name: String?
  var metadata: String?
  var attributes: [String: String]?
  var kind: String?
  var video: VideoGrant?
  var sha256: String?

  init(_ token: AccessToken) {
    iss = token.apiKey
    sub = token.identity
    exp = NumericDate(seconds: token.expires)
    nbf = token.notBefore.map { NumericDate(seconds: $0) }
    name = token.name
    metadata = token.metadata
    attributes = token.attributes
    kind = token.kind
    video = token.video
    sha256 = token.sha256
  }
}

/// Seconds since 1970, whole or with a fraction (RFC 7519 section 2).
struct NumericDate: Codable, Hashable {
  var seconds: Int64

  init(seconds: Int64) { self.seconds = seconds }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let whole = try? container.decode(Int64.self) {
      seconds = whole
      return
    }
    let value = try container.decode(Double.self)
    guard let whole = Int64(exactly: value.rounded(.down)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time")
    }
    seconds = whole
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(seconds)
  }
}
