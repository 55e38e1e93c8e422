import MediaCore
import Signaling

/// Who has left a room, for those who could not hear it. Pure.
struct DepartureLog: Sendable {
  /// How long it is known; longer than any resume can take.
  static let memory = Duration.seconds(360)

  private var entries: [(info: Livekit_ParticipantInfo, at: Instant)] = []

  /// Nobody yet.
  init() {}

  /// Somebody has left.
  mutating func add(_ info: Livekit_ParticipantInfo, at now: Moment) {
    entries.removeAll { now.steady - $0.at > Self.memory || $0.info.identity == info.identity }
    entries.append((info, now.steady))
  }

  /// Who has left since then, in this order, at most once each.
  func departed(since: Instant) -> [Livekit_ParticipantInfo] { entries.filter { $0.at >= since }.map(\.info) }
}
