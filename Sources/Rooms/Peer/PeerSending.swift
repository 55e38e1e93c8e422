import MediaCore
import Session
import Signaling

/// What the bot sends to the other side of a two-party room: what of it is enabled, what the other side takes, and whether it arrives. A pure
/// value.
///
/// ```
///           taken, and up
///   waiting ─────────────► told as published ──┐
///      ▲                                       │ not taken, or not up
///      └───────────────── told as interrupted ◄┘
/// ```
struct PeerSending: Sendable {
  private var tracks: [LocalTrackID: LocalTrackDescription]
  private var taken: Set<LocalTrackID> = []
  private var published: Set<LocalTrackID> = []

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

  /// The descriptions are exchanged, and with them it is agreed what the other side takes. Gives the names of what it does not.
  mutating func agreed(_ taken: Set<LocalTrackID>) -> [String] {
    self.taken = taken
    return tracks.sorted { $0.key < $1.key }.filter { !taken.contains($0.key) }.map(\.value.name)
  }

  /// What becomes of the tracks, where that is news: `isUp` while the connection stands.
  mutating func news(isUp: Bool) -> [PublishingEvent] {
    let arriving = isUp ? taken : []
    defer { published = arriving }
    guard arriving != published else { return [] }
    return tracks.sorted { $0.key < $1.key }.compactMap { id, track in
      switch (published.contains(id), arriving.contains(id)) {
      case (false, true): .published(id, TrackID(track.source.rawValue))
      case (true, false): .interrupted(id)
      case (true, true), (false, false): nil
      }
    }
  }
}
