import MediaCore
import Session

/// What is in a room at one moment, of what a recording wants to know. Two such values make events: that is how
/// everything that happened during an outage becomes the few events that matter.
struct RoomState: Equatable, Sendable {
  var participants: [ParticipantIdentity: Participant] = [:]
  var tracks: [TrackID: Track] = [:]
  /// Tracks whose media is negotiated.
  var subscribed: Set<TrackID> = []
  /// Tracks that the server holds back.
  var paused: Set<TrackID> = []

  /// Takes over from another state what is named there.
  mutating func replace(people: Set<ParticipantIdentity>, tracks ids: Set<TrackID>, by other: RoomState) {
    for identity in people { participants[identity] = other.participants[identity] }
    for id in ids {
      tracks[id] = other.tracks[id]
      if other.subscribed.contains(id) { subscribed.insert(id) } else { subscribed.remove(id) }
      if other.paused.contains(id) { paused.insert(id) } else { paused.remove(id) }
    }
  }

  /// The events that lead from `old` to this state: first what is gone, then people, then tracks, then subscriptions.
  /// With `tellsAll`, what is here is told even if it was so before. The order does not depend on hashing.
  func events(since old: RoomState, tellsAll: Bool = false) -> [RoomEvent] {
    var events: [RoomEvent] = []
    for id in old.subscribed.subtracting(subscribed).sorted() where tracks[id] != nil {
      events.append(.trackSubscribed(id, false))
    }
    for (id, track) in old.tracks.sorted(by: { $0.key < $1.key }) where tracks[id] == nil {
      if participants[track.participant] != nil { events.append(.trackUnpublished(id)) }
    }
    for identity in old.participants.keys.sorted() where participants[identity] == nil {
      events.append(.participantLeft(identity))
    }
    for (identity, participant) in participants.sorted(by: { $0.key < $1.key })
    where tellsAll || old.participants[identity] != participant {
      events.append(.participant(participant))
    }
    let ordered = tracks.sorted { $0.key < $1.key }
    for (id, track) in ordered where tellsAll || old.tracks[id] != track {
      events.append(.track(track))
    }
    for (id, _) in ordered {
      let isNew = old.tracks[id] == nil
      if subscribed.contains(id), tellsAll || isNew || !old.subscribed.contains(id) {
        events.append(.trackSubscribed(id, true))
      } else if tellsAll && !subscribed.contains(id) {
        events.append(.trackSubscribed(id, false))
      }
      if paused.contains(id) != (!isNew && old.paused.contains(id)) {
        events.append(.trackPaused(id, paused.contains(id)))
      }
    }
    return events
  }
}
