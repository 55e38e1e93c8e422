import MediaCore
import Session

/// Takes people out of a session: their pictures, voices, names, messages, and what others did with their tiles. Pure; takes
/// the events in their order, from the first one on.
public struct Exclusion: Sendable {
  private let people: Set<ParticipantIdentity>
  /// What they have published so far.
  private var tracks: Set<TrackID> = []
  /// What the others have. Frames of other tracks are nobody's: the announcement is damaged.
  private var othersTracks: Set<TrackID> = []
  /// The names by which they have gone so far.
  private var names: Set<String> = []

  /// Takes out these people.
  public init(_ people: Set<ParticipantIdentity>) { self.people = people }

  /// What is left of an event; nil when nothing is.
  public mutating func admit(_ event: SessionEvent) -> SessionEvent? {
    guard !people.isEmpty else { return event }
    switch event.payload {
    case .frame(_, let track): return othersTracks.contains(track) ? event : nil
    case .room(let roomEvent):
      guard let left = admit(roomEvent) else { return nil }
      var event = event
      event.payload = .room(left)
      return event
    }
  }

  /// Takes notice of the name of somebody who is taken out.
  mutating func learn(_ participant: Participant) {
    if isOut(participant.identity) { names.insert(participant.displayName.lowercased()) }
  }

  private mutating func admit(_ event: RoomEvent) -> RoomEvent? {
    switch event {
    case .participant(let participant):
      learn(participant)
      return isOut(participant.identity) ? nil : event
    case .track(let track):
      guard isOut(track.participant) else {
        othersTracks.insert(track.id)
        return event
      }
      tracks.insert(track.id)
      return nil
    case .participantLeft(let identity): return isOut(identity) ? nil : event
    case .trackUnpublished(let id), .trackSubscribed(let id, _), .trackPaused(let id, _), .trackReception(let id, _):
      return tracks.contains(id) ? nil : event
    case .speakers(let speakers):
      let left = speakers.filter { !isOut($0.participant) }
      return left.isEmpty ? nil : .speakers(left)
    case .data(let message): return isOut(message.participant) ? nil : event
    case .chat(let message): return isOut(message.participant) ? nil : event
    case .caption(let caption): return isOut(caption.participant) ? nil : event
    case .pin(let tile), .unpin(let tile?), .spotlight(let tile?): return isOut(tile) ? nil : event
    case .process(let rule): return isOut(rule.selector) ? nil : event
    case .joined, .network, .connectionLost, .connectionRestored, .synchronized, .setLayout, .unpin(nil),
      .spotlight(nil), .title, .pause, .resume, .marker, .ended:
      return event
    }
  }

  private func isOut(_ identity: ParticipantIdentity?) -> Bool { identity.map(people.contains) ?? false }

  private func isOut(_ tile: TileSelector) -> Bool { isOut(named: tile.participant) }

  /// For a rule that names somebody who is taken out.
  func isOut(_ selector: PersonSelector) -> Bool {
    guard case .person(let text) = selector else { return false }
    return isOut(named: text)
  }

  /// For an identity or a display name.
  private func isOut(named text: String) -> Bool {
    people.contains(ParticipantIdentity(text)) || names.contains(text.lowercased())
  }
}
