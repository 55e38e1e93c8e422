import COpenSSL
import MediaCore

/// TLS of a connection that this machine opens (RFC 8446), without the connection: bytes of the network go in and come
/// out, and so do plain ones. The server's certificate and name are verified always. Confined to one thread at a time.
public final class TLSSession {
  /// Why it is over.
  public enum End: Hashable, Sendable {
    /// The other side has said that nothing more comes (`close_notify`, RFC 8446 section 6.1).
    case closed
    /// The handshake failed, or what came is damaged.
    case fault(TLSFault)
  }

  /// True once the handshake is complete and the server is who it should be.
  public private(set) var isOpen = false
  private let ssl: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer
  /// What is wrong with the certificates, as the verification finds it.
  private let verdict: UnsafeMutablePointer<copenssl_verdict>
  // The largest record (RFC 8446 section 5.1).
  private var plain = [UInt8](repeating: 0, count: 16_384)

  /// - Parameters:
  ///   - host: the name, or the numeric address, that the certificate must be for. A name is told to the server, too.
  ///   - isNumeric: whether it is an address.
  ///   - application: what is spoken inside, such as `http/1.1` (RFC 7301); nil says nothing of it.
  public init(
    _ context: TLSContext, host: String, isNumeric: Bool, application: String? = nil
  ) throws(TLSContext.Failure) {
    guard let ssl = SSL_new(context.context) else { throw .init(description: OpenSSLError.takeReason()) }
    let isNamed = copenssl_expect_host(ssl, host, isNumeric ? 1 : 0) == 1
    let words = application.map { [UInt8($0.utf8.count & 0xff)] + Array($0.utf8) } ?? []
    let isSpoken = words.isEmpty || SSL_set_alpn_protos(ssl, words, UInt32(words.count)) == 0
    guard isNamed, isSpoken, let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      throw .init(description: OpenSSLError.takeReason())
    }
    verdict = .allocate(capacity: 1)
    verdict.initialize(to: copenssl_verdict())
    copenssl_verify_server(ssl, verdict)
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    (self.ssl, self.input, self.output) = (ssl, input, output)
  }

  deinit {
    SSL_free(ssl)
    verdict.deallocate()
  }

  /// Goes on with bytes from the network (none begins the handshake), and gives the plain ones that they hold. Returns
  /// why it is over, or nil. Call `drain` afterwards.
  public func receive(_ bytes: UnsafeRawBufferPointer, _ handler: (UnsafeRawBufferPointer) -> Void) -> End? {
    ERR_clear_error()
    if let base = bytes.baseAddress, !bytes.isEmpty {
      guard BIO_write(input, base, Int32(bytes.count)) == Int32(bytes.count) else { return .fault(.other("no memory")) }
    }
    if !isOpen {
      let result = SSL_do_handshake(ssl)
      guard result == 1 else { return end(result) }
      isOpen = true
    }
    while true {
      let count = SSL_read(ssl, &plain, Int32(plain.count))
      guard count > 0 else { return end(count) }
      plain.withUnsafeBytes { handler(UnsafeRawBufferPointer(rebasing: $0.prefix(Int(count)))) }
    }
  }

  /// Encrypts plain bytes, at most 1 GiB of them. Only when `isOpen`; call `drain` afterwards.
  public func send(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, !bytes.isEmpty, isOpen else { return }
    ERR_clear_error()
    _ = SSL_write(ssl, base, Int32(clamping: bytes.count))
  }

  /// Says that nothing more comes; call `drain` afterwards.
  public func close() {
    guard isOpen else { return }
    ERR_clear_error()
    _ = SSL_shutdown(ssl)
  }

  /// Bytes that are to be sent.
  public var pending: Int { Int(BIO_ctrl_pending(output)) }

  /// Moves bytes that are to be sent into a buffer; gives how many.
  public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard !buffer.isEmpty else { return 0 }
    return max(0, Int(BIO_read(output, buffer.baseAddress, Int32(clamping: buffer.count))))
  }

  private func end(_ result: Int32) -> End? {
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return nil
    case SSL_ERROR_ZERO_RETURN: return .closed
    default:
      let error = ERR_get_error()
      ERR_clear_error()
      guard !isOpen, verdict.pointee.error != 0 else {
        let reason = ERR_reason_error_string(error).map { String(cString: $0) } ?? ""
        return .fault(TLSFault(reason: copenssl_reason(error), words: reason))
      }
      return .fault(TLSFault(verdict.pointee))
    }
  }
}

extension TLSFault {
  /// What is wrong with a certificate: of one whose time is over that is said, whoever has signed it.
  init(_ verdict: copenssl_verdict) {
    func day(_ seconds: Int64) -> String { CivilTime.texts(microseconds: seconds &* 1_000_000).date }
    if copenssl_is_mismatch(verdict.error) == 1 {
      self = .wrongName
    } else if verdict.is_over == 1 {
      self = .expired(day(verdict.until))
    } else if verdict.is_early == 1 {
      self = .notYetValid(day(verdict.from))
    } else {
      self = .untrusted
    }
  }

  /// What an error of a handshake is, by OpenSSL's number of it (`sslerr.h`; alerts of the peer are 1000 and theirs of RFC 8446
  /// section 6) and its words for it.
  init(reason: Int32, words: String) {
    switch reason {
    // wrong version number, http request, packet length too long
    case 267, 156, 198: self = .notTLS
    // unsupported protocol, no protocols available, no shared cipher; alerts handshake_failure, protocol_version and
    // insufficient_security
    case 258, 191, 193, 1040, 1070, 1071: self = .nothingInCommon
    case 1000..<1256:
      let alert = words.firstRange(of: "alert ").map { words[$0.upperBound...] } ?? words[...]
      self = .refused(String(alert.prefix(60)))
    // unexpected eof while reading
    case 294: self = .closed
    default: self = .other(String(words.prefix(60)))
    }
  }
}
