import CCrypto

/// Message authentication codes (RFC 2104) with SHA-256, computed by libcrypto. Any thread.
public enum HMAC {
  /// The code of bytes: 32 bytes.
  public static func sha256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    // libcrypto takes no empty key; zeros at its end change nothing (RFC 2104 section 2).
    let key = key.isEmpty ? [0] : key
    return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      var length = 0
      let done = bytes.withUnsafeBufferPointer { bytes in
        EVP_Q_mac(
          nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes.baseAddress, bytes.count, buffer.baseAddress, 32,
          &length)
      }
      guard done != nil, length == 32 else { preconditionFailure("libcrypto has no HMAC") }
      count = length
    }
  }

  /// True when `code` is that of bytes; compared in a time that does not depend on where it differs.
  public static func isSHA256(_ code: [UInt8], of bytes: [UInt8], key: [UInt8]) -> Bool {
    isEqual(code, sha256(bytes, key: key))
  }

  /// Compares secrets of a known length, in a time that does not depend on where they differ.
  public static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }
}
