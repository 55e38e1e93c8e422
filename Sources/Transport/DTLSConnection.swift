import COpenSSL
import MediaCore
import TLS

/// Owner of one `SSL`: the handshake and SCTP's records over it (RFC 6347, RFC 8261). Confined to its loop. Datagrams
/// go in by `receive` and out by `output`; a BIO of its own keeps their boundaries.
///
/// Anybody may send datagrams to our port. So `DTLSRecordFilter` keeps from OpenSSL what can't be genuine, and what
/// OpenSSL returns ends nothing by itself, for its answers to forged records differ between patch releases. The end is
/// an alert that came under the agreed keys; before there are keys, an error of the library makes the handshake begin
/// anew, until `giveUp`.
final class DTLSConnection {
  enum Event {
    case connected(SRTPKeys)
    /// One record of application data; valid during the call.
    case data(UnsafeRawBufferPointer)
    /// The peer said close_notify under the agreed keys.
    case closed
    /// The peer is not who it should be, sent a fatal alert under the agreed keys, or the handshake was given up.
    case failed(String)
  }

  let isClient: Bool
  private(set) var isConnected = false
  /// The last sign that the handshake has failed, in words: an alert that nobody vouches for, or the library's error.
  /// Nil without one, and when the handshake is complete.
  private(set) var doubt: String?
  /// Records that were kept from OpenSSL, and those that it could make nothing of after the handshake.
  private(set) var droppedRecords: UInt64 = 0
  private var ssl: OpaquePointer
  private let certificate: DTLSCertificate
  private let expected: Fingerprint
  private let mtu: Int
  private let profiles: String
  private let output: (UnsafeRawBufferPointer) -> Void
  private var isOver = false
  // The datagram that OpenSSL may read now; nothing outside `receive`.
  private var input = UnsafeRawBufferPointer(start: nil, count: 0)
  private var record = [UInt8](repeating: 0, count: 16_384 + 256)
  private var renumbered: [UInt8] = []
  private var filter: DTLSRecordFilter
  private var attempts = 1
  // What the peer is told when the handshake is given up.
  private var heldAlert: [UInt8] = []

  // Each costs the work of a handshake, and forged records are cheap.
  private static let maximumAttempts = 8

  init(
    certificate: DTLSCertificate, isClient: Bool, expected: Fingerprint, mtu: Int, profiles: [SRTPProfile],
    output: @escaping (UnsafeRawBufferPointer) -> Void
  ) throws(TransportError) {
    self.certificate = certificate
    self.isClient = isClient
    self.expected = expected
    self.mtu = mtu
    self.profiles = profiles.map(\.name).joined(separator: ":")
    self.output = output
    filter = DTLSRecordFilter(isClient: isClient)
    ssl = try DTLSConnection.makeSSL(certificate, isClient: isClient, mtu: mtu, profiles: self.profiles)
    BIO_set_data(SSL_get_rbio(ssl), Unmanaged.passUnretained(self).toOpaque())
  }

