import Logging
import MediaCore
import PeerConnection
import Platform
import Session
import Signaling
import Synchronization
import Transport

/// The numbers of the tracks of this process; one room's need not be without gaps.
private let trackNumbers = Atomic<Int>(0)

extension RoomConnection: TrackPublisher {
  func setMuted(_ track: LocalTrackID, _ isMuted: Bool) { post(.mute(track, isMuted)) }

  func send(
    _ frame: MediaBuffer, of track: LocalTrackID, layer: Int, rtpTime: UInt32, capturedAt: Instant, audioLevel: UInt8?,
    isVoice: Bool
  ) {
    loop.post { [self] in
      transport.sender(of: track)?.send(
        frame: frame.bytes, rtpTimestamp: rtpTime, capturedAt: capturedAt, audioLevel: audioLevel, isVoice: isVoice,
        layer: layer)
    }
  }

  func statistics(of track: LocalTrackID) async -> SendingStatistics? {
    await withCheckedContinuation { continuation in
      loop.post { [self] in continuation.resume(returning: transport.sender(of: track).map(SendingStatistics.init)) }
    }
  }
}

extension SendingStatistics {
  fileprivate init(_ sender: RTPSender) {
    packets = sender.packetCount
    bytes = sender.byteCount
    retransmitted = sender.retransmittedCount
    fractionLost = sender.fractionLost
    roundTripTime = sender.roundTripTime
  }
}

extension RoomConnection: RoomPublisher where Link == LiveKitTransport {
  func publish(_ track: LocalTrackDescription) -> LocalTrackID {
    let id = LocalTrackID(trackNumbers.add(1, ordering: .relaxed).newValue)
    post(.publishing(.publish(id, track)))
    return id
  }

  func unpublish(_ track: LocalTrackID) { post(.publishing(.unpublish(track))) }

  func send(_ message: OutgoingMessage) async throws(RoomError) {
    if let fault = message.fault { throw RoomError(.rejected, fault) }
    var random = SystemRandomNumberGenerator()
    let id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
    let packets = message.packets(id: id, at: WallClock.nanoseconds / 1_000_000)
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<RoomError?, Never>) in
      loop.post { [self] in
        handle(.publishing(.wantData))
        transport.send(packets, isReliable: message.isReliable, for: self) { continuation.resume(returning: $0) }
      }
    }
    if let error { throw error }
  }
}
