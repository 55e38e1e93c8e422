import MediaCore
import Digests
extension AccessToken {
  /// Makes the claims of a token that vouches for a body, as webhooks carry it: its SHA-256 in the claim `sha256`.
  public init(vouchingFor body: [UInt8], apiKey: String, now: Int64, lifetime: Int64) {
    self.init(apiKey: apiKey, identity: "", video: nil, now: now, lifetime: lifetime)
    sha256 = Base64URL.encodeStandard(Digest.sha256(body))
  }

  /// The compact serialization (RFC 7515 section 3.1), signed with the key's secret. Throws only when a claim can't be
  /// written as JSON.
  public func signed(secret: String) throws(AccessTokenError) -> String {
    SignedToken.make(claims: try json(), secret: secret)
  }

  /// The claims of a compact token that is signed by the secret of its API key and valid at `now` (seconds since
  /// 1970). `secret` gives the secret of a key, nil for unknown keys. Every fault is the same error.
  public init(
    verifying token: String, now: Int64, secret: (_ apiKey: String) -> String?
  ) throws(AccessTokenError) {
    try self.init(signed: token, secret: secret)
    guard isValid(at: now) else { throw AccessTokenError() }
  }

  /// The claims of a compact token that is signed by the secret of its API key, whenever it is valid: who holds one may
  /// be told that it is out of date. Never for access by itself; see `isValid(at:)`.
  public init(signed token: String, secret: (_ apiKey: String) -> String?) throws(AccessTokenError) {
    let claims = try SignedToken.claims(verifying: token, as: Claims.self) { token in
      token.text(of: "iss").flatMap { $0.isEmpty ? nil : secret($0) }
    }
    try self.init(claims)
  }
}
