import MediaCore
import Session

/// What the recording is told. During a loss nothing is; afterwards the difference is.
extension PeerFlow {
  /// What is so now, as the recording should see it.
  var current: RoomState {
    var state = RoomState()
    guard let person else { return state }
    let identity = ParticipantIdentity(person.identity)
    state.participants[identity] = Participant(identity: identity, name: person.name)
    guard let media else { return state }
    for (_, track) in tracks(of: identity, media) {
      state.tracks[track.id] = track
      if isUp { state.subscribed.insert(track.id) }
    }
    return state
  }

  /// The tracks of a connection: the first of a kind is camera or microphone, the second a shared screen's.
  private func tracks(of identity: ParticipantIdentity, _ media: Media) -> [(MID, Track)] {
    var counts: [MediaKind: Int] = [:]
    return media.sections.filter(\.isActive).compactMap { section in
      let position = counts[section.kind, default: 0]
      counts[section.kind] = position + 1
      let source: TrackSource
      switch (section.kind, position) {
      case (.video, 0): source = .camera
      case (.audio, 0): source = .microphone
      case (.video, 1): source = .screenShare
      case (.audio, 1): source = .screenShareAudio
      default: return nil
      }
      let isMuted = source == .camera ? !media.isCameraOn : source == .microphone && !media.isMicrophoneOn
      let id = TrackID("\(identity)/\(source.rawValue)/\(media.generation)")
      return (
        section.mid,
        Track(
          id: id, participant: identity, kind: section.kind, source: source, name: source.rawValue, isMuted: isMuted)
      )
    }
  }

  /// Tells what has changed.
  mutating func tell() {
    guard hasJoined, !isLossTold else { return }
    let state = current
    greetAnew()
    if state != announced {
      for event in state.events(since: announced) { add(.emit(event)) }
      announced = state
    }
    rebind(state)
  }

  mutating func tellLoss() {
    guard hasJoined, !isLossTold else { return }
    isLossTold = true
    add(.emit(.connectionLost(lossText)))
  }

  /// Why the connection is lost. The table's sentence about media speaks of a room server, which there is none of here.
  var lossText: String { loss.map { $0.kind == .mediaLost ? $0.detail : $0.summary } ?? "" }

  /// Tells where the connection stands, when that is news.
  mutating func tellStatus(at now: Int64) {
    var status = RoomStatus()
    var due: Int64?
    switch phase {
    case .idle, .leaving, .ended: return
    case .joining:
      status.state = loss?.action(hasJoined: false) == .wait ? .waitingForRoom : .connecting
      (status.attempts, due) = (failures, mailboxRetryAt)
    case .running where isUp: status.state = .connected
    case .running where lostAt != nil:
      status.state = exchange?.continues != nil ? .resuming : prefersRelay ? .relaying : .rejoining
      (status.attempts, due) = (attempts, isReachable ? (exchange == nil ? retryAt : nil) : mailboxRetryAt)
    case .running where prefersRelay && exchange != nil: (status.state, status.attempts) = (.relaying, resets)
    case .running: status.state = .joined
    }
    if status.state != .connected, status.state != .joined, let loss {
      (status.error, status.action) = (loss, loss.action(hasJoined: hasJoined))
    }
    guard status != toldStatus else { return }
    toldStatus = status
    if let due, due > now { status.nextAttemptIn = due &- now }
    add(.status(status))
  }

  /// Tells that the session is over, and what ended it when that was a fault.
  mutating func tellEnd(_ error: RoomError?) {
    var status = RoomStatus(state: .ended)
    status.error = error
    if error != nil { status.action = .fail }
    add(.status(status))
  }

  /// The connection stands again, or there is nobody to be connected to.
  mutating func restored() {
    guard isLossTold else { return tell() }
    isLossTold = false
    add(.emit(.connectionRestored))
    greetAnew()
    let state = current
    for event in state.events(since: announced, tellsAll: true) { add(.emit(event)) }
    announced = state
    rebind(state)
    add(.emit(.synchronized))
  }

  /// Somebody who was connected and now comes with another session has left and come back: clocks begin anew.
  private mutating func greetAnew() {
    defer { announcedSession = person?.session }
    guard let before = announcedSession, before != person?.session, !announced.tracks.isEmpty else { return }
    for identity in announced.participants.keys.sorted() { add(.emit(.participantLeft(identity))) }
    announced = RoomState()
  }

  /// Passes frames of announced tracks only.
  mutating func rebind(_ state: RoomState) {
    var wanted: [MID: TrackID] = [:]
    if let media, let person {
      for (mid, track) in tracks(of: ParticipantIdentity(person.identity), media)
      where state.subscribed.contains(track.id) { wanted[mid] = track.id }
    }
    guard wanted != bound else { return }
    bound = wanted
    add(.bind(wanted))
  }
}
