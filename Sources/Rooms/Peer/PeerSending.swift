import MediaCore
import Session
import Signaling

/// What the bot sends to the other side of a two-party room: what of it is enabled, and whether it arrives. A pure value.
///
/// ```
///           isUp
///   waiting ────► told as published ──┐
///      ▲                              │ not isUp
///      └──────── told as interrupted ◄┘
/// ```
struct PeerSending: Sendable {
  private var tracks: [LocalTrackID: LocalTrackDescription]
  private var isPublished = false

  /// Nothing arrives yet.
  init(_ profile: PeerProfile) {
    tracks = Dictionary(uniqueKeysWithValues: profile.ordered.map { ($0.id, $0.track) })
  }

  /// A track is disabled, or enabled; false when that is no news.
  mutating func mute(_ id: LocalTrackID, _ isMuted: Bool) -> Bool {
    guard let track = tracks[id], track.isMuted != isMuted else { return false }
    tracks[id]?.isMuted = isMuted
    return true
  }

  /// Whether what comes from a source is to be seen, or heard; nil when nothing is sent of it.
  func isOn(_ source: TrackSource) -> Bool? { tracks.values.first { $0.source == source }.map { !$0.isMuted } }

  /// What becomes of the tracks when the connection stands, or does not.
  mutating func news(isUp: Bool) -> [PublishingEvent] {
    guard isUp != isPublished else { return [] }
    isPublished = isUp
    return tracks.sorted { $0.key < $1.key }.map { id, track in
      isUp ? .published(id, TrackID(track.source.rawValue)) : .interrupted(id)
    }
  }
}
