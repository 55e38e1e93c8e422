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
  /// By so many bytes a frame grows that is encrypted.
  static let overhead = AESGCM.tagLength + AESGCM.nonceLength + suffix

  /// `rest` is all that follows the clear bytes, without what escapes it. Nil when that cannot be an encrypted frame's.
  init?(clear: UnsafeRawBufferPointer, rest: UnsafeRawBufferPointer) {
    let tail = AESGCM.nonceLength + Self.suffix
    guard rest.count >= AESGCM.tagLength + tail, Int(rest[rest.count - 2]) == AESGCM.nonceLength else { return nil }
    let end = rest.count - tail
    self.clear = clear
    sealed = UnsafeRawBufferPointer(rebasing: rest[..<end])
    nonce = UnsafeRawBufferPointer(rebasing: rest[end..<(end + AESGCM.nonceLength)])
    keyIndex = rest[rest.count - 1]
  }

  /// How many bytes at the beginning of a codec's frames are not encrypted, so that a server can see what it forwards: the
  /// first of sound; VP8's header (10 bytes of a keyframe, 3 of others: the lowest bit of the first says which, RFC 6386
  /// section 9.1); of H.264 all up to the first slice, and that one's header byte and the one behind it; nothing of VP9. Nil
  /// for bytes that cannot be such a frame, and for codecs that are not decrypted.
  static func clearLength(_ bytes: UnsafeRawBufferPointer, codec: Codec) -> Int? {
    let length: Int?
    switch codec {
    case .opus, .g722, .pcmu, .pcma: length = 1
    case .vp8: length = bytes.first.map { $0 & 1 == 0 ? 10 : 3 }
    case .vp9: length = 0
    case .h264: length = firstSlice(bytes).map { $0 + 2 }
    case .av1, .h265: length = nil
    }
    return length.flatMap { $0 <= bytes.count ? $0 : nil }
  }

  /// Where the header of the first slice stands in a byte stream of H.264 (NAL units of the types 1 and 5).
  private static func firstSlice(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var zeros = 0
    for index in 0..<max(0, bytes.count - 1) {
      if bytes[index] == 1, zeros >= 2, [1, 5].contains(bytes[index + 1] & 0x1f) { return index + 1 }
      zeros = bytes[index] == 0 ? zeros + 1 : 0
    }
    return nil
  }

  /// Undoes what keeps start codes out of encrypted H.264: after two zeros, a 3 stands for nothing. `output` has room for all.
  /// Gives how many bytes are left.
  static func unescape(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    var zeros = 0
    for byte in bytes {
      if byte == 3, zeros >= 2 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      output[count] = byte
      count += 1
    }
    return count
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
