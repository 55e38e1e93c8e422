import MediaCore

// MARK: - Frames whose time has come

extension SessionCore {
  /// Sound is handed on a little early, so that the block that is mixed next is whole.
  static let audioAhead = Duration.milliseconds(60)
  /// The longest Opus packet (RFC 6716 section 2.1.4).
  private static let longestPacket = Duration.milliseconds(120)

  /// In a room with more cameras and screens than this only those that have a tile are asked for again: the service
  /// has its reasons not to send them all.
  private static let ordinaryRoom = 200

  /// Lets the talker policy hear what is due of these publications.
  mutating func listen(to awake: [TrackID], until time: SessionTime) {
    for id in awake where tracks[id]?.track.kind == .audio {
      guard let state = tracks[id] else { continue }
      let isVoice = state.isEnabled && state.track.source != .screenShareAudio
      tracks[id]?.hear(until: time) { decibels, due in
        if isVoice { talkers.heard(state.track.participant, decibels: decibels, at: due) }
      }
    }
    talkers.presenter = tracks.presenter
    if !pins.isEmpty || !talkers.pinned.isEmpty {
      talkers.pinned = Set(held.tiles(among: people).keys.compactMap(\.participant))
    }
    talkers.advance(to: time)
    guard let talker = talkers.talker, !notes.tells(talker), pause != .redact,
      let participant = people[talker]
    else { return }
    notes.tell(talker)
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
      presentAudio(id, at: time)
    }
  }

  private mutating func presentAudio(_ id: TrackID, at time: SessionTime) {
    // While paused, what is due is thrown away, but not what may be due after the pause.
    var limit = pause == nil ? time + Self.audioAhead : time
    let pauseBegins = pause == nil ? backlog.nextPause(until: limit + Self.longestPacket) : nil
    if let pauseBegins { limit = min(limit, pauseBegins - .nanoseconds(1)) }
    while let waiting = tracks[id]?.dequeue(until: limit) {
      guard tracks[id]?.isEnabled == true, gate.hears(at: waiting.presentation) else { continue }
      emit(
        .audio(
          waiting.id, waiting.frame, of: id, at: clock.fileTime(of: waiting.presentation),
          until: pauseBegins.map { clock.fileTime(of: $0) }))
    }
  }

  private mutating func decode(_ waiting: TrackState.Waiting, of id: TrackID, at time: SessionTime) {
    guard let state = tracks[id] else { return }
    guard gate.sees(at: waiting.presentation) else { return }
    if waiting.frame.followsLoss, !waiting.frame.isKeyframe { tracks[id]?.needsKeyframe = true }
    if waiting.frame.isKeyframe { tracks[id]?.begin(with: waiting) }
    guard tracks[id]?.needsKeyframe == false else {
      request(keyframeOf: id, at: time)
      return
    }
    emit(.decode(waiting.id, waiting.frame, of: id, at: clock.fileTime(of: waiting.presentation)))
    // Decoded in any case, since later frames build on it; shown only when the truth table says so.
    // A frame that came a little later than others of its stream has its place before it arrived.
    let since = max(waiting.presentation, SessionTime(nanoseconds: waiting.arrival))
    guard state.isEnabled, since >= state.enabledSince else { return }
    tracks[id]?.show(waiting, at: time)
    noteResolution(of: id, at: time)
  }

  /// Asks for what is missing: keyframes when nothing comes, the subscription when there is none.
  private mutating func watch(_ id: TrackID, at time: SessionTime) {
    guard let state = tracks[id], lostSince == nil, pause != .redact else { return }
    if !state.isSubscribed {
      let since = state.lastSubscribeRequest ?? state.enabledSince
      if time - since >= .seconds(5), isAskedForAgain(id) {
        tracks[id]?.lastSubscribeRequest = time
        emit(.subscribe(id))
      }
    } else if state.isEnabled, !state.isPaused, state.reception == .wanted {
      if time - (state.lastFrameAt ?? state.enabledSince) >= .seconds(1), state.track.source != .screenShare {
        request(keyframeOf: id, at: time)
      }
    }
  }

  private func isAskedForAgain(_ id: TrackID) -> Bool {
    tracks.videoCount <= Self.ordinaryRoom || inView.contains(id)
  }

  /// When `watch` has something to ask for, if nothing changes before; nil when it has not.
  func nextLook(at id: TrackID) -> SessionTime? {
    guard lostSince == nil, pause != .redact, let state = tracks[id], state.track.kind == .video else { return nil }
    if !state.isSubscribed {
      return isAskedForAgain(id) ? (state.lastSubscribeRequest ?? state.enabledSince) + .seconds(5) : nil
    }
    guard state.isEnabled, !state.isPaused, state.reception == .wanted, state.track.source != .screenShare else {
      return nil
    }
    let due = (state.lastFrameAt ?? state.enabledSince) + .seconds(1)
    return state.lastKeyframeRequest.map { max(due, $0 + .seconds(1)) } ?? due
  }

  /// Asks for a keyframe of a track, at most once a second: the receiver asks on by itself until one comes.
  mutating func request(keyframeOf id: TrackID, at time: SessionTime) {
    if let last = tracks[id]?.lastKeyframeRequest, time - last < .milliseconds(1_000) { return }
    tracks[id]?.lastKeyframeRequest = time
    emit(.requestKeyframe(id))
  }
}
