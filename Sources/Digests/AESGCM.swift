import CCrypto

// Sendable: who holds the only reference uses it; libcrypto's context itself belongs to no thread.
/// AES in Galois/Counter Mode (NIST SP 800-38D) with nonces of 96 bits and tags of 128, computed by libcrypto. One key, set
/// up once. One thread at a time.
public final class AESGCM: @unchecked Sendable {
  /// Bytes of a nonce.
  public static let nonceLength = 12
  /// Bytes of a tag, which follows the ciphertext.
  public static let tagLength = 16

  private let context: OpaquePointer

  /// Sets up a key of 16 or 32 bytes; nil for other lengths.
  public init?(key: [UInt8]) {
    guard key.count == 16 || key.count == 32 else { return nil }
    guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto has no memory") }
    self.context = context
    guard EVP_DecryptInit_ex(context, key.count == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), nil, key, nil) == 1
    else { return nil }
  }

  deinit { EVP_CIPHER_CTX_free(context) }

  /// Encrypts: `output` gets the ciphertext and behind it the tag, and has room for both. What is `clear` is authenticated only. A nonce is
  /// used once with a key, or both are worth nothing. False when a length is none that can be.
  public func seal(
    _ plain: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, clear: UnsafeRawBufferPointer,
    into output: UnsafeMutableRawPointer
  ) -> Bool {
    guard plain.count <= Int(Int32.max), clear.count <= Int(Int32.max), nonce.count == Self.nonceLength else {
      return false
    }
    let bytes = output.assumingMemoryBound(to: UInt8.self)
    var written: Int32 = 0
    return EVP_EncryptInit_ex(context, nil, nil, nil, nonce.assumingMemoryBound(to: UInt8.self).baseAddress) == 1
      && (clear.isEmpty
        || EVP_EncryptUpdate(
          context, nil, &written, clear.assumingMemoryBound(to: UInt8.self).baseAddress, Int32(clear.count)) == 1)
      && (plain.isEmpty
        || EVP_EncryptUpdate(
          context, bytes, &written, plain.assumingMemoryBound(to: UInt8.self).baseAddress, Int32(plain.count)) == 1)
      && EVP_EncryptFinal_ex(context, bytes + plain.count, &written) == 1
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(Self.tagLength), output + plain.count) == 1
  }

  /// Decrypts what `seal` has encrypted. `sealed` is the ciphertext with its tag, `output` has room for the ciphertext's
  /// bytes. False when key, nonce, tag or `clear` (which was authenticated, not encrypted) are not the right ones: then
  /// what stands in `output` is worth nothing.
  public func open(
    _ sealed: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, clear: UnsafeRawBufferPointer,
    into output: UnsafeMutableRawPointer
  ) -> Bool {
    let length = sealed.count - Self.tagLength
    guard length >= 0, length <= Int(Int32.max), clear.count <= Int(Int32.max), nonce.count == Self.nonceLength,
      let ciphertext = sealed.assumingMemoryBound(to: UInt8.self).baseAddress
    else { return false }
    var written: Int32 = 0
    // libcrypto only reads the tag.
    let tag = UnsafeMutableRawPointer(mutating: ciphertext + length)
    guard
      EVP_DecryptInit_ex(context, nil, nil, nil, nonce.assumingMemoryBound(to: UInt8.self).baseAddress) == 1,
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(Self.tagLength), tag) == 1,
      clear.isEmpty
        || EVP_DecryptUpdate(
          context, nil, &written, clear.assumingMemoryBound(to: UInt8.self).baseAddress, Int32(clear.count)) == 1,
      length == 0
        || EVP_DecryptUpdate(
          context, output.assumingMemoryBound(to: UInt8.self), &written, ciphertext, Int32(length)) == 1
    else { return false }
    var rest: UInt8 = 0
    return EVP_DecryptFinal_ex(context, &rest, &written) == 1
  }
}
