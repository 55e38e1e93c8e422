import MediaCore
import Session
import Signaling

/// Who sits opposite, and what the recording was told of that and of the connection's tracks. During a loss nothing is
/// told; afterwards the difference is. A pure value.
///
/// ```
///                tellLoss
///   told as it is ──────► lost: nothing is told
///         ▲                  │ tellRestored: all that is there
///         └──────────────────┘
/// ```
/// Frames belong to announced, subscribed tracks only (`bound`), so that a track is known before its first frame.
struct PeerReport: Sendable {
  typealias Action = RoomAction<PeerRequest>

  /// Who sits, or sat until just now, opposite.
  struct Person: Hashable, Sendable {
    /// The identity of the token.
    var identity: String
    /// Display name.
    var name: String
    /// New for every run of the client.
    var session: String
  }

  /// The longest name that is taken from the data channel, in bytes.
  static let nameLimit = 256

  /// Who sits opposite; nil for nobody.
  private(set) var person: Person?
  /// True from when the recording was told of a loss until it was told that it is over.
  private(set) var isLossTold = false
  private var announced = RoomState()
  /// Whose tracks and name were announced.
  private var announcedSession: String?
  private var bound: [MID: TrackID] = [:]

  /// Nothing is told yet.
  init() {}

  // MARK: Who is there

  /// This is who sits opposite.
  mutating func sees(_ seat: MailboxView.Seat) {
    person = Person(identity: seat.identity, name: seat.name, session: seat.session)
  }

  /// The person opposite says what it is called.
  mutating func rename(_ name: String) {
    if !name.isEmpty, name.utf8.count <= Self.nameLimit { person?.name = name }
  }

  /// Nobody is there any more.
  mutating func forget() { person = nil }

  // MARK: What the recording is told

  /// Tells what has changed.
  mutating func tell(_ media: PeerMedia) -> [Action] {
    guard !isLossTold else { return [] }
    let state = current(media)
    var actions = greetAnew()
    if state != announced {
      actions += state.events(since: announced).map { .emit($0) }
      announced = state
    }
    return actions + bind(media)
  }

  /// Tells that pictures and sound are not true any more.
  mutating func tellLoss(_ text: String) -> [Action] {
    guard !isLossTold else { return [] }
    isLossTold = true
    return [.emit(.connectionLost(text))]
  }

  /// Tells that they are again, with everybody and everything that is there.
  mutating func tellRestored(_ media: PeerMedia) -> [Action] {
    guard isLossTold else { return tell(media) }
    isLossTold = false
    var actions: [Action] = [.emit(.connectionRestored)]
    actions += greetAnew()
    let state = current(media)
    actions += state.events(since: announced, tellsAll: true).map { .emit($0) }
    announced = state
    return actions + bind(media) + [.emit(.synchronized)]
  }

  /// Tells the end of everything that was there.
  mutating func tellGoodbye() -> [Action] {
    var actions: [Action] = isLossTold ? [.emit(.connectionRestored)] : []
    isLossTold = false
    person = nil
    actions += tell(PeerMedia())
    return actions
  }

  /// Passes frames of announced tracks only.
  mutating func bind(_ media: PeerMedia) -> [Action] {
    var wanted: [MID: TrackID] = [:]
    if let person, media.isUp {
      for (mid, track) in media.tracks(of: ParticipantIdentity(person.identity)) { wanted[mid] = track.id }
    }
    guard wanted != bound else { return [] }
    bound = wanted
    return [.bind(wanted)]
  }

  /// What is so now, as the recording should see it.
  private func current(_ media: PeerMedia) -> RoomState {
    var state = RoomState()
    guard let person else { return state }
    let identity = ParticipantIdentity(person.identity)
    state.participants[identity] = Participant(identity: identity, name: person.name)
    for (_, track) in media.tracks(of: identity) {
      state.tracks[track.id] = track
      if media.isUp { state.subscribed.insert(track.id) }
    }
    return state
  }

  /// Somebody who was connected and now comes with another session has left and come back: clocks begin anew.
  private mutating func greetAnew() -> [Action] {
    defer { announcedSession = person?.session }
    guard let before = announcedSession, before != person?.session, !announced.tracks.isEmpty else { return [] }
    let gone = announced.participants.keys.sorted()
    announced = RoomState()
    return gone.map { .emit(.participantLeft($0)) }
  }
}
