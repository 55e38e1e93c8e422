import Digests
import MediaCore

/// The keys of a room whose media is encrypted end to end (LiveKit's frame encryption): one for everybody, or one for each
/// participant, each under an index that stands in the frames. No text shows them.
public struct FrameKeys: Sendable {
  /// How an encryption key comes from what people agree on.
  public enum Derivation: String, Sendable, CaseIterable {
    /// PBKDF2 with HMAC-SHA-256 and 100,000 rounds: passphrases in all of LiveKit's SDKs, and the default.
    case pbkdf2
    /// HKDF with SHA-256: what LiveKit's JavaScript SDK does with a key that is given as bytes.
    case hkdf
  }

  /// What people agreed on, by index: a passphrase's UTF-8, or bytes. At most 256 of at most `longestKey` bytes.
  @Redacted public var shared: [UInt8: [UInt8]] = [:]
  /// The same for each participant, by identity. Who stands here does not use `shared`.
  @Redacted public var own: [String: [UInt8: [UInt8]]] = [:]
  /// How keys are derived.
  public var derivation = Derivation.pbkdf2
  /// What goes into each derivation.
  @Redacted public var salt: [UInt8] = Array("LKFrameEncryptionKey".utf8)
  /// Which of its keys a bot sends with, by index; nil: the first.
  public var sendingIndex: UInt8?
  /// How many steps a sender may be ahead with its key (each is derived from the one before).
  public var ratchetWindow = 16

  /// Longest key or passphrase, bytes.
  public static let longestKey = 1024
  /// Most participants with keys of their own.
  public static let mostParticipants = 1000

  /// No keys.
  public init() {}

  /// True when there is a key for what somebody sends.
  public func has(participant: String) -> Bool { own[participant] != nil || !shared.isEmpty }

  /// True when somebody of this identity can encrypt what it sends.
  public func canSend(as participant: String) -> Bool { sending(as: participant) != nil }

  /// The key that somebody sends with.
  func sending(as participant: String) -> KeyChain.Name? {
    let ring = own[participant] ?? shared
    guard let index = sendingIndex ?? ring.keys.min(), ring[index] != nil else { return nil }
    return KeyChain.Name(participant: own[participant] == nil ? nil : participant, index: index)
  }

  /// Derives a key: `count` bytes.
  func derive(_ material: [UInt8], count: Int) -> [UInt8] {
    switch derivation {
    case .pbkdf2: KeyDerivation.pbkdf2SHA256(material, salt: salt, rounds: 100_000, count: count)
    case .hkdf:
      KeyDerivation.hkdfSHA256(material, salt: salt, info: [UInt8](repeating: 0, count: 128), count: count)
    }
  }
}
