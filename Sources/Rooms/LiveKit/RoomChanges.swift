import MediaCore
import Session

/// Which people and tracks may be otherwise than the recording was told, so that a message about one of thousands costs
/// what one costs.
struct RoomChanges: Sendable {
  private(set) var people: Set<ParticipantIdentity> = []
  private(set) var tracks: Set<TrackID> = []
  /// True when everything must be looked at.
  private(set) var isEverything = true
  /// What comes to more than this is everything: during an outage nobody takes the changes, however many come.
  private static let limit = 4096

  /// True when nothing has changed.
  var isEmpty: Bool { !isEverything && people.isEmpty && tracks.isEmpty }

  /// Everything may be otherwise.
  mutating func addEverything() { (people, tracks, isEverything) = ([], [], true) }

  /// Somebody came, left, or is otherwise than before.
  mutating func add(_ identity: ParticipantIdentity) {
    guard !isEverything else { return }
    people.insert(identity)
    if people.count > Self.limit { addEverything() }
  }

  /// A track came, went, or is otherwise than before.
  mutating func add(_ track: TrackID) {
    guard !isEverything else { return }
    tracks.insert(track)
    if tracks.count > Self.limit { addEverything() }
  }

  /// The recording has been told.
  mutating func clear() { (people, tracks, isEverything) = ([], [], false) }
}
