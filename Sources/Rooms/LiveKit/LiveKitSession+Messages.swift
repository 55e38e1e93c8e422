import MediaCore
import Session
import Signaling
import Transport

/// What the server says after the join, and what the transport does.
extension LiveKitSession {
  mutating func receive(_ message: Livekit_SignalResponse, at now: Int64) {
    if case .connecting(let kind) = phase {
      receiveFirst(message, kind, at: now)
      return
    }
    guard phase == .open else { return }
    // Any message proves that the server is there; not only answers to pings.
    heard(at: now)
    switch message.message {
    case .offer(let offer): receiveOffer(offer)
    case .trickle(let trickle): receiveTrickle(trickle)
    case .update(let update):
      for info in update.participants {
        roster.apply(info)
        if info.sid == participantSID, info.hasPermission { permissionChanged(info.permission, at: now) }
      }
      isAlone = roster.isEmpty
      forgetEndedTracks()
      subscribeSelected()
      tell()
    case .speakersChanged(let change): receiveSpeakers(change.speakers, at: now)
    case .streamStateUpdate(let update): receiveStreamStates(update.streamStates)
    case .subscriptionPermissionUpdate(let update):
      // The offer that follows takes the track away or brings it back; the server does this by itself.
      let track = TrackID(update.trackSid)
      if update.allowed {
        toldLacks[track] = nil
      } else {
        tellLack(of: track, "its publisher does not allow it to the bot")
      }
    case .subscriptionResponse(let response): receiveSubscriptionError(response)
    case .refreshToken(let token):
      if !token.isEmpty { refreshedToken = token }
    case .pongResp(let pong):
      let milliseconds = (now &+ settings.wallClockOffset) / 1_000_000
      roundTripMilliseconds = min(60_000, max(0, milliseconds &- pong.lastPingTimestamp))
    case .connectionQuality(let update): receiveQuality(update.updates)
    case .leave(let leave): receiveLeave(leave, at: now)
    case .roomMoved(let moved): receiveMove(moved)
    case .requestResponse(let response):
      if response.reason != .ok {
        log(.info, "the server refused a request: \(RoomError.oneLine(response.message))")
      }
    case .join, .reconnect:
      log(.notice, "a second join response is ignored")
    case .roomUpdate(let update):
      // Newer servers tell the id only now.
      if !update.room.sid.isEmpty { roomSID = RoomError.oneLine(update.room.sid) }
    case .answer, .trackPublished, .mute, .subscribedQualityUpdate,
      .trackUnpublished, .pong, .trackSubscribed, .mediaSectionsRequirement,
      .subscribedAudioCodecUpdate, nil:
      // About publishing, about the other mode, or of no interest to a recording.
      break
    }
  }

  // MARK: Negotiation

  private mutating func receiveOffer(_ offer: Livekit_SessionDescription) {
    lastOffer = offer
    add(.applyOffer(generation: generation, id: offer.id, sdp: offer.sdp))
  }

  /// The offer was applied and answered: sends the answer at once (the server waits 15 s at most) and binds anew.
  mutating func answered(_ id: UInt32, _ sdp: String, _ sections: [MediaSection]) {
    let answer = Livekit_SessionDescription.with {
      $0.type = "answer"
      $0.sdp = sdp
      $0.id = id
    }
    lastAnswer = answer
    if phase == .open { send { $0.answer = answer } }
    let old = bindings
    bindings = TrackBindings(sections, trackOfMID: lastOffer?.midToTrackID ?? [:])
    for id in old.kindsOfTracks.keys where bindings.kindsOfTracks[id] == nil { roster.changes.add(id) }
    for id in bindings.kindsOfTracks.keys { roster.changes.add(id) }
    refused.subtract(bindings.tracks.values)
    tell()
  }

  private mutating func receiveTrickle(_ trickle: Livekit_TrickleRequest) {
    guard trickle.target == .subscriber else { return }
    guard let candidate = TrickleCandidate(json: trickle.candidateInit) else {
      log(.notice, "a candidate of the server is malformed and ignored")
      return
    }
    if !candidate.candidate.isEmpty { add(.addCandidate(candidate.candidate)) }
  }

  mutating func sendCandidate(_ candidate: TrickleCandidate) {
    guard phase == .open else {
      if waitingCandidates.count < 64 { waitingCandidates.append(candidate) }
      return
    }
    send {
      $0.trickle = .with {
        $0.candidateInit = candidate.json
        $0.target = .subscriber
      }
    }
  }

  // MARK: Media

  mutating func transportChanged(_ state: TransportState, at now: Int64) {
    switch state {
    case .connected:
      (isTransportUp, isPathDead) = (true, false)
      watch.connectedAt = now
      (disconnectedDeadline, mediaDeadline) = (nil, nil)
      if phase == .open { follow(policy.handle(.connected, at: now), at: now) }
    case .disconnected:
      isTransportUp = false
      lossText = "nothing comes through it"
      tellLoss(at: now)
      if phase == .open { disconnectedDeadline = now &+ Self.disconnectedTime }
    case .failed:
      isTransportUp = false
      disconnectedDeadline = nil
      if phase == .open && mediaDeadline == nil {
        // A server that sends the bot away closes its media too, and DTLS's farewell may overtake the message that
        // says why: wait a moment for it before coming back.
        lossText = "the server closed it, or it failed"
        disconnectedDeadline = now &+ Self.farewellTime
      } else if phase == .open {
        mediaFailed("it failed", at: now)
      } else {
        lossText = "media failed"
        tellLoss(at: now)
      }
    case .new, .connecting, .closed: break
    }
  }

