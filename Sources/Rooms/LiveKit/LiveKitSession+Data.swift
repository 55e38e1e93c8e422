import MediaCore
import Session
import Signaling

/// What people and applications send, and what the bot wants to be sent.
extension LiveKitSession {
  /// The longest message of a data channel that is looked at, bytes.
  static let messageLimit = 262_144

  /// A message came on one of the two data channels.
  mutating func receiveData(_ bytes: [UInt8], isReliable: Bool, at now: Int64) {
    guard hasJoined, bytes.count <= Self.messageLimit, let packet = SignalCoding.packet(bytes) else { return }
    let encrypted = data.encrypted
    let dropped = data.dropped
    for event in data.receive(packet, isReliable: isReliable, roster: roster, at: now) { add(.emit(event)) }
    if data.encrypted != encrypted { receiveEncrypted(packet) }
    if dropped == 0, data.dropped > 0 {
      log(.notice, "more messages come than can be kept; some are left out")
    }
  }

  // MARK: Reception

  /// The most tracks about which wishes are kept.
  private static let wishLimit = 2000

  /// Takes the recording's wishes about video tracks, tells the server, and tells the recording what is asked for.
  mutating func receive(_ new: [ReceptionWish]) {
    for wish in new where roster.track(wish.track) != nil {
      guard wishes[wish.track] != nil || wishes.count < Self.wishLimit else { continue }
      let old = wishes.updateValue(wish, forKey: wish.track)
      if phase == .open { send(wish) }
      if (old?.reception ?? .wanted) != wish.reception { add(.emit(.trackReception(wish.track, wish.reception))) }
    }
  }

  /// After a join or a resume: the server has forgotten, or did not hear of it.
  mutating func sendWishes() {
    wishes = wishes.filter { roster.track($0.key) != nil }
    for (_, wish) in wishes.sorted(by: { $0.key < $1.key }) { send(wish) }
  }

  private mutating func send(_ wish: ReceptionWish) {
    send {
      $0.trackSetting = .with {
        $0.trackSids = [wish.track.rawValue]
        $0.disabled = wish.reception != .wanted
        $0.quality = .high
        $0.width = UInt32(clamping: wish.width)
        $0.height = UInt32(clamping: wish.height)
        $0.priority = UInt32(clamping: wish.priority)
      }
    }
  }

  // MARK: The connection

  /// The server rates connections; ours is looked at.
  mutating func receiveQuality(_ updates: [Livekit_ConnectionQualityInfo]) {
    for update in updates where update.participantSid == participantSID {
      quality =
        switch update.quality {
        case .poor: .poor
        case .good: .good
        case .excellent: .excellent
        case .lost: .lost
        case .UNRECOGNIZED: .unknown
        }
    }
  }
}
