import Crypto
import FoundationEssentials
import JWTKit

/// A token was refused. There is one case and one text on purpose: the sender must not learn which check failed.
public struct AccessTokenError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error.
  public init() {}
  /// The one text.
  public var description: String { "invalid authorization token" }
}

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
  /// The longest token that is looked at, in bytes.
  public static let maximumLength = 65_536

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

  /// Makes the claims of a token that vouches for a body, as webhooks carry it: its SHA-256 in the claim `sha256`.
  public init(vouchingFor body: [UInt8], apiKey: String, now: Int64, lifetime: Int64) {
    self.init(apiKey: apiKey, identity: "", video: nil, now: now, lifetime: lifetime)
    sha256 = Base64URL.encodeStandard(Array(SHA256.hash(data: body)))
  }

  /// The compact serialization (RFC 7515 section 3.1), signed with the key's secret. Throws only when a claim can't be
  /// written as JSON.
  public func signed(secret: String) throws(AccessTokenError) -> String {
    do {
      let header = Self.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
      let payload = try DefaultJWTSerializer().serialize(Claims(self))
      let input = header + [UInt8(ascii: ".")] + payload
      let code = HMAC<SHA256>.authenticationCode(
        for: input, using: SymmetricKey(data: Array(secret.utf8)))
      return String(decoding: input + [UInt8(ascii: ".")] + Self.encode(Array(code)), as: UTF8.self)
    } catch {
      throw AccessTokenError()
    }
  }

  /// The claims of a compact token that is signed by the secret of its API key and valid at `now` (seconds since
  /// 1970). `secret` gives the secret of a key, nil for unknown keys. Every fault is the same error.
  public init(
    verifying token: String, now: Int64, secret: (_ apiKey: String) -> String?
  ) throws(AccessTokenError) {
    let claims = try SignedToken.claims(verifying: token, as: Claims.self) { claims in
      claims.iss.flatMap { $0.isEmpty ? nil : secret($0) }
    }
    guard let value = AccessToken(claims), value.isValid(at: now) else { throw AccessTokenError() }
    self = value
  }

  /// The claims of a compact token without any check of signature and time: for showing, and for knowing what a
  /// token that somebody else made is for. Never for access.
  public init(reading token: String) throws(AccessTokenError) {
    guard let value = AccessToken(try SignedToken.parse(Array(token.utf8), as: Claims.self).claims) else {
      throw AccessTokenError()
    }
    self = value
  }

  /// True when `now` (seconds since 1970) lies in the token's time, with `leeway` on both sides.
  public func isValid(at now: Int64) -> Bool {
    let (early, late) = (now &+ Self.leeway, now &- Self.leeway)
    return late < expires && (notBefore ?? early) <= early
  }

  private static func encode(_ bytes: [UInt8]) -> [UInt8] {
    Base64URL.encode(bytes, padding: false)
  }

  private init?(_ claims: Claims) {
    guard let expires = claims.exp else { return nil }
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
private struct Claims: JWTPayload {
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

  /// Never used: times are checked against a time that is an argument.
  func verify(using algorithm: some JWTAlgorithm) throws {}
}

/// Seconds since 1970, whole or with a fraction (RFC 7519 section 2).
private struct NumericDate: Codable, Hashable {
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
