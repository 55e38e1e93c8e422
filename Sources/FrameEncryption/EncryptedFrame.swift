import Digests
import MediaCore

/// The parts of one frame as LiveKit's SDKs encrypt it: clear bytes, ciphertext and tag, nonce, the nonce's length, the
/// key's index. Valid as long as the bytes are.
struct EncryptedFrame {
  /// What is authenticated only.
  let clear: UnsafeRawBufferPointer
  /// Ciphertext and tag.
  let sealed: UnsafeRawBufferPointer
  let nonce: UnsafeRawBufferPointer
  let keyIndex: UInt8

  /// The nonce's length and the key's index.
  private static let suffix = 2

  /// Nil for bytes that cannot be an encrypted frame with so many clear bytes.
  init?(_ bytes: UnsafeRawBufferPointer, clearLength: Int) {
    let tail = AESGCM.nonceLength + Self.suffix
    guard clearLength >= 0, bytes.count >= clearLength + AESGCM.tagLength + tail,
      Int(bytes[bytes.count - 2]) == AESGCM.nonceLength
    else { return nil }
    let end = bytes.count - tail
    clear = UnsafeRawBufferPointer(rebasing: bytes[..<clearLength])
    sealed = UnsafeRawBufferPointer(rebasing: bytes[clearLength..<end])
    nonce = UnsafeRawBufferPointer(rebasing: bytes[end..<(end + AESGCM.nonceLength)])
    keyIndex = bytes[bytes.count - 1]
  }

  /// How many bytes at the beginning of a codec's frames are not encrypted, so that a server can see what it forwards: the
  /// first of sound, VP8's header (10 bytes of a keyframe, 3 of others: the lowest bit of the first says which, RFC 6386
  /// section 9.1). Nil for the codecs whose frames are not decrypted yet: VP9 is encrypted layer by layer, H.264 in an escaped
  /// form, and LiveKit has none for AV1.
  static func clearLength(_ bytes: UnsafeRawBufferPointer, codec: Codec) -> Int? {
    if codec.kind == .audio { return 1 }
    guard codec == .vp8, let first = bytes.first else { return nil }
    return first & 1 == 0 ? 10 : 3
  }
}

extension EncryptedFrame {
  /// A message of a data channel, the parts of which come apart; nothing of it is clear.
  init(sealed: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, keyIndex: UInt8) {
    clear = UnsafeRawBufferPointer(start: nil, count: 0)
    self.sealed = sealed
    self.nonce = nonce
    self.keyIndex = keyIndex
  }
}
