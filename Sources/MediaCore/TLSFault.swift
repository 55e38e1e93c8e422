/// Why a TLS connection was not made, in words: of the peer's certificate, or of the handshake. Made from what TLS
/// libraries say, which is for those who wrote them.
public enum TLSFault: Hashable, Sendable, CustomStringConvertible {
  /// The certificate's time is over, since a day.
  case expired(String)
  /// The certificate's time has not begun; it will on a day.
  case notYetValid(String)
  /// Nobody who is trusted has signed the certificate, or its time is not now.
  case untrusted
  /// The certificate is for other names.
  case wrongName
  /// What answers speaks no TLS.
  case notTLS
  /// No version or cipher that both have.
  case nothingInCommon
  /// The peer refused the handshake, with an alert (RFC 8446 section 6); perhaps its name.
  case refused(String)
  /// The peer ended the connection in the middle of the handshake.
  case closed
  /// Something else; the library's word for it, perhaps none.
  case other(String)

  /// Reads what NIOSSL (BoringSSL) says of an error; nil for what is none of TLS.
  public init?(reading text: String) {
    func says(_ words: String...) -> Bool { words.contains { text.contains($0) } }
    if says("CERTIFICATE_VERIFY_FAILED", "noCertificateToValidate") {
      self = .untrusted
    } else if says("failedToValidateHostname", "serverHostnameImpossibleToMatch", "unableToValidateCertificate") {
      self = .wrongName
    } else if says("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL") {
      self = .notTLS
    } else if says(
      "UNSUPPORTED_PROTOCOL", "ALERT_PROTOCOL_VERSION", "NO_SHARED_CIPHER", "INSUFFICIENT_SECURITY",
      "ALERT_HANDSHAKE_FAILURE")
    {
      self = .nothingInCommon
    } else if let alert = Self.word(after: "_ALERT_", in: text) {
      self = .refused(alert)
    } else if says("EOF during handshake", "uncleanShutdown") {
      self = .closed
    } else if says("handshakeFailed", "NIOSSLError", "NIOSSLExtraError", "BoringSSLError", "sslError") {
      self = .other(Self.word(after: "OPENSSL_internal:", in: text) ?? "")
    } else {
      return nil
    }
  }

  /// What the times of the certificates that a peer shows (in seconds since 1970) say of a chain that is not trusted.
  /// `day` writes such a time.
  public init(validity: [(from: Int64, until: Int64)], now: Int64, day: (Int64) -> String) {
    if let old = validity.first(where: { $0.until < now }) {
      self = .expired(day(old.until))
    } else if let early = validity.first(where: { $0.from > now }) {
      self = .notYetValid(day(early.from))
    } else {
      self = .untrusted
    }
  }

  /// What is so, to follow the peer's name and a colon.
  public var description: String {
    switch self {
    case .expired(let day): "its certificate expired on \(day)"
    case .notYetValid(let day): "its certificate is valid only from \(day) on"
    case .untrusted: "no authority that this machine trusts has signed its certificate"
    case .wrongName: "its certificate is for another host name"
    case .notTLS: "what answers there speaks no TLS"
    case .nothingInCommon: "it has no TLS version or cipher in common with recbot, which wants TLS 1.2 or later"
    case .refused(let alert): "it refuses the TLS handshake (\(alert))"
    case .closed: "it ended the connection during the TLS handshake"
    case .other(let word): "the TLS handshake failed\(word.isEmpty ? "" : " (\(word))")"
    }
  }

  /// What to do: a sentence in the imperative, without its full stop.
  public var advice: String {
    switch self {
    case .expired: "Renew the certificate on the server; if it is new, check this machine's clock"
    case .notYetValid: "Check this machine's clock, and the server's certificate"
    case .untrusted:
      "For a private authority give --tls-ca FILE; a public one must be among this machine's (package "
        + "ca-certificates), and the server must send the whole chain"
    case .wrongName: "Use the host name that the certificate is for"
    case .notTLS: "Use ws:// instead of wss://, or the port on which the server speaks TLS"
    case .nothingInCommon: "Let the server take TLS 1.2 or later"
    case .refused: "Check the host name and the port; the server may not know the name, or want a client's certificate"
    case .closed, .other: "Check the port, and what is in front of the server: a proxy, a load balancer"
    }
  }

  /// The library's word after a mark, in lower case with spaces; nil when the mark is not there.
  private static func word(after mark: String, in text: String) -> String? {
    guard let start = text.firstRange(of: mark)?.upperBound else { return nil }
    let word = text[start...].prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    return word.isEmpty ? nil : String(word.prefix(60)).replacing("_", with: " ").lowercased()
  }
}
