import Foundation
import JobsAPI
import Signaling

/// The claims of a caller's JWT (RFC 7519): `sub`, `exp`, and what recbot allows in the claim `recbot`.
struct CallerToken: Decodable, Sendable {
  /// The claim `recbot`.
  struct Permissions: Codable, Sendable {
    /// What the caller may do. A grant that nobody knows makes the token one for something else.
    var grants: [Grant]
    /// The only rooms, as a name with `*` for any text.
    var rooms: String?
  }

  var sub: String?
  var exp: Double?
  var nbf: Double?
  var recbot: Permissions?

  /// The longest token that is looked at, in bytes.
  static let maximumLength = 8192
  /// By how many seconds the clocks of two machines may differ.
  static let leeway = 30.0

  /// Whom a token is for, when its signature is right and `now` lies in its time; nil for every fault.
  static func caller(_ token: String, secret: String, now: Timestamp) -> Caller? {
    guard token.utf8.count <= maximumLength,
      let claims = try? SignedToken.claims(verifying: token, as: CallerToken.self, secret: { _ in secret })
    else { return nil }
    let seconds = Double(now.microseconds) / 1_000_000
    guard let expiry = claims.exp, seconds < expiry + leeway, seconds >= (claims.nbf ?? 0) - leeway,
      let name = claims.sub, (1...256).contains(name.utf8.count),
      !name.unicodeScalars.contains(where: { $0.value < 32 }), let permissions = claims.recbot,
      permissions.rooms.map({ (1...256).contains($0.utf8.count) }) ?? true
    else { return nil }
    return Caller(name: name, grants: Set(permissions.grants), rooms: permissions.rooms)
  }
}
