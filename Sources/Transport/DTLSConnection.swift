import COpenSSL

/// Owner of one `SSL`: the handshake and SCTP's records over it (RFC 6347, RFC 8261). Confined to its loop. Datagrams
/// go in by `receive` and out by `output`; a BIO of its own keeps their boundaries.
final class DTLSConnection {
  enum Event {
    case connected(SRTPKeys)
    /// One record of application data; valid during the call.
    case data(UnsafeRawBufferPointer)
    /// The peer said close_notify.
    case closed
    case failed(String)
  }

  let isClient: Bool
  private(set) var isConnected = false
  private let ssl: OpaquePointer
  private let certificate: DTLSCertificate
  private let expected: Fingerprint
  private let mtu: Int
  private let output: (UnsafeRawBufferPointer) -> Void
  private var isOver = false
  // The datagram that OpenSSL may read now; nothing outside `receive`.
  private var input = UnsafeRawBufferPointer(start: nil, count: 0)
  private var record = [UInt8](repeating: 0, count: 16_384 + 256)

  init(
    certificate: DTLSCertificate, isClient: Bool, expected: Fingerprint, mtu: Int, profiles: [SRTPProfile],
    output: @escaping (UnsafeRawBufferPointer) -> Void
  ) throws(TransportError) {
    guard let ssl = SSL_new(certificate.context), let bio = BIO_new(DTLSConnection.method) else {
      throw .tls(OpenSSLError.take())
    }
    self.ssl = ssl
    self.certificate = certificate
    self.isClient = isClient
    self.expected = expected
    self.mtu = mtu
    self.output = output
    BIO_set_init(bio, 1)
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    SSL_set_bio(ssl, bio, bio)
    // Zero means success here.
    guard SSL_set_tlsext_use_srtp(ssl, profiles.map(\.name).joined(separator: ":")) == 0 else {
      throw .tls(OpenSSLError.take())
    }
    copenssl_set_link_mtu(ssl, Int32(truncatingIfNeeded: mtu))
    // 200 ms doubling up to 3 s: OpenSSL's own first wait of 1 s is long for a lossy network.
    DTLS_set_timer_cb(ssl) { _, last in last == 0 ? 200_000 : min(last &* 2, 3_000_000) }
    if isClient { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
  }

  deinit { SSL_free(ssl) }

  /// Sends the first flight, as a client.
  func start(_ handler: (Event) -> Void) { advance(handler) }

  /// Takes one datagram in.
  func receive(_ datagram: UnsafeRawBufferPointer, _ handler: (Event) -> Void) {
    guard !isOver else { return }
    input = datagram
    advance(handler)
    input = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Nanoseconds until `handleTimeout` must be called; nil when no retransmission is due.
  var timeout: Int64? {
    guard !isOver else { return nil }
    let left = copenssl_timeout(ssl)
    return left < 0 ? nil : left
  }

  /// Retransmits what the peer has not acknowledged.
  func handleTimeout(_ handler: (Event) -> Void) {
    guard !isOver else { return }
    ERR_clear_error()
    if copenssl_handle_timeout(ssl) < 0 { fail("handshake timed out", handler) }
  }

  /// Sends one record of application data.
  func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard isConnected, !isOver, let base = bytes.baseAddress, (1...16_384).contains(bytes.count) else { return false }
    ERR_clear_error()
    return SSL_write(ssl, base, Int32(bytes.count)) == Int32(bytes.count)
  }

  /// Says close_notify.
  func close() {
    guard !isOver else { return }
    isOver = true
    ERR_clear_error()
    if isConnected { SSL_shutdown(ssl) }
    ERR_clear_error()
  }

  private func advance(_ handler: (Event) -> Void) {
    if !isConnected {
      ERR_clear_error()
      let status = SSL_do_handshake(ssl)
      if status != 1 {
        let reason = SSL_get_error(ssl, status)
        if reason != SSL_ERROR_WANT_READ, reason != SSL_ERROR_WANT_WRITE { fail(OpenSSLError.take(), handler) }
        return
      }
      guard let keys = verifiedKeys(handler) else { return }
      isConnected = true
      handler(.connected(keys))
    }
    read(handler)
  }

  private func read(_ handler: (Event) -> Void) {
    // One datagram can hold several records.
    while !isOver {
      ERR_clear_error()
      let count = record.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, Int32($0.count)) }
      if count > 0 {
        record.withUnsafeBytes { handler(.data(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(count))))) }
        continue
      }
      let reason = SSL_get_error(ssl, count)
      if reason == SSL_ERROR_ZERO_RETURN {
        isOver = true
        handler(.closed)
      } else if reason == SSL_ERROR_SSL || reason == SSL_ERROR_SYSCALL {
        // A fatal alert of the peer; a forged record is dropped inside OpenSSL and does not come here.
        fail(OpenSSLError.take(), handler)
      }
      return
    }
  }

  private func verifiedKeys(_ handler: (Event) -> Void) -> SRTPKeys? {
    guard let peer = SSL_get1_peer_certificate(ssl) else {
      fail("no certificate", handler)
      return nil
    }
    defer { X509_free(peer) }
    guard DTLSCertificate.fingerprint(of: peer, algorithm: expected.algorithm) == expected else {
      fail("the certificate does not match the fingerprint", handler)
      return nil
    }
    guard let selected = SSL_get_selected_srtp_profile(ssl),
      let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: selected.pointee.id))
    else {
      fail("no SRTP profile in common", handler)
      return nil
    }
    // RFC 5764 section 4.2: client key, server key, client salt, server salt.
    let key = profile.keyLength
    let salt = profile.saltLength
    var material = [UInt8](repeating: 0, count: 2 * (key + salt))
    let label = "EXTRACTOR-dtls_srtp"
    guard SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0) == 1 else {
      fail(OpenSSLError.take(), handler)
      return nil
    }
    return SRTPKeys(
      profile: profile,
      client: Array(material[0..<key] + material[(2 * key)..<(2 * key + salt)]),
      server: Array(material[key..<(2 * key)] + material[(2 * key + salt)...]))
  }

  private func fail(_ reason: String, _ handler: (Event) -> Void) {
    guard !isOver else { return }
    // Tells the peer, so that it needn't wait for its timer.
    if SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
    isOver = true
    isConnected = false
    ERR_clear_error()
    handler(.failed(reason))
  }

  // MARK: - The BIO

  // Made once and never changed; the library only reads it.
  nonisolated(unsafe) private static let method: OpaquePointer? = {
    guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams") else { return nil }
    BIO_meth_set_write(method) { bio, bytes, count in
      guard let data = BIO_get_data(bio), let bytes, count > 0 else { return -1 }
      let connection = Unmanaged<DTLSConnection>.fromOpaque(data).takeUnretainedValue()
      connection.output(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
      // A datagram that the network does not take is a lost one; the timer sends it again.
      return count
    }
    BIO_meth_set_read(method) { bio, bytes, capacity in
      guard let data = BIO_get_data(bio), let bytes, capacity > 0 else { return -1 }
      let connection = Unmanaged<DTLSConnection>.fromOpaque(data).takeUnretainedValue()
      copenssl_clear_retry(bio)
      let count = min(connection.input.count, Int(capacity))
      guard count > 0, let source = connection.input.baseAddress else {
        copenssl_set_retry_read(bio)
        return -1
      }
      UnsafeMutableRawPointer(bytes).copyMemory(from: source, byteCount: count)
      // What does not fit is lost, as with a socket.
      connection.input = UnsafeRawBufferPointer(start: nil, count: 0)
      return Int32(count)
    }
    BIO_meth_set_ctrl(method) { bio, command, _, _ in
      switch command {
      case BIO_CTRL_FLUSH: return 1
      case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU:
        guard let data = BIO_get_data(bio) else { return 1200 }
        return Unmanaged<DTLSConnection>.fromOpaque(data).takeUnretainedValue().mtu
      default: return 0
      }
    }
    return method
  }()
}
