import Logging
import MediaCore
import Rooms
import Session
import Synchronization

/// What a room's connection tells, kept for those who ask, and passed on as events. May be used on any thread.
final class RoomCore: SessionSink {
  private struct State {
    var name = ""
    var connection = ConnectionState.reconnecting("joining")
    var network = NetworkReport()
    var participants: [ParticipantIdentity: RemoteParticipant] = [:]
    var tracks: [TrackID: RemoteTrack] = [:]
    var publications: [LocalTrackID: LocalTrackPublication] = [:]
    /// Who waits until a track is published, or is not.
    var publishing: [LocalTrackID: CheckedContinuation<RoomError?, Never>] = [:]
    var client: (any TrackPublisher)?
    var subscribers: [Int: AsyncStream<RoomEvent>.Continuation] = [:]
    var nextSubscriber = 0
    /// What happened before the first subscriber came.
    var early: [RoomEvent] = []
    var hadSubscriber = false
    /// Who waits for the end.
    var leaving: [CheckedContinuation<Void, Never>] = []
  }

  /// So many events wait for a reader; more, and the oldest are lost.
  private static let eventLimit = 4096
  let threads: RoomThreads
  private let state = Mutex(State())

  /// False in a room that is encrypted end to end, when the bot has no key to send with.
  private let canSend: Bool

  init(threads: RoomThreads, canSend: Bool = true) { (self.threads, self.canSend) = (threads, canSend) }

  // MARK: What is known

  var name: String { state.withLock { $0.name } }
  var connection: ConnectionState { state.withLock { $0.connection } }
  var network: NetworkReport { state.withLock { $0.network } }
  /// The connection to the room; nil before and after.
  var client: (any TrackPublisher)? { state.withLock { $0.client } }
  var participants: [RemoteParticipant] {
    state.withLock { $0.participants.values.sorted { $0.identity < $1.identity } }
  }
  var publications: [LocalTrackPublication] {
    state.withLock { $0.publications.sorted { $0.key < $1.key }.map(\.value) }
  }

  func participant(_ identity: ParticipantIdentity) -> RemoteParticipant? {
    state.withLock { $0.participants[identity] }
  }

  /// What was sent and received of every track so far.
  func report() async -> RoomStatistics {
    var statistics = RoomStatistics(network: network)
    for participant in participants {
      for track in participant.tracks { statistics.remote[track.id] = track.statistics }
    }
    for publication in publications {
      if let id = publication.id { statistics.local[id] = await publication.statistics }
    }
    return statistics
  }

  /// The connection that is used from now on, and what it sends from the beginning: the n-th, counted from 1, is `LocalTrackID(n)`.
  func use(_ client: any TrackPublisher, sending publications: [LocalTrackPublication] = []) {
    state.withLock { $0.client = client }
    for (index, publication) in publications.enumerated() {
      let id = LocalTrackID(index + 1)
      state.withLock { $0.publications[id] = publication }
      publication.begin(as: id)
    }
  }

  // MARK: Events

