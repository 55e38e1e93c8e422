import Signaling

/// What clients ask for in their signalling messages.
extension RoomMachine {
  /// Acts on a message of a client. Messages that this server doesn't know are ignored.
  mutating func received(
    _ request: Livekit_SignalRequest, from sid: String, at now: Moment, using random: inout some RandomNumberGenerator
  ) {
    guard let member = member(sid), let message = request.message else { return }
    switch message {
    case .offer(let offer):
      guard member.grant.allowsPublish || member.grant.allowsData else {
        return log(.warning, "an offer came from a client that may neither publish nor send data", of: sid)
      }
      need(.offer(offer), of: member, at: now, using: &random)
    case .answer(let answer): if member.receives { act(.takeAnswer(sid, answer)) }
    case .trickle(let trickle): add(trickle, of: member, at: now, using: &random)
    case .addTrack(let request):
      guard member.grant.allowsPublish else { return refuse(request, of: sid) }
      need(.announcement(request), of: member, at: now, using: &random)
    case .mute(let request): mute(sid, request.sid, request.muted)
    case .subscription(let update): subscribe(sid, update)
    case .trackSetting(let settings): for track in settings.trackSids { setVideo(sid, track, VideoWish(settings)) }
    case .leave(let leave):
      end(sid, leave.reason == .unknownReason ? .clientInitiated : leave.reason, isByClient: true, at: now)
    case .ping: send(sid, Livekit_SignalResponse(.pong(now.wall / 1000)))
    case .pingReq(let ping):
      var pong = Livekit_Pong()
      pong.lastPingTimestamp = ping.timestamp
      pong.timestamp = now.wall / 1000
      send(sid, Livekit_SignalResponse(.pongResp(pong)))
    case .updateMetadata(let update): setProfile(sid, update, at: now)
    case .updateAudioTrack(let update):
      changeTrack(sid, update.trackSid) { $0.audioFeatures = update.features }
    case .updateVideoTrack(let update):
      changeTrack(sid, update.trackSid) {
        $0.width = update.width
        $0.height = update.height
      }
    case .subscriptionPermission(let permission): setPermission(sid, permission)
    case .simulate(let scenario): simulate(sid, scenario, at: now)
    case .syncState(let state): synchronize(member, state, at: now)
    case .updateLayers: break
    }
  }

  // MARK: Connections

  /// Does what a publishing connection is needed for, when it is there.
  private mutating func need(
    _ need: PublisherNeed, of member: Member, at now: Moment, using random: inout some RandomNumberGenerator
  ) {
    guard member.media.publisher != nil else { return act(.openPublisher(member.sid, need)) }
    serve(need, of: member.sid, at: now, using: &random)
  }

  /// Does what a publishing connection was needed for.
  mutating func serve(
    _ need: PublisherNeed, of sid: String, at now: Moment, using random: inout some RandomNumberGenerator
  ) {
    guard member(sid) != nil else { return }
    switch need {
    case .offer(let offer): act(.takeOffer(sid, offer))
    case .announcement(let request): announce(request, of: sid, at: now, using: &random)
    case .candidate(let candidate): act(.addCandidate(sid, .publisher, candidate))
    }
  }

  /// What a publishing connection was needed for can't be done.
  mutating func publisherFailed(_ sid: String, _ need: PublisherNeed, _ reason: String, at now: Moment) {
    switch need {
    case .offer:
      log(.error, "cannot make a connection for publishing", of: sid, ["reason": reason])
      end(sid, .mediaFailure, .reconnect, at: now)
    case .announcement(let request): refuse(request, of: sid)
    case .candidate: break
    }
  }

  private mutating func refuse(_ request: Livekit_AddTrackRequest, of sid: String) {
    send(sid, .outcome(.notAllowed, "the token does not allow to publish", request: .addTrack(request)))
  }

  private mutating func add(
    _ trickle: Livekit_TrickleRequest, of member: Member, at now: Moment,
    using random: inout some RandomNumberGenerator
  ) {
    guard let candidate = TrickleCandidate(json: trickle.candidateInit) else {
      return send(
        member.sid, .outcome(.unclassifiedError, "candidate is not valid JSON", request: .trickle(trickle)))
    }
    guard !candidate.candidate.isEmpty else { return }
    switch trickle.target {
    case .publisher: need(.candidate(candidate.candidate), of: member, at: now, using: &random)
    case .subscriber: if member.receives { act(.addCandidate(member.sid, .subscriber, candidate.candidate)) }
    case .UNRECOGNIZED: break
    }
  }

  /// After a resume: what the client believes of the session.
  private mutating func synchronize(_ member: Member, _ state: Livekit_SyncState, at now: Moment) {
    let sid = member.sid
    for track in state.publishTracks.map(\.track.sid) where member.tracks.track(track) == nil {
      guard member.tracks.isAnnounced(track) else {
        log(.notice, "the client publishes a track that is not known here", of: sid, ["track": track])
        return end(sid, .stateMismatch, .reconnect, at: now)
      }
    }
    subscribe(sid, state.subscription)
    for track in state.trackSidsDisabled { setDisabled(sid, track) }
    for heard in state.datachannelReceiveStates {
      repeatData(of: heard.publisherSid, after: heard.lastSeq, to: sid)
    }
  }

  // MARK: The rest

  private mutating func changeTrack(_ sid: String, _ track: String, _ change: (inout Livekit_TrackInfo) -> Void) {
    if self.change(sid, { $0.tracks.change(track, change) }) == true { changed(sid) }
  }

  private mutating func subscribe(_ sid: String, _ update: Livekit_UpdateSubscription) {
    setWanted(sid, update.trackSids + update.participantTracks.flatMap(\.trackSids), update.subscribe)
  }

  private mutating func setProfile(_ sid: String, _ update: Livekit_UpdateParticipantMetadata, at now: Moment) {
    func outcome(_ reason: Livekit_RequestResponse.Reason, _ text: String = "") -> Livekit_SignalResponse {
      .outcome(of: update.requestID, reason, text, request: .updateMetadata(update))
    }
    guard member(sid)?.grant.canUpdateOwnMetadata == true else {
      return send(sid, outcome(.notAllowed, "the token does not allow to change name, metadata and attributes"))
    }
    let isShort = setProfile(
      sid, name: update.name, metadata: update.metadata, attributes: update.attributes, at: now)
    guard isShort else {
      return send(
        sid, outcome(.limitExceeded, "name, metadata and attributes exceed \(Member.Profile.limit) bytes"))
    }
    send(sid, outcome(.ok))
  }

  /// What SDKs ask for in their own tests: those about leaving, and less bandwidth (0 ends that).
  private mutating func simulate(_ sid: String, _ simulate: Livekit_SimulateScenario, at now: Moment) {
    switch simulate.scenario {
    case .serverLeave: end(sid, .serverShutdown, at: now)
    case .subscriberBandwidth(let bits):
      act(.simulateBandwidth(sid, bits > 0 ? Int(clamping: bits) : nil))
    case .leaveRequestFullReconnect: end(sid, .unknownReason, .reconnect, at: now)
    default: break
    }
  }
}

extension VideoWish {
  /// As a client says it.
  init(_ settings: Livekit_UpdateTrackSettings) {
    isDisabled = settings.disabled || settings.quality == .off
    switch settings.quality {
    case .low: quality = 0
    case .medium: quality = 1
    default: quality = 2
    }
    width = Int(min(settings.width, 1 << 16))
    height = Int(min(settings.height, 1 << 16))
    framesPerSecond = Int(min(settings.fps, 1000))
    priority = settings.priority
  }
}
