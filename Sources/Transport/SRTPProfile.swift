/// A DTLS-SRTP protection profile (RFC 5764 section 4.1.2, RFC 7714 section 14.2).
public enum SRTPProfile: UInt16, Sendable, Hashable, CaseIterable {
  /// SRTP_AEAD_AES_256_GCM.
  case aes256GCM = 0x0008
  /// SRTP_AEAD_AES_128_GCM.
  case aes128GCM = 0x0007
  /// SRTP_AES128_CM_SHA1_80: every peer has it.
  case aes128SHA1 = 0x0001

  /// OpenSSL's name.
  var name: String {
    switch self {
    case .aes256GCM: "SRTP_AEAD_AES_256_GCM"
    case .aes128GCM: "SRTP_AEAD_AES_128_GCM"
    case .aes128SHA1: "SRTP_AES128_CM_SHA1_80"
    }
  }

  /// Bytes of a master key.
  var keyLength: Int { self == .aes256GCM ? 32 : 16 }
  /// Bytes of a master salt.
  var saltLength: Int { self == .aes128SHA1 ? 14 : 12 }
  /// As the C shim wants it.
  var gcmBits: Int32 {
    switch self {
    case .aes256GCM: 256
    case .aes128GCM: 128
    case .aes128SHA1: 0
    }
  }
}

/// The two master keys, each followed by its salt, that the handshake has given.
struct SRTPKeys {
  var profile: SRTPProfile
  var client: [UInt8]
  var server: [UInt8]
}
