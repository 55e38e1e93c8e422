import FrameEncryption
import MediaCore
import Session
import Signaling

/// What is encrypted end to end: which tracks cannot be read, and messages that others decrypt.
extension LiveKitSession {
  /// Why a track cannot be read; nil when it can be, or is not encrypted.
  func lockReason(of id: TrackID) -> String? {
    guard roster.encrypted.contains(id), let owner = roster.track(id)?.participant else { return nil }
    guard let keys = settings.keys else {
      return "it is encrypted end to end; --e2ee-key-file gives the recording a key"
    }
    guard keys.has(participant: owner.rawValue) else {
      return "it is encrypted end to end, and the key file has no key for '\(PeerText.line(owner.rawValue, limit: 80))'"
    }
    if let codec = roster.encryptedCodecs[id], !FrameDecryption.opens(codec) { return Self.lockReason(of: codec) }
    return encryption.unreadable[id]
  }

  /// Why nothing that comes encrypted in a codec can be read.
  static func lockReason(of codec: Codec) -> String {
    "it is encrypted end to end in \(codec.title), for which LiveKit's clients have no common form; VP8, VP9 and H.264 can "
      + "be decrypted"
  }

  /// A track, with what stands against it.
  func described(_ id: TrackID) -> Track? {
    var track = roster.track(id)
    if lockReason(of: id) != nil { track?.obstacle = .encrypted }
    return track
  }

  /// What comes of a track can be decrypted (nil), or cannot for this reason.
  mutating func setUnreadable(_ id: TrackID, _ reason: String?) {
    guard roster.encrypted.contains(id), encryption.unreadable[id] != reason else { return }
    encryption.unreadable[id] = reason
    if reason == nil { toldLacks[id] = nil }
    roster.changes.add(id)
    tell()
  }

  /// A message is encrypted: with keys it is decrypted, and comes back by `decrypted`.
  mutating func receiveEncrypted(_ packet: Livekit_DataPacket) {
    guard settings.keys != nil else {
      tellLostMessages("messages are encrypted end to end; --e2ee-key-file gives the recording a key")
      return
    }
    guard let sender = data.sender(of: packet, roster), case .encryptedPacket(let sealed)? = packet.value else {
      return
    }
    add(
      .decrypt(
        EncryptedMessage(
          sender: sender, sealed: Array(sealed.encryptedValue), nonce: Array(sealed.iv), keyIndex: sealed.keyIndex)))
  }

  /// What an encrypted message holds; nil when it could not be decrypted.
  mutating func decrypted(_ content: [UInt8]?, from sender: ParticipantIdentity, at now: Int64) {
    guard let content, let value = SignalCoding.encryptedPayload(content) else {
      tellLostMessages("messages are encrypted end to end with another key than the recording's")
      return
    }
    // What comes twice was left out while it was encrypted.
    let packet = Livekit_DataPacket.with {
      $0.participantIdentity = sender.rawValue
      $0.value = value
    }
    for event in data.receive(packet, isReliable: false, roster: roster, at: now) { add(.emit(event)) }
  }

  private mutating func tellLostMessages(_ text: String) {
    if !encryption.hasToldMessages { log(.warning, text) }
    encryption.hasToldMessages = true
  }
}

/// What a session knows of what is encrypted end to end.
struct EncryptionState: Sendable {
  /// Why tracks for which there is a key cannot be decrypted.
  var unreadable: [TrackID: String] = [:]
  /// True when the log says that messages cannot be read.
  var hasToldMessages = false
}

/// A message of a data channel that is to be decrypted.
struct EncryptedMessage: Hashable, Sendable {
  /// Who sent it.
  var sender: ParticipantIdentity
  /// Ciphertext and tag.
  var sealed: [UInt8]
  /// 12 bytes.
  var nonce: [UInt8]
  /// Of the sender's key.
  var keyIndex: UInt32
}
