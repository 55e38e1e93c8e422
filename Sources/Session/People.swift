import Layouts
import MediaCore

/// Who is in the room, in the order in which they came. Somebody comes, goes, or is asked for at a cost that does not
/// depend on how many are there.
struct People: Sendable {
  /// Somebody, with what a layout may show of them.
  struct Person: Sendable {
    var participant: Participant
    /// Their camera, or the card that stands for it, and their further cameras.
    var cameras: [LayoutSource] = []
    /// The screens that they share.
    var screens: [LayoutSource] = []
  }

  /// In the order of coming; nil where somebody left.
  private var places: [Person?] = []
  private var indices: [ParticipantIdentity: Int] = [:]
  /// Grows with everything that changes: who is there, and what is known of them.
  private(set) var revision: UInt64 = 0
  /// Those of whom something is new since `takeChanged`.
  private var changed: Set<ParticipantIdentity> = []

  /// How many of them are bots.
  private var bots = 0
  /// People who were looked at, for tests of what a frame costs.
  private(set) var looks: UInt64 = 0

  /// How many are there.
  var count: Int { indices.count }
  /// True when nobody is there.
  var isEmpty: Bool { indices.isEmpty }
  /// True when nobody is there but bots, or nobody at all.
  var areAllBots: Bool { bots == indices.count }
  /// All, in the order in which they came. Costs as much as there are people.
  var all: [Participant] { places.compactMap { $0?.participant } }
  /// The same, by their names that never change.
  var identities: [ParticipantIdentity] { places.compactMap { $0?.participant.identity } }

  /// Somebody who is there.
  subscript(identity: ParticipantIdentity) -> Participant? {
    indices[identity].flatMap { places[$0]?.participant }
  }

  /// Somebody has come, or is otherwise than before; gives what was known until now.
  mutating func put(_ participant: Participant) -> Participant? {
    if let index = indices[participant.identity] {
      let old = places[index]?.participant
      if old != participant {
        bots += (participant.isBot ? 1 : 0) - (old?.isBot == true ? 1 : 0)
        places[index]?.participant = participant
        revision &+= 1
        changed.insert(participant.identity)
      }
      return old
    }
    revision &+= 1
    if participant.isBot { bots += 1 }
    indices[participant.identity] = places.count
    places.append(Person(participant: participant))
    changed.insert(participant.identity)
    return nil
  }

  /// Somebody has gone; gives what was known.
  mutating func remove(_ identity: ParticipantIdentity) -> Participant? {
    guard let index = indices.removeValue(forKey: identity) else { return nil }
    revision &+= 1
    let gone = places[index]?.participant
    if gone?.isBot == true { bots -= 1 }
    places[index] = nil
    // The gaps are closed when they are as many as the people, so that each who leaves costs one move.
    if places.count > 64, places.count > 2 * indices.count {
      places.removeAll { $0 == nil }
      for (index, person) in places.enumerated() {
        if let person { indices[person.participant.identity] = index }
      }
    }
    return gone
  }

  /// Those of whom something is new since the last call.
  mutating func takeChanged() -> Set<ParticipantIdentity> {
    defer { if !changed.isEmpty { changed = [] } }
    return changed
  }

  /// Says what a layout may show of somebody; true when that is new.
  mutating func show(_ identity: ParticipantIdentity, cameras: [LayoutSource], screens: [LayoutSource]) -> Bool {
    looks &+= 1
    guard let index = indices[identity], let old = places[index], old.cameras != cameras || old.screens != screens
    else { return false }
    places[index]?.cameras = cameras
    places[index]?.screens = screens
    return true
  }

  /// What a layout may show: the cameras of those on the list (nil: of all) and all screens.
  mutating func sources(listed: Set<ParticipantIdentity>?) -> [LayoutSource] {
    looks &+= UInt64(places.count)
    var sources: [LayoutSource] = []
    sources.reserveCapacity(indices.count)
    for case let person? in places {
      if listed?.contains(person.participant.identity) ?? true { sources += person.cameras }
      sources += person.screens
    }
    return sources
  }

  /// The publication that a tile shows.
  func track(for key: TileKey) -> TrackID? {
    guard let identity = key.participant, let index = indices[identity], let person = places[index] else { return nil }
    let source = (key.isScreenShare ? person.screens : person.cameras).first { $0.key == key }
    guard let source, source.isPublished else { return nil }
    return TrackID(source.trackID)
  }

  /// Whom a selector means; see `TileSelector.match`. Quick when it is an identity.
  func match(_ selector: TileSelector) -> ParticipantIdentity? {
    let identity = ParticipantIdentity(selector.participant)
    return indices[identity] == nil ? selector.match(all) : identity
  }
}
