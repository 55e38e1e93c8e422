import MediaCore
import Session
import Signaling

/// What people and applications send over a room's data channels, as the recording hears it; what comes encrypted end to
/// end is given out to be decrypted and comes back. A pure value.
///
/// ```
///   message ─► readable ──────────────────────────► events
///          └─► encrypted ─► no key: told once in the log
///                       └─► decrypt ─► decrypted ─► events
///                                  └─► wrong key: told once in the log
/// ```
struct MessageReceiver: Sendable {
  /// The longest message of a data channel that is looked at, bytes.
  static let messageLimit = 262_144

  private var data = DataReceiver()
  /// True when the log says that messages cannot be read.
  private var hasToldLocked = false
  private let hasKeys: Bool

  /// A receiver of a room; `hasKeys`: what is encrypted can be decrypted.
  init(hasKeys: Bool) { self.hasKeys = hasKeys }

  /// The newest reliable packet of each sender, for going on with a session.
  var receiveStates: [Livekit_DataChannelReceiveState] { data.receiveStates }

  /// A message came on one of the two data channels.
  mutating func receive(
    _ bytes: [UInt8], isReliable: Bool, roster: LiveKitRoster, at now: Instant
  ) -> [LiveKitSession.Action] {
    guard bytes.count <= Self.messageLimit, let packet = SignalCoding.packet(bytes) else { return [] }
    let encrypted = data.encrypted
    let dropped = data.dropped
    var actions: [LiveKitSession.Action] = data.receive(packet, isReliable: isReliable, roster: roster, at: now)
      .map { .emit($0) }
    if data.encrypted != encrypted { actions += receiveEncrypted(packet, roster) }
    if dropped == 0, data.dropped > 0 {
      actions.append(.log(.notice, "more messages come than can be kept; some are left out"))
    }
    return actions
  }

  /// What an encrypted message holds; nil when it could not be decrypted.
  mutating func decrypted(
    _ content: [UInt8]?, from sender: ParticipantIdentity, roster: LiveKitRoster, at now: Instant
  ) -> [LiveKitSession.Action] {
    guard let content, let value = SignalCoding.encryptedPayload(content) else {
      return tellLocked("messages are encrypted end to end with another key than the recording's")
    }
    // What comes twice was left out while it was encrypted.
    let packet = Livekit_DataPacket.with {
      $0.participantIdentity = sender.rawValue
      $0.value = value
    }
    return data.receive(packet, isReliable: false, roster: roster, at: now).map { .emit($0) }
  }

  private mutating func receiveEncrypted(
    _ packet: Livekit_DataPacket, _ roster: LiveKitRoster
  ) -> [LiveKitSession.Action] {
    guard hasKeys else {
      return tellLocked("messages are encrypted end to end; --e2ee-key-file gives the recording a key")
    }
    guard let sender = data.sender(of: packet, roster), case .encryptedPacket(let sealed)? = packet.value else {
      return []
    }
    let message = EncryptedMessage(
      sender: sender, sealed: Array(sealed.encryptedValue), nonce: Array(sealed.iv), keyIndex: sealed.keyIndex)
    return [.perform(.decrypt(message))]
  }

  private mutating func tellLocked(_ text: String) -> [LiveKitSession.Action] {
    defer { hasToldLocked = true }
    return hasToldLocked ? [] : [.log(.warning, text)]
  }
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
