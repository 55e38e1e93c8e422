import CCrypto

/// Keys from passphrases and from other keys, computed by libcrypto. Any thread.
public enum KeyDerivation {
  /// PBKDF2 with HMAC-SHA-256 (RFC 8018 section 5.2): `count` bytes. Takes long by design: about 30 ms for 100,000 rounds.
  public static func pbkdf2SHA256(_ password: [UInt8], salt: [UInt8], rounds: Int, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
      let done = password.withUnsafeBytes { password in
        PKCS5_PBKDF2_HMAC(
          password.assumingMemoryBound(to: CChar.self).baseAddress, Int32(clamping: password.count), salt,
          Int32(clamping: salt.count), Int32(clamping: rounds), EVP_sha256(), Int32(clamping: count),
          buffer.baseAddress)
      }
      guard done == 1 else { preconditionFailure("libcrypto has no PBKDF2") }
      written = count
    }
  }

  /// HKDF with SHA-256 (RFC 5869): `count` bytes, at most 8160.
  public static func hkdfSHA256(_ key: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
    let extracted = HMAC.sha256(key, key: salt)
    var (found, block): ([UInt8], [UInt8]) = ([], [])
    var counter: UInt8 = 1
    while found.count < count {
      block = HMAC.sha256(block + info + [counter], key: extracted)
      found += block
      counter &+= 1
    }
    return Array(found.prefix(count))
  }
}
