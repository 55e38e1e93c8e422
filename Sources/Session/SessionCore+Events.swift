import Layouts
import MediaCore

// MARK: - What the room says

extension SessionCore {
  mutating func apply(_ event: RoomEvent, at now: SessionTime) {
    guard end == nil else { return }
    switch event {
    case .joined(let room):
      note(.started(room: room), at: now)
      note(.layout(layout.name), at: now)
    case .synchronized: break
    case .participant(let participant): meet(participant, at: now)
    case .participantLeft(let identity): forget(identity, at: now)
    case .track(let track): announce(track, at: now)
    case .trackUnpublished(let id): unpublish(id, at: now)
    case .trackSubscribed(let id, let isSubscribed):
      let wasEnabled = tracks[id]?.isEnabled ?? false
      tracks[id]?.isSubscribed = isSubscribed
      if tracks[id]?.isEnabled != wasEnabled { tracks[id]?.forgetPicture(now: now) }
    case .trackPaused(let id, let isPaused):
      guard let state = tracks[id], state.isPaused != isPaused else { return }
      tracks[id]?.isPaused = isPaused
      note(.lowBandwidth(id, state.track.participant, isPaused), at: now)
    case .speakers(let speakers): talkers.update(speakers, at: now)
    case .connectionLost(let reason):
      guard lostSince == nil else { return }
      lostSince = now
      note(.connectionLost(reason), at: now)
    case .connectionRestored:
      if lostSince != nil { note(.connectionRestored, at: now) }
      lostSince = nil
      bandwidth.interrupted(at: now)
      // Old pictures are older than the outage: nothing is shown until something new has come.
      for id in trackOrder { tracks[id]?.forgetPicture(now: now) }
    case .ended(let reason): end = (reason, now)
    case .trackReception, .network, .data, .chat, .caption: applyMessage(event, at: now)
    default: command(event, at: now)
    }
  }

  private mutating func meet(_ participant: Participant, at now: SessionTime) {
    emptySince = nil
    guard let index = participants.firstIndex(where: { $0.identity == participant.identity }) else {
      participants.append(participant)
      note(.joined(participant.identity, name: participant.displayName), at: now)
      updatePinned()
      return
    }
    let isRenamed = participants[index].displayName != participant.displayName
    participants[index] = participant
    if isRenamed {
      note(.renamed(participant.identity, name: participant.displayName), at: now)
      updatePinned()
    }
  }

  private mutating func forget(_ identity: ParticipantIdentity, at now: SessionTime) {
    for id in trackOrder where tracks[id]?.track.participant == identity { unpublish(id, at: now) }
    if let index = participants.firstIndex(where: { $0.identity == identity }) {
      let participant = participants.remove(at: index)
      note(.left(identity, name: participant.displayName), at: now)
    }
    talkers.silence(identity, hasLeft: true)
    if notedTalker == identity { notedTalker = nil }
    publisherClocks[identity] = nil
    updatePinned()
    if participants.isEmpty, emptySince == nil { emptySince = now }
  }

  private mutating func announce(_ track: Track, at now: SessionTime) {
    var state = tracks[track.id] ?? TrackState(track: track, now: now)
    let isNew = !trackOrder.contains(track.id)
    let wasMuted = isNew ? false : state.track.isMuted
    if isNew {
      trackOrder.append(track.id)
      state.forgetPicture(now: now)
    }
    let wasEnabled = state.isEnabled
    state.track = track
    if state.isEnabled != wasEnabled { state.forgetPicture(now: now) }
    tracks[track.id] = state
    if track.isMuted, track.source == .microphone { talkers.silence(track.participant, hasLeft: false) }
    if isNew { note(.published(track.id, track.participant, track.source), at: now) }
    if track.isMuted != wasMuted { note(.muted(track.id, track.participant, track.source, track.isMuted), at: now) }
  }

  private mutating func unpublish(_ id: TrackID, at now: SessionTime) {
    guard let state = tracks.removeValue(forKey: id) else { return }
    let wasAnnounced = trackOrder.contains(id)
    trackOrder.removeAll { $0 == id }
    if state.track.source == .microphone { talkers.silence(state.track.participant, hasLeft: false) }
    emit(.release(id))
    if wasAnnounced { note(.unpublished(id, state.track.participant, state.track.source), at: now) }
  }
}

// MARK: - What the operator says

extension SessionCore {
  /// What is said within a quarter of a second before the end of a redaction may still be on its way: the redaction
  /// of sound ends so much later.
  static let redactionTail = SessionTime.milliseconds(250)

  private mutating func command(_ event: RoomEvent, at now: SessionTime) {
    switch event {
    case .setLayout(let new):
      guard new != layout else { return }
      layout = new
      arranger.setLayout(new)
      arrangement = nil
      notedScene = nil
      note(.layout(new.name), at: now)
    case .pin(let selector):
      guard !pins.contains(selector) else { return }
      pins.append(selector)
      updatePinned()
      note(.pinned(selector.description), at: now)
    case .unpin(let selector):
      let before = pins.count
      pins.removeAll { selector == nil || $0 == selector }
      guard pins.count != before else { return }
      updatePinned()
      note(.unpinned(selector?.description), at: now)
    case .spotlight(let selector):
      guard spotlight != selector else { return }
      spotlight = selector
      note(.spotlight(selector?.description), at: now)
    case .title(let text):
      guard title != text else { return }
      title = text
      note(.title(text), at: now)
    case .marker(let text): note(.marker(text), at: now)
    case .pause(let policy): setPause(policy, at: now)
    case .resume: setPause(nil, at: now)
    default: break
    }
  }

  /// Which identities the pins mean at present.
  private mutating func updatePinned() {
    talkers.pinned = Set(pins.compactMap { $0.match(participants) })
  }

  private mutating func setPause(_ new: PausePolicy?, at now: SessionTime) {
    guard new != pause else { return }
    let old = pause
    // The edges themselves belong to the time that is not redacted.
    pause = nil
    if old == .cut { clock.join(at: now) }
    note(new.map { .paused($0) } ?? .resumed, at: now)
    pause = new
    if new == .cut { clock.cut(at: now) }
    soundBegins = now
    if old == .redact {
      soundBegins = now + Self.redactionTail
      picturesBegin = now
      for id in trackOrder { tracks[id]?.forgetPicture(now: now) }
    }
    if new == .redact {
      // Nothing that comes from now on is decoded; pictures begin anew with a keyframe afterwards.
      for id in trackOrder {
        tracks[id]?.needsKeyframe = true
        tracks[id]?.forgetPicture(now: now)
        if tracks[id]?.track.kind == .video { emit(.release(id)) }
      }
    }
    arrangement = nil
    motion = TileMotion()
  }

  /// When the next pause begins, if it begins until `limit`, which must be no later than the latency allows to know.
  func nextPause(until limit: SessionTime) -> SessionTime? {
    for (arrived, event) in pendingRoomEvents {
      if arrived > limit { return nil }
      if case .pause = event { return arrived }
    }
    return nil
  }
}
