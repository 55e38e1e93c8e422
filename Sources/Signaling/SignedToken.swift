import Crypto
import JWTKit

/// Compact JWTs (RFC 7519) signed with HMAC SHA-256 (RFC 7515, `HS256`).
///
/// Parsing is JWTKit's; the HMAC is called directly, because JWTKit's key collection is an actor (every check would
/// become asynchronous) and wants secrets of at least 32 bytes, which LiveKit doesn't ask for. Nothing but `HS256` is
/// accepted, whatever the token's header says, and no key is ever looked for where a header points to.
public enum SignedToken {
  /// The claims of a token whose signature is right. `secret` gives the secret for the claims, nil when there is none.
  /// Times are not looked at: that is the caller's part. Every fault is the same error.
  public static func claims<Claims: JWTPayload>(
    verifying token: String, as type: Claims.Type, secret: (Claims) -> String?
  ) throws(AccessTokenError) -> Claims {
    let bytes = Array(token.utf8)
    let (header, claims, signature) = try parse(bytes, as: type)
    guard header.alg == "HS256", header.fields["crit"] == nil, let lastDot = bytes.lastIndex(of: UInt8(ascii: "."))
    else { throw AccessTokenError() }
    // An unknown key costs the same work as a known one.
    let known = secret(claims)
    let isSigned = HMAC<SHA256>.isValidAuthenticationCode(
      signature, authenticating: bytes[..<lastDot],
      using: SymmetricKey(data: Array((known ?? "\0unknown").utf8)))
    guard isSigned, let known, !known.isEmpty else { throw AccessTokenError() }
    return claims
  }

  /// Takes a token apart without looking at its signature.
  static func parse<Claims: JWTPayload>(
    _ token: [UInt8], as type: Claims.Type
  ) throws(AccessTokenError) -> (header: JWTHeader, claims: Claims, signature: [UInt8]) {
    guard token.count <= AccessToken.maximumLength else { throw AccessTokenError() }
    // The parser below passes over characters outside the alphabet; a token with such has been tampered with.
    let isClean = token.allSatisfy {
      switch $0 {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isClean else { throw AccessTokenError() }
    do {
      let (header, claims, signature) = try DefaultJWTParser().parse(token, as: type)
      return (header, claims, Array(signature))
    } catch {
      throw AccessTokenError()
    }
  }
}
