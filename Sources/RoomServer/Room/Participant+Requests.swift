import Logging
import Signaling

extension Participant {
  /// Acts on a message of the client. Messages that this server doesn't know are ignored.
  func handle(_ request: Livekit_SignalRequest) {
    guard isMember, let message = request.message else { return }
    switch message {
    case .offer(let offer): handle(offer: offer)
    case .answer(let answer): subscriber?.handle(answer)
    case .trickle(let trickle): handle(trickle)
    case .addTrack(let request): handle(request)
    case .mute(let request): setMuted(request.sid, request.muted)
    case .subscription(let update): handle(update)
    case .trackSetting(let settings): handle(settings)
    case .leave(let leave):
      self.leave(leave.reason == .unknownReason ? .clientInitiated : leave.reason, isByClient: true)
    case .ping: pong()
    case .pingReq(let ping): pong(ping)
    case .updateMetadata(let update): handle(update)
    case .updateAudioTrack(let update): changeTrack(update.trackSid) { $0.audioFeatures = update.features }
    case .updateVideoTrack(let update):
      changeTrack(update.trackSid) {
        $0.width = update.width
        $0.height = update.height
      }
    case .subscriptionPermission(let permission): handle(permission)
    case .simulate(let scenario): handle(scenario)
    case .syncState(let state): handle(state)
    case .updateLayers: break
    }
  }

  // MARK: Connections

  private func handle(offer: Livekit_SessionDescription) {
    guard grant.allowsPublish || grant.allowsData else {
      logger.warning("an offer came from a client that may neither publish nor send data")
      return
    }
    do throws(Room.JoinError) {
      try makePublisher().handle(offer)
    } catch {
      logger.error("cannot make a connection for publishing", metadata: ["reason": "\(error)"])
      leave(.mediaFailure, action: .reconnect)
    }
  }

  private func handle(_ trickle: Livekit_TrickleRequest) {
    guard let candidate = TrickleCandidate(json: trickle.candidateInit) else {
      send(.outcome(.unclassifiedError, "candidate is not valid JSON", request: .trickle(trickle)))
      return
    }
    guard !candidate.candidate.isEmpty else { return }
    switch trickle.target {
    case .publisher: (try? makePublisher())?.addCandidate(candidate.candidate)
    case .subscriber: subscriber?.addCandidate(candidate.candidate)
    case .UNRECOGNIZED: break
    }
  }

  /// After a resume: what the client believes of the session.
  private func handle(_ state: Livekit_SyncState) {
    let known = Set(publications.map(\.sid))
    for track in state.publishTracks where !known.contains(track.track.sid) {
      guard publisher?.isPending(track.track.sid) == true else {
        logger.notice("the client publishes a track that is not known here", metadata: ["track": "\(track.track.sid)"])
        return leave(.stateMismatch, action: .reconnect)
      }
    }
    handle(state.subscription)
    for sid in state.trackSidsDisabled { subscriber?.setDisabled(sid) }
    for heard in state.datachannelReceiveStates {
      room.repeatData(of: heard.publisherSid, after: heard.lastSeq, to: self)
    }
  }

  // MARK: Publishing

  private func handle(_ request: Livekit_AddTrackRequest) {
    guard grant.allowsPublish, let publisher = try? makePublisher() else {
      send(.outcome(.notAllowed, "the token does not allow to publish", request: .addTrack(request)))
      return
    }
    publisher.announce(request)
  }

  private func setMuted(_ sid: String, _ muted: Bool) {
    if let publication = publications.first(where: { $0.sid == sid }) {
      if publication.setMuted(muted) { changed() }
    } else {
      _ = publisher?.mutePending(sid, muted)
    }
  }

  private func changeTrack(_ sid: String, _ change: (inout Livekit_TrackInfo) -> Void) {
    guard let publication = publications.first(where: { $0.sid == sid }) else {
      publisher?.changePending(sid, change)
      return
    }
    publication.update(change)
    changed()
  }

  // MARK: Subscribing

  private func handle(_ update: Livekit_UpdateSubscription) {
    for sid in update.trackSids + update.participantTracks.flatMap(\.trackSids) {
      subscriber?.setSubscribed(sid, update.subscribe)
    }
  }

