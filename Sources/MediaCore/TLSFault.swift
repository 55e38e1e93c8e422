/// Why a TLS connection was not made, in words: of the peer's certificate, or of the handshake.
public enum TLSFault: Error, Hashable, Sendable, CustomStringConvertible {
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
    case .notTLS: "Use ws:// or http:// (without the s), or the port on which the server speaks TLS"
    case .nothingInCommon: "Let the server take TLS 1.2 or later"
    case .refused: "Check the host name and the port; the server may not know the name, or want a client's certificate"
    case .closed, .other: "Check the port, and what is in front of the server: a proxy, a load balancer"
    }
  }
}
