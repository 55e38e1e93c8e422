import CCrypto

/// A hash of bytes that come piece by piece, computed by libcrypto. Any thread; one at a time takes the next bytes.
public struct Digest: ~Copyable, @unchecked Sendable {
  /// What can be computed.
  public enum Algorithm: Hashable, Sendable {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    case sha256
    /// MD5 (RFC 1321): 16 bytes. It protects nothing; stores compare contents by it.
    case md5

    fileprivate var method: OpaquePointer { self == .sha256 ? Self.sha256Method : Self.md5Method }

    // Each is looked up once, when it is first used: libcrypto takes locks for that, and one that is set up for FIPS 140
    // has no MD5. Never changed, and libcrypto lets every thread use them.
    private nonisolated(unsafe) static let sha256Method = fetch("SHA256")
    private nonisolated(unsafe) static let md5Method = fetch("MD5")

    private static func fetch(_ name: String) -> OpaquePointer {
      guard let method = EVP_MD_fetch(nil, name, nil) else { preconditionFailure("libcrypto has no \(name)") }
      return method
    }
  }

  private let context: OpaquePointer

  /// Begins with no bytes.
  public init(_ algorithm: Algorithm) {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, algorithm.method, nil) == 1 else {
      preconditionFailure("libcrypto has no memory")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Takes the next bytes.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    EVP_DigestUpdate(context, start, bytes.count)
  }

  /// The hash of what has come so far; more may come.
  public var value: [UInt8] {
    guard let copy = EVP_MD_CTX_new(), EVP_MD_CTX_copy_ex(copy, context) == 1 else {
      preconditionFailure("libcrypto has no memory")
    }
    defer { EVP_MD_CTX_free(copy) }
    return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      EVP_DigestFinal_ex(copy, buffer.baseAddress, &length)
      count = Int(length)
    }
  }

  /// The hash of bytes.
  public static func of(_ bytes: UnsafeRawBufferPointer, _ algorithm: Algorithm) -> [UInt8] {
    var digest = Digest(algorithm)
    digest.update(bytes)
    return digest.value
  }

  /// The hash of bytes.
  public static func of(_ bytes: [UInt8], _ algorithm: Algorithm) -> [UInt8] {
    bytes.withUnsafeBytes { of($0, algorithm) }
  }

  /// The SHA-256 of bytes.
  public static func sha256(_ bytes: [UInt8]) -> [UInt8] { of(bytes, .sha256) }
}
