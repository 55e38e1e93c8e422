import MediaCore

// MARK: - Frames whose time has come

extension SessionCore {
  /// Sound is handed on a little early, so that the block that is mixed next is whole.
  private static let soundAhead = SessionTime.milliseconds(60)
  /// The longest Opus packet (RFC 6716 section 2.1.4).
  private static let longestPacket = SessionTime.milliseconds(120)

  /// Lets the talker policy hear what is due.
  mutating func listen(until time: SessionTime) {
    var presenter: ParticipantIdentity?
    for id in trackOrder {
      guard let state = tracks[id] else { continue }
      if state.track.source == .screenShare, !state.track.isMuted { presenter = state.track.participant }
      guard state.track.kind == .audio else { continue }
      let isVoice = state.isEnabled && state.track.source != .screenShareAudio
      tracks[id]?.hear(until: time) { decibels, due in
        if isVoice { talkers.heard(state.track.participant, decibels: decibels, at: due) }
      }
    }
    talkers.presenter = presenter
    talkers.advance(to: time)
    guard let talker = talkers.talker, talker != notedTalker, pause != .redact,
      let participant = participants.first(where: { $0.identity == talker })
    else { return }
    notedTalker = talker
    note(.talker(talker, name: participant.displayName), at: time)
  }

  /// Sends on the frames of a track whose time has come.
  mutating func present(_ id: TrackID, at time: SessionTime) {
    if tracks[id]?.track.kind == .video {
      while let waiting = tracks[id]?.dequeue(until: time) {
        if pause != .redact { decode(waiting, of: id, at: time) }
      }
      watch(id, at: time)
    } else {
      presentSound(id, at: time)
    }
  }

  private mutating func presentSound(_ id: TrackID, at time: SessionTime) {
    // While paused, what is due is thrown away, but not what may be due after the pause.
    var limit = pause == nil ? time + Self.soundAhead : time
    let pauseBegins = pause == nil ? nextPause(until: limit + Self.longestPacket) : nil
    if let pauseBegins { limit = min(limit, pauseBegins - SessionTime(nanoseconds: 1)) }
    while let waiting = tracks[id]?.dequeue(until: limit) {
      guard tracks[id]?.isEnabled == true, pause == nil, waiting.presentation >= soundBegins else { continue }
      emit(
        .sound(
          waiting.id, waiting.frame, at: clock.fileTime(of: waiting.presentation),
          until: pauseBegins.map { clock.fileTime(of: $0) }))
    }
  }

  private mutating func decode(_ waiting: TrackState.Waiting, of id: TrackID, at time: SessionTime) {
    guard let state = tracks[id] else { return }
    // Frames of a redacted time that come late are no better than those that came in time.
    guard waiting.presentation >= picturesBegin else { return }
    if waiting.frame.followsLoss, !waiting.frame.isKeyframe { tracks[id]?.needsKeyframe = true }
    if waiting.frame.isKeyframe { tracks[id]?.needsKeyframe = false }
    guard tracks[id]?.needsKeyframe == false else {
      request(keyframeOf: id, at: time)
      return
    }
    emit(.decode(waiting.id, waiting.frame))
    // Decoded in any case, since later frames build on it; shown only when the truth table says so.
    guard state.isEnabled, waiting.presentation >= state.enabledSince else { return }
    tracks[id]?.show(waiting, at: time)
    if waiting.frame.isKeyframe { noteResolution(of: id, at: time) }
  }

  /// Asks for what is missing: keyframes when nothing comes, the subscription when there is none.
  private mutating func watch(_ id: TrackID, at time: SessionTime) {
    guard let state = tracks[id], lostSince == nil, pause != .redact else { return }
    if !state.isSubscribed {
      let since = state.lastSubscribeRequest ?? state.enabledSince
      if time - since >= .seconds(5) {
        tracks[id]?.lastSubscribeRequest = time
        emit(.subscribe(id))
      }
    } else if state.isEnabled, !state.isPaused, state.reception == .wanted {
      if time - (state.lastFrameAt ?? state.enabledSince) >= .seconds(1), state.track.source != .screenShare {
        request(keyframeOf: id, at: time)
      }
    }
  }

  private mutating func request(keyframeOf id: TrackID, at time: SessionTime) {
    if let last = tracks[id]?.lastKeyframeRequest, time - last < .milliseconds(1_000) { return }
    tracks[id]?.lastKeyframeRequest = time
    emit(.requestKeyframe(id))
  }
}
