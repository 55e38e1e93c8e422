import CCrypto
import Digests

/// Encrypts as a LiveKit client does.
enum Sealing {
  /// AES-GCM with a tag of 128 bits behind the ciphertext.
  static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], clear: [UInt8]) -> [UInt8] {
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: plain.count + 16)
    var written: Int32 = 0
    EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce)
    EVP_EncryptUpdate(context, nil, &written, clear, Int32(clear.count))
    EVP_EncryptUpdate(context, &sealed, &written, plain, Int32(plain.count))
    var rest = [UInt8](repeating: 0, count: 16)
    EVP_EncryptFinal_ex(context, &rest, &written)
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, &rest)
    sealed.replaceSubrange(plain.count..., with: rest)
    return sealed
  }

  /// A whole frame with `clearLength` clear bytes.
  static func frame(
    _ plain: [UInt8], clearLength: Int, key: [UInt8], index: UInt8 = 0, nonce: [UInt8] = Array(0xa0...0xab)
  ) -> [UInt8] {
    let clear = Array(plain.prefix(clearLength))
    return clear + seal(Array(plain.dropFirst(clearLength)), key: key, nonce: nonce, clear: clear) + nonce
      + [UInt8(nonce.count), index]
  }

  /// The same of H.264: what follows the clear bytes has no start codes.
  static func unit(
    _ plain: [UInt8], clearLength: Int, key: [UInt8], index: UInt8 = 0, nonce: [UInt8] = Array(0xa0...0xab)
  ) -> [UInt8] {
    let whole = frame(plain, clearLength: clearLength, key: key, index: index, nonce: nonce)
    return Array(whole.prefix(clearLength)) + escape(Array(whole.dropFirst(clearLength)))
  }

  /// A 3 before every byte of at most 3 that follows two zeros (H.264 section 7.4.1.1).
  static func escape(_ bytes: [UInt8]) -> [UInt8] {
    var escaped: [UInt8] = []
    for byte in bytes {
      if byte <= 3, escaped.suffix(2) == [0, 0] { escaped.append(3) }
      escaped.append(byte)
    }
    return escaped
  }

  static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { $0 != " " }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { (place: Int) -> UInt8 in
      UInt8(digits[place] << 4 | digits[place + 1])
    }
  }
}
