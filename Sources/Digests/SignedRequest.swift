/// What somebody may do without a credential, for a while: a purpose, and fields that say with what. Its signature is made
/// and checked by those who know the key; nothing is kept. Pure.
public struct SignedRequest: Hashable, Sendable {
  /// What it is for; one purpose's signature is none of another's.
  public var purpose: String
  /// What exactly is allowed, in an order of the purpose's own.
  public var fields: [String]
  /// Until when, in seconds since 1970.
  public var until: Int64

  /// Makes one, which is not signed yet.
  public init(purpose: String, fields: [String], until: Int64) {
    self.purpose = purpose
    self.fields = fields
    self.until = until
  }

  /// A key for one purpose, made from a secret that serves others, too: it tells nothing of the secret.
  public static func key(from secret: String, purpose: String) -> [UInt8] {
    HMAC.sha256(Array("recbot \(purpose)".utf8), key: Array(secret.utf8))
  }

  /// The signature in hexadecimal: HMAC-SHA-256 (RFC 2104) of all fields, each with its length before it.
  public func signature(key: [UInt8]) -> String {
    let text = ([purpose, "\(until)"] + fields).map { "\($0.utf8.count):\($0)" }.joined()
    return Hexadecimal.text(HMAC.sha256(Array(text.utf8), key: key))
  }

  /// True when the signature is this request's; compared in a time that does not depend on where it differs.
  public func isSigned(_ signature: String, key: [UInt8]) -> Bool {
    HMAC.isEqual(Array(signature.utf8), Array(self.signature(key: key).utf8))
  }
}
