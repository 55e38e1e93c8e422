import MediaCore

/// A token was refused. There is one case and one text on purpose: the sender must not learn which check failed.
public struct AccessTokenError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Makes the error.
  public init() {}
  /// The one text for every refusal, so that it tells a stranger nothing.
  public var description: String { "invalid authorization token" }
}

/// A token in the compact serialization (RFC 7515 section 3.1), taken apart; nothing in it is trusted yet.
///
/// Bounded before anything is read: the whole, its header (1 KiB, 4 deep) and its claims (`JSONLimits`). Base64url is
/// strict: one token has one spelling. Of the header only `alg`, `typ`, `kid` and `crit` are looked at, and no number
/// in it is converted. The work is linear in the token's length.
public struct CompactToken: Sendable {
  /// The algorithm that the header names.
  public let algorithm: String
  /// The key that the header names. Never looked for where a header points to.
  public let keyID: String?
  /// The claims as JSON whose form is checked; not converted into anything.
  public let claims: JSONValue
  /// The signature's bytes.
  public let signature: [UInt8]
  /// What is signed: header and claims as they came, with the dot between.
  public let signed: ArraySlice<UInt8>

  /// The longest token that is looked at, in bytes.
  public static let maximumLength = 32_768
  private static let header = JSONLimits(bytes: 1024, depth: 4, values: 64)
  private static let claims = JSONLimits(bytes: maximumLength, values: 1024)

  /// Takes a token apart.
  public init(_ token: String) throws(AccessTokenError) {
    guard token.utf8.count <= Self.maximumLength else { throw AccessTokenError() }
    try self.init(bytes: Array(token.utf8))
  }

  /// Takes a token apart.
  public init(bytes token: [UInt8]) throws(AccessTokenError) {
    guard token.count <= Self.maximumLength, let first = token.firstIndex(of: UInt8(ascii: ".")),
      let last = token.lastIndex(of: UInt8(ascii: ".")), first < last,
      // The short parts first: most of what is no token ends here.
      first <= (Self.header.bytes * 4 + 2) / 3, token.count - last <= 1024,
      let header = Base64URL.decodeStrict(token[..<first]), let signature = Base64URL.decodeStrict(token[(last + 1)...])
    else { throw AccessTokenError() }
    do {
      guard let fields = try JSONDocument(header, limits: Self.header).root.fields, fields["crit"] == nil,
        let algorithm = fields["alg"]?.text, Self.isText(fields["kid"]), Self.isText(fields["typ"]),
        fields["typ"]?.text.map({ $0.lowercased() == "jwt" }) ?? true,
        let claims = Base64URL.decodeStrict(token[(first + 1)..<last])
      else { throw AccessTokenError() }
      self.claims = try JSONDocument(claims, limits: Self.claims).root
      self.algorithm = algorithm
      keyID = fields["kid"]?.text
    } catch {
      throw AccessTokenError()
    }
    self.signature = signature
    signed = token[..<last]
  }

  /// The text of a claim; nil when it is no text, is missing, or occurs twice.
  public func text(of claim: String) -> String? { claims.member(claim)?.text }

  /// Absent, or a text.
  private static func isText(_ value: JSONValue?) -> Bool { value.map { $0.text != nil } ?? true }
}