  /// An `SSL` at the beginning of a handshake. Its BIO knows no connection yet.
  private static func makeSSL(
    _ certificate: DTLSCertificate, isClient: Bool, mtu: Int, profiles: String
  ) throws(TransportError) -> OpaquePointer {
    guard let ssl = SSL_new(certificate.context) else { throw .tls(OpenSSLError.take()) }
    // Zero means success for the profiles.
    guard let bio = BIO_new(DTLSConnection.method), SSL_set_tlsext_use_srtp(ssl, profiles) == 0 else {
      SSL_free(ssl)
      throw .tls(OpenSSLError.take())
    }
    BIO_set_init(bio, 1)
    SSL_set_bio(ssl, bio, bio)
    copenssl_set_link_mtu(ssl, Int32(truncatingIfNeeded: mtu))
    // 200 ms doubling up to 3 s: OpenSSL's own first wait of 1 s is long for a lossy network.
    DTLS_set_timer_cb(ssl) { _, last in last == 0 ? 200_000 : min(last &* 2, 3_000_000) }
    if isClient { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
    return ssl
  }

  deinit { SSL_free(ssl) }

  /// Sends the first flight, as a client.
  func start(_ handler: (Event) -> Void) { advance(handler) }

  /// Takes one datagram in.
  func receive(_ datagram: UnsafeRawBufferPointer, _ handler: (Event) -> Void) {
    var offset = 0
    // One by one, so that a forged record takes no genuine one with it.
    while !isOver, let record = DTLSRecordFilter.nextRecord(of: datagram, from: offset) {
      offset += record.count
      switch filter.judge(record) {
      case .pass: advance(record, handler)
      case .renumber(let number):
        renumbered.removeAll(keepingCapacity: true)
        renumbered.append(contentsOf: record)
        for index in 0..<6 { renumbered[5 + index] = UInt8(truncatingIfNeeded: number >> (40 - 8 * index)) }
        renumbered.withUnsafeBytes { advance($0, handler) }
      case .alert(let description):
        droppedRecords &+= 1
        let words = SSL_alert_desc_string_long(Int32(description)).map { String(cString: $0) } ?? ""
        doubt = "an alert in clear text said \(description) (\(words))"
      case .drop: droppedRecords &+= 1
      }
    }
    if offset < datagram.count { droppedRecords &+= 1 }
  }

  /// Ends a handshake that took too long; the peer hears what OpenSSL had to say.
  func giveUp(_ handler: (Event) -> Void) {
    guard !isOver, !isConnected else { return }
    if !heldAlert.isEmpty { heldAlert.withUnsafeBytes { output($0) } }
    fail("the handshake did not complete" + (doubt.map { ": \($0)" } ?? ""), handler)
  }

  /// The time until `handleTimeout` must be called; nil when no retransmission is due.
  var timeout: Duration? {
    guard !isOver else { return nil }
    let left = copenssl_timeout(ssl)
    return left < 0 ? nil : .nanoseconds(left)
  }

  /// Retransmits what the peer has not acknowledged.
  func handleTimeout(_ handler: (Event) -> Void) {
    guard !isOver else { return }
    ERR_clear_error()
    if copenssl_handle_timeout(ssl) < 0 { giveUp(handler) }
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

  private func advance(_ record: UnsafeRawBufferPointer, _ handler: (Event) -> Void) {
    input = record
    advance(handler)
    input = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  private func advance(_ handler: (Event) -> Void) {
    if !isConnected {
      ERR_clear_error()
      guard SSL_do_handshake(ssl) == 1 else {
        handshakeStopped(handler)
        return
      }
      guard let keys = verifiedKeys(handler) else { return }
      isConnected = true
      filter.isConnected = true
      if SSL_CIPHER_get_cipher_nid(SSL_get_current_cipher(ssl)) == NID_chacha20_poly1305 {
        filter.shortestBody = DTLSRecordFilter.overheadChaCha
      }
      doubt = nil
      handler(.connected(keys))
    }
    read(handler)
  }

  /// OpenSSL waits for the next record, or has met with an error.
  private func handshakeStopped(_ handler: (Event) -> Void) {
    // Alerts in clear text do not come here: it is one under keys.
    if hasHeardTheEnd {
      fail(OpenSSLError.take(), handler)
      return
    }
    // Only the state tells of an error that stays; the return values differ between releases.
    guard copenssl_has_failed(ssl) == 1 else { return }
    doubt = OpenSSLError.take()
    beginAnew()
  }

  private func beginAnew() {
    guard attempts < DTLSConnection.maximumAttempts,
      let fresh = try? DTLSConnection.makeSSL(certificate, isClient: isClient, mtu: mtu, profiles: profiles)
    else { return }
    attempts += 1
    SSL_free(ssl)
    ssl = fresh
    BIO_set_data(SSL_get_rbio(ssl), Unmanaged.passUnretained(self).toOpaque())
    filter = DTLSRecordFilter(isClient: isClient)
    input = UnsafeRawBufferPointer(start: nil, count: 0)
    ERR_clear_error()
    if isClient { SSL_do_handshake(ssl) }
    ERR_clear_error()
  }

  /// True when an alert has come that ends the connection.
  private var hasHeardTheEnd: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

  private func read(_ handler: (Event) -> Void) {
    while !isOver {
      ERR_clear_error()
      let count = record.withUnsafeMutableBytes { SSL_read(ssl, $0.baseAddress, Int32($0.count)) }
      if count > 0 {
        record.withUnsafeBytes { handler(.data(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(count))))) }
        continue
      }
      let reason = SSL_get_error(ssl, count)
      if !hasHeardTheEnd {
        // A forged record, whatever it is called: OpenSSL says that it wants more, or speaks of an error.
        if reason != SSL_ERROR_WANT_READ { droppedRecords &+= 1 }
      } else if reason == SSL_ERROR_ZERO_RETURN {
        isOver = true
        handler(.closed)
      } else {
        fail(OpenSSLError.take(), handler)
      }
      return
    }
  }

  /// One datagram of OpenSSL's, of one record or several.
  private func write(_ datagram: UnsafeRawBufferPointer) {
    guard !isConnected else {
      output(datagram)
      return
    }
    var kept = 0
    var offset = 0
    while let record = DTLSRecordFilter.nextRecord(of: datagram, from: offset) {
      let end = offset + record.count
      if DTLSRecordFilter.isClearAlert(record) {
        heldAlert = Array(record)
        if kept < offset { output(UnsafeRawBufferPointer(rebasing: datagram[kept..<offset])) }
        kept = end
      }
      offset = end
    }
    if kept < datagram.count { output(UnsafeRawBufferPointer(rebasing: datagram[kept...])) }
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
      connection.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
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
