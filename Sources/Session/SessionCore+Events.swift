import Layouts
import MediaCore

// MARK: - What the room says

extension SessionCore {
  mutating func apply(_ event: RoomEvent, at now: SessionTime) {
    guard endWatch.end == nil else { return }
    switch event {
    case .joined(let room):
      note(.started(room: room), at: now)
      note(.layout(pictures[0].layout.name), at: now)
    case .synchronized: break
    case .participant(let participant): meet(participant, at: now)
    case .participantLeft(let identity): forget(identity, at: now)
    case .track(let track): announce(track, at: now)
    case .trackUnpublished(let id): unpublish(id, at: now)
    case .trackSubscribed(let id, let isSubscribed):
      subscription(of: id, isSubscribed, at: now)
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
      reception.interrupted(at: now)
      // Old pictures are older than the outage: nothing is shown until something new has come.
      for id in tracks.announced { tracks[id]?.forgetPicture(now: now) }
    case .ended(let reason): endWatch.finish(reason, at: now)
    case .trackReception, .network, .data, .chat, .caption: applyMessage(event, at: now)
    default: command(event, at: now)
    }
  }

  private mutating func meet(_ participant: Participant, at now: SessionTime) {
    if !participant.isBot { endWatch.somebodyCame() }
    if let known = people.put(participant) {
      if known.displayName != participant.displayName {
        note(.renamed(participant.identity, name: participant.displayName), at: now)
      }
    } else {
      note(.joined(participant.identity, name: participant.displayName), at: now)
    }
    process(participant, at: now)
  }

  /// Finds out what is done to somebody's pictures and sound, and tells it when that is new.
  private mutating func process(_ participant: Participant, at now: SessionTime) {
    guard let processors = processing.meet(participant) else { return }
    for id in tracks.owned(by: participant.identity) where tracks[id]?.order != nil && tracks[id]?.track.kind == .audio
    {
      emit(.process(id, processors.audio))
    }
    note(.processors(participant.identity, name: participant.displayName, processors), at: now)
  }

  private mutating func forget(_ identity: ParticipantIdentity, at now: SessionTime) {
    for id in tracks.owned(by: identity) where tracks[id]?.order != nil { unpublish(id, at: now) }
    if let participant = people.remove(identity) { note(.left(identity, name: participant.displayName), at: now) }
    talkers.silence(identity, hasLeft: true)
    processing.forget(identity)
    notes.forget(identity)
    places.forget(identity)
    if people.areAllBots { endWatch.everybodyLeft(at: now) }
  }

  /// That a new track is subscribed goes without saying; that one is taken away, and given back, does not.
  private mutating func subscription(of id: TrackID, _ isSubscribed: Bool, at now: SessionTime) {
    guard let old = tracks[id] else { return }
    tracks[id]?.isSubscribed = isSubscribed
    if tracks[id]?.isEnabled != old.isEnabled { tracks[id]?.forgetPicture(now: now) }
    guard isSubscribed ? old.isTakenAway : old.isSubscribed else { return }
    tracks[id]?.isTakenAway = !isSubscribed
    note(.subscribed(id, old.track.participant, old.track.source, isSubscribed), at: now)
  }

  private mutating func announce(_ track: Track, at now: SessionTime) {
    var state = tracks[track.id] ?? TrackState(track: track, now: now)
    let isNew = state.order == nil
    let wasMuted = isNew ? false : state.track.isMuted
    let obstacle = isNew ? nil : state.track.obstacle
    if isNew { state.forgetPicture(now: now) }
    let wasEnabled = state.isEnabled
    state.track = track
    if state.isEnabled != wasEnabled { state.forgetPicture(now: now) }
    tracks[track.id] = state
    if isNew {
      _ = tracks.announce(track.id)
      if track.kind == .audio,
        let processor = processing.of(track.participant, isKnown: people[track.participant] != nil).audio
      {
        emit(.process(track.id, processor))
      }
    }
    if track.isMuted, track.source == .microphone { talkers.silence(track.participant, hasLeft: false) }
    if isNew { note(.published(track.id, track.participant, track.source), at: now) }
    if track.isMuted != wasMuted { note(.muted(track.id, track.participant, track.source, track.isMuted), at: now) }
    if track.obstacle != obstacle {
      note(.obstacle(track.id, track.participant, track.source, track.obstacle), at: now)
    }
  }

  private mutating func unpublish(_ id: TrackID, at now: SessionTime) {
    guard let state = tracks.remove(id) else { return }
    reception.forget(id)
    if state.track.source == .microphone { talkers.silence(state.track.participant, hasLeft: false) }
    places.forget(id, of: state.track.participant)
    emit(.release(id))
    if state.order != nil { note(.unpublished(id, state.track.participant, state.track.source), at: now) }
  }
}

// MARK: - What the operator says

extension SessionCore {
  private mutating func command(_ event: RoomEvent, at now: SessionTime) {
    switch event {
    case .setLayout(let new):
      guard new != pictures[0].layout else { return }
      let usedPictures = usesPictures
      for number in pictures.indices { pictures[number].follow(new) }
      if usesPictures != usedPictures { changeUse(at: now) }
      note(.layout(new.name), at: now)
    case .pin(let selector):
      if held.pin(selector) { note(.pinned(selector.description), at: now) }
    case .unpin(let selector):
      if held.unpin(selector) { note(.unpinned(selector?.description), at: now) }
    case .spotlight(let selector):
      if held.spotlight(selector) { note(.spotlight(selector?.description), at: now) }
    case .process(let rule):
      processing.add(rule)
      for participant in people.all { process(participant, at: now) }
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

  /// Pictures are used from now on, or none are.
  private mutating func changeUse(at now: SessionTime) {
    emit(.usePictures(usesPictures))
    guard usesPictures else { return }
    for id in tracks.announced where tracks[id]?.track.kind == .video {
      tracks[id]?.needsKeyframe = true
      tracks[id]?.forgetPicture(now: now)
    }
  }

  private mutating func setPause(_ new: PausePolicy?, at now: SessionTime) {
    guard new != pause else { return }
    // The edges themselves belong to the time that is not redacted.
    let old = gate.open(at: now)
    if old == .cut { clock.join(at: now) }
    note(new.map { .paused($0) } ?? .resumed, at: now)
    if let new { gate.close(new) }
    if new == .cut { clock.cut(at: now) }
    if old == .redact {
      for id in tracks.announced { tracks[id]?.forgetPicture(now: now) }
    }
    if new == .redact {
      // Nothing that comes from now on is decoded; pictures begin anew with a keyframe afterwards.
      for id in tracks.announced {
        tracks[id]?.needsKeyframe = true
        tracks[id]?.forgetPicture(now: now)
        if tracks[id]?.track.kind == .video { emit(.release(id)) }
      }
    }
    for number in pictures.indices { pictures[number].interrupt() }
  }
}
