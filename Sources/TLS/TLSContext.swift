import COpenSSL

/// Whom connections trust: the system's authorities, or those of a file. Any thread; one may serve any number of connections.
public final class TLSContext: Sendable {
  // Sendable: OpenSSL counts references to a context itself, and nothing changes one that is made.
  nonisolated(unsafe) let context: OpaquePointer

  /// Why there is no context. One line.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
  }

  /// Makes a context for TLS 1.2 and later (RFC 8446).
  ///
  /// - Parameter authorities: a file of certificates in PEM that are trusted in place of the system's.
  public init(authorities: String? = nil) throws(Failure) {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw Failure(description: OpenSSLError.takeReason()) }
    let isTrusting =
      authorities.map { SSL_CTX_load_verify_locations(context, $0, nil) } ?? SSL_CTX_set_default_verify_paths(context)
    guard isTrusting == 1, copenssl_require_tls12(context) == 1 else {
      let reason = OpenSSLError.takeReason()
      SSL_CTX_free(context)
      throw Failure(description: authorities.map { "no certificates could be read from \($0)" } ?? reason)
    }
    self.context = context
  }

  deinit { SSL_CTX_free(context) }
}