  private func handle(_ settings: Livekit_UpdateTrackSettings) {
    var wish = VideoWish()
    wish.isDisabled = settings.disabled || settings.quality == .off
    switch settings.quality {
    case .low: wish.quality = 0
    case .medium: wish.quality = 1
    default: wish.quality = 2
    }
    wish.width = Int(min(settings.width, 1 << 16))
    wish.height = Int(min(settings.height, 1 << 16))
    wish.framesPerSecond = Int(min(settings.fps, 1000))
    wish.priority = settings.priority
    for sid in settings.trackSids { subscriber?.setVideo(sid, wish) }
  }

  /// Whether somebody may receive a track of this participant.
  func allows(_ other: Participant, _ sid: String) -> Bool {
    guard let permission, !permission.allParticipants else { return true }
    return permission.trackPermissions.contains { entry in
      (entry.participantIdentity == other.identity || entry.participantSid == other.sid)
        && (entry.allTracks || entry.trackSids.contains(sid))
    }
  }

  private func handle(_ new: Livekit_SubscriptionPermission) {
    let others = room.participants.filter { $0 !== self && $0.subscriber != nil }
    let tracks = publications
    let before = others.map { other in tracks.map { allows(other, $0.sid) } }
    permission = new
    for (other, allowed) in zip(others, before) {
      for (track, wasAllowed) in zip(tracks, allowed) where allows(other, track.sid) != wasAllowed {
        var update = Livekit_SubscriptionPermissionUpdate()
        update.participantSid = sid
        update.trackSid = track.sid
        update.allowed = !wasAllowed
        other.send(Livekit_SignalResponse(.subscriptionPermissionUpdate(update)))
        other.subscriber?.consider(track)
      }
    }
  }

  // MARK: The rest

  private func pong() { send(Livekit_SignalResponse(.pong(WallClock.milliseconds()))) }

  private func pong(_ ping: Livekit_Ping) {
    var pong = Livekit_Pong()
    pong.lastPingTimestamp = ping.timestamp
    pong.timestamp = WallClock.milliseconds()
    send(Livekit_SignalResponse(.pongResp(pong)))
  }

  /// The longest name, metadata and attributes together, in bytes.
  static let metadataLimit = 64 << 10

  private func handle(_ update: Livekit_UpdateParticipantMetadata) {
    func reply(_ reason: Livekit_RequestResponse.Reason, _ text: String = "") {
      send(.outcome(of: update.requestID, reason, text, request: .updateMetadata(update)))
    }
    guard grant.canUpdateOwnMetadata == true else {
      return reply(.notAllowed, "the token does not allow to change name, metadata and attributes")
    }
    guard setIdentity(name: update.name, metadata: update.metadata, attributes: update.attributes) else {
      return reply(.limitExceeded, "name, metadata and attributes exceed \(Self.metadataLimit) bytes")
    }
    reply(.ok)
  }

  /// Changes what others read of the participant; empty texts change nothing, an empty attribute goes. False when it
  /// would be too long.
  func setIdentity(name: String, metadata: String, attributes: [String: String]) -> Bool {
    var size = name.utf8.count + metadata.utf8.count
    for (key, value) in self.attributes.merging(attributes, uniquingKeysWith: { $1 }) {
      size += key.utf8.count + value.utf8.count
    }
    guard size <= Self.metadataLimit else { return false }
    guard !name.isEmpty || !metadata.isEmpty || !attributes.isEmpty else { return true }
    if !name.isEmpty { self.name = name }
    if !metadata.isEmpty { self.metadata = metadata }
    for (key, value) in attributes { self.attributes[key] = value.isEmpty ? nil : value }
    identityChanged()
    return true
  }

  /// Faults that SDKs ask for in their own tests: those about leaving, and less bandwidth (0 ends that).
  private func handle(_ simulate: Livekit_SimulateScenario) {
    switch simulate.scenario {
    case .serverLeave: leave(.serverShutdown)
    case .subscriberBandwidth(let bits): subscriber?.simulatedBandwidth = bits > 0 ? Int(clamping: bits) : nil
    case .leaveRequestFullReconnect: leave(.unknownReason, action: .reconnect)
    default: break
    }
  }
}