  /// Media did not come about after a join or a resume. The policy knows what may help.
  mutating func mediaFailed(_ text: String, at now: Int64) {
    if phase == .open { closeSignal() }
    mediaDeadline = nil
    lossText = text
    reconnectReason = .rrSubscriberFailed
    log(.notice, "no media connection: \(text)")
    tellLoss(at: now)
    follow(policy.handle(.mediaFailed(RoomError(.mediaFailed, text)), at: now), at: now)
  }

  // MARK: Tracks and people

  mutating func subscribe(_ track: TrackID, at now: Int64) {
    guard phase == .open, settings.receivesMedia, let known = roster.track(track) else { return }
    if pictures.omitted.contains(track) || sounds.omitted.contains(track) {
      use([known], at: now)
      return
    }
    if let last = lastSubscribe[track], now &- last < Self.subscribeInterval { return }
    if lastSubscribe[track] != nil, toldLacks[track] == nil {
      tellLack(of: track, "the server sends nothing of it and gives no reason; it is asked again")
    }
    lastSubscribe[track] = now
    let session = roster.session(of: known.participant) ?? ""
    send {
      $0.subscription = .with {
        $0.trackSids = [track.rawValue]
        $0.subscribe = true
        $0.participantTracks = [
          .with {
            $0.participantSid = session
            $0.trackSids = [track.rawValue]
          }
        ]
      }
    }
  }

  /// True when the server sends every track without being asked.
  var subscribesByItself: Bool { settings.receivesMedia && settings.selection.isEverything && !isCrowd }

  private mutating func receiveSpeakers(_ speakers: [Livekit_SpeakerInfo], at now: Int64) {
    hearSpeakers(speakers, at: now)
    guard !isLossTold else { return }
    let known = speakers.compactMap { info -> Speaker? in
      guard let identity = roster.identity(ofSession: info.sid) else { return nil }
      // Not a number compares false with everything: then the level is 0.
      let level = info.level > 0 ? Int(min(info.level, 1) * 1000) : 0
      return Speaker(participant: identity, level: level, isActive: info.active)
    }
    if !known.isEmpty { add(.emit(.speakers(known))) }
  }

  private mutating func receiveStreamStates(_ states: [Livekit_StreamStateInfo]) {
    for info in states {
      let track = TrackID(info.trackSid)
      roster.changes.add(track)
      if info.state == .paused, roster.track(track) != nil {
        paused.insert(track)
      } else {
        paused.remove(track)
      }
    }
    tell()
  }

  private mutating func receiveSubscriptionError(_ response: Livekit_SubscriptionResponse) {
    let why =
      switch response.err {
      case .seCodecUnsupported: "the server says that its codec is not supported"
      case .seTrackNotfound: "the server says that it does not find it"
      case .seUnknown: "the server refuses it without a reason"
      case .UNRECOGNIZED(let code): "the server refuses it (error \(code))"
      }
    let track = TrackID(response.trackSid)
    tellLack(of: track, why)
    if roster.track(track) != nil { refused.insert(track) }
    roster.changes.add(track)
    tell()
  }

  /// Tells once for each reason why a track is not received: the card in the picture says only that it is not.
  mutating func tellLack(of id: TrackID, _ why: String) {
    guard toldLacks[id] != why, toldLacks.count < Self.mostLacks else { return }
    toldLacks[id] = why
    log(.warning, "\(roster.name(of: id)) is not received: \(why)")
  }

  /// Tracks of which it is remembered what was told, those included of which nothing else is known.
  private static let mostLacks = 4096

  /// The server moved the bot to another room: the same session goes on there.
  private mutating func receiveMove(_ moved: Livekit_RoomMovedResponse) {
    log(.notice, "moved to room \(RoomError.oneLine(moved.room.name))")
    if !moved.token.isEmpty { refreshedToken = moved.token }
    guard moved.hasParticipant, !moved.participant.sid.isEmpty else { return }
    participantSID = moved.participant.sid
    if !moved.room.sid.isEmpty { roomSID = RoomError.oneLine(moved.room.sid) }
    roster.reset(own: moved.participant, others: moved.otherParticipants)
    forgetEndedTracks()
    subscribeSelected()
    tell()
  }

  /// Keeps the small sets about tracks from growing for ever.
  private mutating func forgetEndedTracks() {
    guard !roster.changes.isEverything else {
      paused = paused.filter { roster.track($0) != nil }
      refused = refused.filter { roster.track($0) != nil }
      toldLacks = toldLacks.filter { roster.track($0.key) != nil }
      encryption.unreadable = encryption.unreadable.filter { roster.track($0.key) != nil }
      lastSubscribe = lastSubscribe.filter { roster.track($0.key) != nil }
      wishes = wishes.filter { roster.track($0.key) != nil }
      return
    }
    for id in roster.changes.tracks where roster.track(id) == nil {
      paused.remove(id)
      refused.remove(id)
      toldLacks[id] = nil
      encryption.unreadable[id] = nil
      lastSubscribe[id] = nil
      wishes[id] = nil
    }
  }
}
