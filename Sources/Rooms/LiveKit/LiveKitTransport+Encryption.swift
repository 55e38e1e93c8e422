import FrameEncryption
import MediaCore
import PeerConnection
import Platform
import Session
import Signaling
import Transport

/// What comes and goes encrypted end to end. On the loop.
extension LiveKitTransport {
  /// The frame as its sender encoded it; nil when it cannot be decrypted, or is none of its track's sender.
  func decrypted(
    _ frame: EncodedFrame, of track: TrackID, in mid: MID, for connection: Connection
  ) -> EncodedFrame? {
    // What is missing is not encrypted.
    guard frame.payload.count > 0, connection.machine.room.report.roster.encrypted.contains(track) else { return frame }
    guard let owner = connection.machine.room.report.roster.track(track)?.participant.rawValue else { return nil }
    let now = MonotonicClock.now
    let outcome = cryptor?.open(
      frame.payload.bytes, codec: frame.codec, layers: frame.layerCount, from: owner, at: now)
    deriveKeys(for: connection)
    switch outcome {
    case .opened(let payload):
      note(nil, of: track, in: mid, at: now, for: connection)
      var frame = frame
      frame.payload = payload
      if let hasMissed = routes[mid]?.hasMissed, hasMissed {
        frame.followsLoss = true
        routes[mid]?.hasMissed = false
      }
      return frame
    case .refused(let refusal):
      routes[mid]?.hasMissed = true
      if refusal != .pending { note(refusal, of: track, in: mid, at: now, for: connection) }
      return nil
    case .injected, nil: return nil
    }
  }

  /// Decrypts a message of a data channel for the session.
  func decrypt(_ message: EncryptedMessage, for connection: Connection) {
    let content = cryptor?.open(
      message: message.sealed, nonce: message.nonce, keyIndex: message.keyIndex, from: message.sender.rawValue,
      at: MonotonicClock.now)
    deriveKeys(for: connection)
    connection.handle(.decrypted(generation: connection.generation, content, from: message.sender))
  }

  /// Has the next key derived, which takes too long for the loop.
  func deriveKeys(for connection: Connection) {
    guard let work = cryptor?.nextWork() else { return }
    connection.loop.offload {
      work.perform()
    } completion: { [weak self, weak connection] result in
      guard let self, let connection else { return }
      let wasReady = cryptor?.canSeal
      cryptor?.finish(result)
      if wasReady == false, cryptor?.canSeal == true { publisher?.wantKeyframes() }
      deriveKeys(for: connection)
    }
  }

  /// Sends the packets of a message as soon as they can be encrypted, where they must be; a key that is not there after `attempts` turns of 20 ms
  /// never will be.
  func send(
    _ packets: [Livekit_DataPacket], isReliable: Bool, attempts: Int = 250, for connection: Connection,
    completion: @escaping @Sendable (RoomError?) -> Void
  ) {
    guard let publisher else { return completion(RoomError(.connectionLost, "the message was not sent")) }
    if let bytes = wire(packets) { return publisher.send(bytes, isReliable: isReliable, completion: completion) }
    guard attempts > 0 else {
      return completion(RoomError(.rejected, "the message cannot be encrypted, and was not sent"))
    }
    connection.loop.timer(after: .milliseconds(20)) { [self] in
      send(packets, isReliable: isReliable, attempts: attempts - 1, for: connection, completion: completion)
    }
  }

  /// The packets of a message as they go over the data channel: encrypted, in a room where everything is. Nil while the key is derived, or
  /// when there is none.
  private func wire(_ packets: [Livekit_DataPacket]) -> [[UInt8]]? {
    var wire: [[UInt8]] = []
    for packet in packets {
      guard let packet = cryptor == nil ? packet : sealed(packet) else { return nil }
      if let bytes: [UInt8] = try? packet.serializedBytes() { wire.append(bytes) }
    }
    return wire
  }

  private func sealed(_ packet: Livekit_DataPacket) -> Livekit_DataPacket? {
    let content: Livekit_EncryptedPacketPayload.OneOf_Value
    switch packet.value {
    case .user(let value): content = .user(value)
    case .streamHeader(let value): content = .streamHeader(value)
    case .streamChunk(let value): content = .streamChunk(value)
    case .streamTrailer(let value): content = .streamTrailer(value)
    default: return nil
    }
    let payload = Livekit_EncryptedPacketPayload.with { $0.value = content }
    guard let plain: [UInt8] = try? payload.serializedBytes(), let message = cryptor?.seal(message: plain) else {
      return nil
    }
    var packet = packet
    packet.value = .encryptedPacket(
      .with {
        $0.encryptionType = .gcm
        ($0.encryptedValue, $0.iv) = (.init(message.sealed), .init(message.nonce))
        $0.keyIndex = UInt32(message.keyIndex)
      })
    return packet
  }

  /// Tells the session when a track begins, or ceases, to be readable.
  private func note(
    _ refusal: FrameCryptor.Refusal?, of track: TrackID, in mid: MID, at now: Instant, for connection: Connection
  ) {
    guard routes[mid]?.readability.note(isOpened: refusal == nil, at: now) ?? false else { return }
    let reason: String? =
      switch refusal {
      case nil: nil
      case .noKey(let index): "it is encrypted end to end with key \(index), which the key file does not have"
      case .wrongKey(let index): "it is encrypted end to end, and key \(index) of the key file does not open it"
      case .codec(let codec): RoomReport.lockReason(of: codec)
      case .malformed, .pending: "it is announced as encrypted end to end, but what comes has not that form"
      }
    connection.handle(.unreadable(track, reason))
  }
}
