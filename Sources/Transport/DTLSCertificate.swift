import COpenSSL
import TLS

// Sendable: nothing changes after `init`, and OpenSSL counts references to a context with atomics.
/// A self-signed ECDSA P-256 certificate for one or more transports (RFC 8827 section 6.5). Made in about a
/// millisecond; its key never leaves the process.
public final class DTLSCertificate: @unchecked Sendable {
  /// SHA-256 hash for `a=fingerprint`.
  public let fingerprint: Fingerprint
  /// Configured for DTLS 1.2 with this certificate.
  let context: OpaquePointer

  private static let validSeconds = 30 * 24 * 3600
  private static let skewSeconds = 24 * 3600
  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
  private static let groups = "X25519:P-256:P-384"

  /// Makes a key and a certificate, valid for 30 days.
  public init() throws(TransportError) {
    guard let key = copenssl_make_p256_key() else { throw .tls(OpenSSLError.take()) }
    defer { EVP_PKEY_free(key) }
    guard let certificate = X509_new() else { throw .tls(OpenSSLError.take()) }
    defer { X509_free(certificate) }
    var serial: Int64 = 0
    withUnsafeMutableBytes(of: &serial) { bytes in
      _ = RAND_bytes(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
    }
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial & Int64.max)
    X509_gmtime_adj(X509_getm_notBefore(certificate), -DTLSCertificate.skewSeconds)
    X509_gmtime_adj(X509_getm_notAfter(certificate), DTLSCertificate.validSeconds)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "WebRTC", -1, -1, 0)
    X509_set_issuer_name(certificate, name)
    guard X509_set_pubkey(certificate, key) == 1, X509_sign(certificate, key, EVP_sha256()) > 0,
      let fingerprint = DTLSCertificate.fingerprint(of: certificate, algorithm: "sha-256"),
      let context = SSL_CTX_new(DTLS_method())
    else { throw .tls(OpenSSLError.take()) }
    self.fingerprint = fingerprint
    self.context = context
    guard copenssl_require_dtls12(context) == 1,
      SSL_CTX_set_cipher_list(context, DTLSCertificate.ciphers) == 1,
      copenssl_set_groups(context, DTLSCertificate.groups) == 1,
      SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1
    else { throw .tls(OpenSSLError.take()) }
    _ = copenssl_set_options(context)
    copenssl_set_read_ahead(context)
    SSL_CTX_set_quiet_shutdown(context, 0)
    // The peer must have a certificate. Whether it is the right one, the fingerprint says (RFC 8122 section 6.2): that
    // is checked when the handshake ends, before anything passes; chains and dates mean nothing here.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
  }

  deinit { SSL_CTX_free(context) }

  /// The certificate's hash by another function than SHA-256; see `fingerprint(of:algorithm:)`.
  func hash(_ algorithm: String) throws(TransportError) -> Fingerprint {
    guard let certificate = SSL_CTX_get0_certificate(context),
      let fingerprint = DTLSCertificate.fingerprint(of: certificate, algorithm: algorithm)
    else { throw .tls("no such hash function") }
    return fingerprint
  }

  /// The hash of a certificate by the named function, or nil when the function is not one of RFC 8122 section 5 that
  /// is still fit for use.
  static func fingerprint(of certificate: OpaquePointer, algorithm: String) -> Fingerprint? {
    let digest: OpaquePointer?
    switch algorithm {
    case "sha-1": digest = EVP_sha1()
    case "sha-224": digest = EVP_sha224()
    case "sha-256": digest = EVP_sha256()
    case "sha-384": digest = EVP_sha384()
    case "sha-512": digest = EVP_sha512()
    default: return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard X509_digest(certificate, digest, &bytes, &count) == 1 else { return nil }
    let digits = Array("0123456789ABCDEF")
    let text = bytes.prefix(Int(count)).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
    return Fingerprint(algorithm: algorithm, value: text.joined(separator: ":"))
  }
}