  /// What happens from now on; the first who asks gets what happened since the join.
  func events() -> AsyncStream<RoomEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: RoomEvent.self, bufferingPolicy: .bufferingNewest(Self.eventLimit))
    let (number, isOver) = state.withLock { state in
      for event in state.early { continuation.yield(event) }
      (state.early, state.hadSubscriber) = ([], true)
      let number = state.nextSubscriber
      state.nextSubscriber += 1
      if case .disconnected = state.connection { return (number, true) }
      state.subscribers[number] = continuation
      return (number, false)
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.subscribers.removeValue(forKey: number) }
    }
    if isOver { continuation.finish() }
    return stream
  }

  /// Passes an event on to all who read them.
  func tell(_ event: RoomEvent) {
    // Outside of the lock: a reader that is woken may ask for something at once.
    let subscribers = state.withLock { state in
      if !state.hadSubscriber, event.isLasting, state.early.count < Self.eventLimit { state.early.append(event) }
      return Array(state.subscribers.values)
    }
    for subscriber in subscribers { subscriber.yield(event) }
  }

  // MARK: What the connection tells, on the loop

  func put(_ payload: SessionEvent.Payload) {
    switch payload {
    case .frame(let frame, let id): state.withLock { $0.tracks[id] }?.receive(frame)
    case .room(let event): receive(event)
    }
  }

  func count(_ counts: ReceptionCounts, of id: TrackID) {
    state.withLock { $0.tracks[id] }?.change { $0.statistics.add(counts) }
  }

  private func receive(_ event: Session.RoomEvent) {
    switch event {
    case .joined(let name):
      state.withLock { $0.name = name }
      connectionChanged(.connected)
    case .participant(let participant): receive(participant)
    case .participantLeft(let identity): left(identity)
    case .track(let track): receive(track)
    case .trackUnpublished(let id): unpublished(id)
    case .trackSubscribed(let id, let isOn):
      change(id, { $0.isSubscribed = isOn }, RoomEvent.trackSubscriptionChanged)
    case .trackPaused(let id, let isOn): change(id, { $0.isPaused = isOn }, RoomEvent.trackPausedChanged)
    case .speakers(let speakers): receive(speakers)
    case .network(let report):
      state.withLock { $0.network = report }
      tell(.network(report))
    case .data(let message): tell(.dataReceived(message))
    case .chat(let message): tell(.chatReceived(message))
    case .caption(let caption): tell(.captionReceived(caption))
    case .connectionLost(let text): connectionChanged(.reconnecting(text))
    case .connectionRestored: connectionChanged(.connected)
    case .ended(let end): ended(end)
    case .synchronized, .trackReception: break
    // Commands to a recording; no connection tells them.
    case .setLayout, .pin, .unpin, .spotlight, .process, .title, .pause, .resume, .marker: break
    }
  }

  private func connectionChanged(_ connection: ConnectionState) {
    state.withLock { $0.connection = connection }
    tell(.connectionStateChanged(connection))
  }

  private func receive(_ told: Participant) {
    guard let known = participant(told.identity) else {
      let new = RemoteParticipant(told)
      state.withLock { $0.participants[told.identity] = new }
      return tell(.participantConnected(new))
    }
    if known.update(told) { tell(.participantUpdated(known)) }
  }

  private func left(_ identity: ParticipantIdentity) {
    guard let participant = participant(identity) else { return }
    for track in participant.tracks { unpublished(track.id) }
    state.withLock { _ = $0.participants.removeValue(forKey: identity) }
    tell(.participantDisconnected(participant))
  }

  private func receive(_ told: Track) {
    guard let known = state.withLock({ $0.tracks[told.id] }) else {
      let new: RemoteTrack =
        switch told.kind {
        case .audio: .audio(RemoteAudioTrack(told, core: self))
        case .video: .video(RemoteVideoTrack(told, core: self))
        }
      state.withLock { $0.tracks[told.id] = new }
      participant(told.participant)?.add(new)
      return tell(.trackPublished(new))
    }
    let wasEnabled = known.isEnabled
    known.change { $0.track = told }
    if known.isEnabled != wasEnabled { tell(.trackEnabledChanged(known)) }
  }

  private func unpublished(_ id: TrackID) {
    guard let track = state.withLock({ $0.tracks.removeValue(forKey: id) }) else { return }
    participant(track.participant)?.remove(id)
    track.end()
    tell(.trackUnpublished(track))
  }

  private func change(
    _ id: TrackID, _ change: (inout RemoteTrackState.Value) -> Void, _ event: (RemoteTrack) -> RoomEvent
  ) {
    guard let track = state.withLock({ $0.tracks[id] }) else { return }
    track.change(change)
    tell(event(track))
  }

  private func receive(_ speakers: [Speaker]) {
    let changed = speakers.compactMap { speaker -> RemoteParticipant? in
      let participant = participant(speaker.participant)
      participant?.update(speaker)
      return participant
    }
    if !changed.isEmpty { tell(.speakersChanged(changed)) }
  }

  private func ended(_ end: DisconnectReason) {
    connectionChanged(.disconnected(end))
    let (state, error) = self.state.withLock { state in
      let old = state
      (state.client, state.publications, state.publishing) = (nil, [:], [:])
      (state.subscribers, state.tracks, state.leaving) = ([:], [:], [])
      return (old, RoomError(.leftAlready, "the room was left"))
    }
    for track in state.tracks.values { track.end() }
    for publication in state.publications.values { publication.end() }
    for waiting in state.publishing.values { waiting.resume(returning: error) }
    for subscriber in state.subscribers.values { subscriber.finish() }
    for waiting in state.leaving { waiting.resume() }
  }

  // MARK: What the bot publishes

  /// Throws when the bot must not send anything.
  func checkSending() throws(RoomError) {
    guard !canSend else { return }
    throw RoomError(
      .rejected, "the room is encrypted end to end, and the bot has no key to send with",
      advice: "Give it a shared key, or one of its own")
  }

  /// Publishes a track over the room's connection; returns when the room has it.
  func publish(_ publication: LocalTrackPublication, by client: any RoomPublisher) async throws(RoomError) {
    try checkSending()
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<RoomError?, Never>) in
      let isLeft = state.withLock { state in
        guard state.client != nil else { return true }
        // The connection's answer comes on its loop, and waits for the lock.
        let id = client.publish(publication.description)
        publication.begin(as: id)
        (state.publications[id], state.publishing[id]) = (publication, continuation)
        return false
      }
      if isLeft { continuation.resume(returning: RoomError(.leftAlready, "nothing can be published")) }
    }
    if let error { throw error }
  }

  /// Withdraws a track; who waits for it to be published hears that.
  func unpublish(_ publication: LocalTrackPublication, by client: any RoomPublisher) {
    guard let id = publication.localID else { return }
    let waiting = state.withLock { state in
      state.publications[id] = nil
      return state.publishing.removeValue(forKey: id)
    }
    client.unpublish(id)
    publication.end()
    waiting?.resume(returning: RoomError(.leavingAlready, "the track was withdrawn"))
  }

  /// What becomes of what is published; on the loop.
  func receive(_ event: PublishingEvent) {
    switch event {
    case .published(let id, let sid):
      guard let publication = state.withLock({ $0.publications[id] }) else { return }
      publication.published(as: sid)
      state.withLock { $0.publishing.removeValue(forKey: id) }?.resume(returning: nil)
      tell(.localTrackPublished(publication))
    case .interrupted(let id): state.withLock { $0.publications[id] }?.interrupted()
    case .muted(let id, let isMuted):
      guard let publication = state.withLock({ $0.publications[id] }) else { return }
      publication.mutedByRoom(isMuted)
      tell(.localTrackEnabledChanged(publication))
    case .keyframeWanted(let id, let layer): state.withLock { $0.publications[id] }?.wantKeyframe(layer)
    case .ended(let id, let error):
      let (publication, waiting) = state.withLock { state in
        (state.publications.removeValue(forKey: id), state.publishing.removeValue(forKey: id))
      }
      publication?.end()
      waiting?.resume(returning: error)
      if waiting == nil, let publication { tell(.localTrackEnded(publication, error)) }
    }
  }

  /// Leaves; returns when the connection is closed.
  func leave() async {
    await withCheckedContinuation { continuation in
      let client = state.withLock { state -> (any TrackPublisher)? in
        if case .disconnected = state.connection { return nil }
        guard let client = state.client else { return nil }
        state.leaving.append(continuation)
        return client
      }
      if let client { client.leave() } else { continuation.resume() }
    }
  }
}
