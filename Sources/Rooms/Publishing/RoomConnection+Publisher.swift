import Logging
import MediaCore
import Platform
import Session
import Signaling
import Synchronization
import Transport

/// The numbers of the tracks of this process; one room's need not be without gaps.
private let trackNumbers = Atomic<Int>(0)

extension RoomConnection: RoomPublisher where Link == LiveKitTransport {
  func publish(_ track: LocalTrackDescription) -> LocalTrackID {
    let id = LocalTrackID(trackNumbers.add(1, ordering: .relaxed).newValue)
    input(.publish(id, track))
    return id
  }

  func unpublish(_ track: LocalTrackID) { input(.unpublish(track)) }

  func setMuted(_ track: LocalTrackID, _ isMuted: Bool) { input(.mute(track, isMuted)) }

  private func input(_ input: PublishingInput) {
    loop.post { [self] in handle(.publishing(input)) }
  }

  func send(
    _ frame: MediaBuffer, of track: LocalTrackID, layer: Int, rtpTime: UInt32, capturedAt: Instant, audioLevel: UInt8?,
    isVoice: Bool
  ) {
    loop.post { [self] in
      transport.publisher?.sender(of: track)?.send(
        frame: frame.bytes, rtpTimestamp: rtpTime, capturedAt: capturedAt, audioLevel: audioLevel, isVoice: isVoice,
        layer: layer)
    }
  }

  func send(_ message: OutgoingMessage) async throws(RoomError) {
    if let fault = message.fault { throw RoomError(.rejected, fault) }
    var random = SystemRandomNumberGenerator()
    let id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
    let packets = message.packets(id: id, at: WallClock.nanoseconds / 1_000_000)
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<RoomError?, Never>) in
      loop.post { [self] in
        handle(.publishing(.wantData))
        guard let publisher = transport.publisher else {
          return continuation.resume(returning: RoomError(.connectionLost, "the message was not sent"))
        }
        let bytes = packets.compactMap { try? $0.serializedBytes() as [UInt8] }
        publisher.send(bytes, isReliable: message.isReliable) { continuation.resume(returning: $0) }
      }
    }
    if let error { throw error }
  }

  func statistics(of track: LocalTrackID) async -> SendingStatistics? {
    await withCheckedContinuation { continuation in
      loop.post { [self] in
        guard let sender = transport.publisher?.sender(of: track) else { return continuation.resume(returning: nil) }
        var statistics = SendingStatistics()
        statistics.packets = sender.packetCount
        statistics.bytes = sender.byteCount
        statistics.retransmitted = sender.retransmittedCount
        statistics.fractionLost = sender.fractionLost
        statistics.roundTripTime = sender.roundTripTime
        continuation.resume(returning: statistics)
      }
    }
  }
}
