import MediaCore
import Digests

/// Compact JWTs (RFC 7519) signed with HMAC SHA-256 (RFC 7515, `HS256`).
///
/// Nothing but `HS256` is accepted, whatever the token's header says, and no key is ever looked for where a header
/// points to. A token is taken apart once, its signature is checked in constant time, and only then are its claims
/// converted.
public enum SignedToken {
  /// The claims of a token whose signature is right. `secret` gives the secret for the token, nil when there is none;
  /// what it sees is checked in its form only. Times are not looked at: that is the caller's part. Every fault is the
  /// same error.
  public static func claims<Claims: Decodable>(
    verifying token: String, as type: Claims.Type, secret: (CompactToken) -> String?
  ) throws(AccessTokenError) -> Claims {
    let token = try CompactToken(token)
    guard token.algorithm == "HS256" else { throw AccessTokenError() }
    // An unknown key costs the same work as a known one.
    let known = secret(token)
    let isSigned = HMAC.isSHA256(token.signature, of: Array(token.signed), key: Array((known ?? "\0unknown").utf8))
    guard isSigned, let known, !known.isEmpty else { throw AccessTokenError() }
    do {
      return try token.claims.decode(type)
    } catch {
      throw AccessTokenError()
    }
  }

  /// The compact serialization (RFC 7515 section 3.1) of claims as JSON, signed with a secret.
  static func make(claims: [UInt8], secret: String) -> String {
    let dot = [UInt8(ascii: ".")]
    let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8), padding: false)
    let input = header + dot + Base64URL.encode(claims, padding: false)
    let code = HMAC.sha256(input, key: Array(secret.utf8))
    return String(decoding: input + dot + Base64URL.encode(code, padding: false), as: UTF8.self)
  }
}
