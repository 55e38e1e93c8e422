import COpenSSL

/// TLS of a connection that this machine opens (RFC 8446), without the connection: bytes of the network go in and come
/// out, and so do plain ones. TLS 1.2 at least; the server's certificate and name are verified always. Confined to its
/// loop.
final class TLSClient {
  /// True once the handshake is complete and the server is who it should be.
  private(set) var isOpen = false
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer
  // The largest record (RFC 8446 section 5.1).
  private var plain = [UInt8](repeating: 0, count: 16_384)

  /// `host` is the name or the numeric address that the certificate must be for. `authorities` is a file of
  /// certificates in PEM that are trusted in place of the system's.
  init(host: String, authorities: String?) throws(TransportError) {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .tls(OpenSSLError.take()) }
    let isTrusting =
      authorities.map { SSL_CTX_load_verify_locations(context, $0, nil) } ?? SSL_CTX_set_default_verify_paths(context)
    guard isTrusting == 1, copenssl_require_tls12(context) == 1, let ssl = SSL_new(context) else {
      SSL_CTX_free(context)
      throw .tls(OpenSSLError.take())
    }
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
    let isNamed = copenssl_expect_host(ssl, host, NameResolver.isNumeric(host) ? 1 : 0) == 1
    guard isNamed, let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      SSL_CTX_free(context)
      throw .tls(OpenSSLError.take())
    }
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    (self.context, self.ssl, self.input, self.output) = (context, ssl, input, output)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  /// Goes on with bytes from the network (none begins the handshake), and gives the plain ones that they hold. Returns
  /// why it is over, or nil. Call `drain` afterwards.
  func receive(_ bytes: UnsafeRawBufferPointer, _ handler: (UnsafeRawBufferPointer) -> Void) -> String? {
    ERR_clear_error()
    if let base = bytes.baseAddress, !bytes.isEmpty {
      guard BIO_write(input, base, Int32(bytes.count)) == Int32(bytes.count) else { return "no memory" }
    }
    if !isOpen {
      let result = SSL_do_handshake(ssl)
      guard result == 1 else { return fault(result) }
      isOpen = true
    }
    while true {
      let count = SSL_read(ssl, &plain, Int32(plain.count))
      guard count > 0 else { return fault(count) }
      plain.withUnsafeBytes { handler(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(count)))) }
    }
  }

  /// Encrypts plain bytes. Only when `isOpen`; call `drain` afterwards.
  func send(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, !bytes.isEmpty, isOpen else { return }
    _ = SSL_write(ssl, base, Int32(bytes.count))
  }

  /// Moves the bytes that are to be sent to the end of a buffer.
  func drain(into buffer: inout [UInt8]) {
    let count = Int(BIO_ctrl_pending(output))
    guard count > 0 else { return }
    let chunk = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
      filled = max(0, Int(BIO_read(output, space.baseAddress, Int32(count))))
    }
    buffer += chunk
  }

  private func fault(_ result: Int32) -> String? {
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return nil
    case SSL_ERROR_ZERO_RETURN: return "the other side has closed it"
    default:
      let verdict = SSL_get_verify_result(ssl)
      // Zero means that the certificate is good (X509_V_OK).
      guard !isOpen, verdict != 0 else { return "TLS: \(OpenSSLError.takeReason())" }
      let reason = X509_verify_cert_error_string(verdict).map { String(cString: $0) } ?? "\(verdict)"
      return "TLS: the certificate is not trusted: \(reason)"
    }
  }
}
