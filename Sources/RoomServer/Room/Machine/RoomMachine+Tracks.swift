import Signaling

/// What is published, and who receives it.
extension RoomMachine {
  // MARK: Publishing

  /// Answers the announcement of a track.
  mutating func announce(
    _ request: Livekit_AddTrackRequest, of sid: String, at now: Moment, using random: inout some RandomNumberGenerator
  ) {
    func refusal(_ reason: Livekit_RequestResponse.Reason, _ text: String) -> Livekit_SignalResponse {
      .outcome(of: 0, reason, text, request: .addTrack(request))
    }
    guard let member = member(sid) else { return }
    guard request.sid.isEmpty, request.type == .audio || request.type == .video else {
      return send(sid, refusal(.unsupportedType, "only audio and video tracks are supported"))
    }
    guard member.grant.allowsPublishing(request.source) else {
      return send(sid, refusal(.notAllowed, "the token does not allow to publish this source"))
    }
    guard !member.tracks.isFull else { return send(sid, refusal(.limitExceeded, "too many tracks")) }
    var response = Livekit_TrackPublishedResponse()
    response.cid = request.cid
    if let known = member.tracks.announcement(cid: request.cid) {
      response.track = known
    } else {
      let track = SID.track(using: &random)
      guard let info = change(sid, { $0.tracks.announce(request, sid: track, at: now) }) else { return }
      response.track = info
    }
    send(sid, Livekit_SignalResponse(.trackPublished(response)))
  }

  /// The client's offer is answered, and its new sections become tracks: everybody hears of them, then gets them.
  mutating func offered(_ sid: String, _ sections: [OfferedSection]) {
    guard member(sid) != nil else { return }
    var fresh: [PublishedTrack] = []
    for section in sections {
      let position = takeTrackPosition()
      guard let track = change(sid, { $0.tracks.bind(section, position: position) }) ?? nil else {
        log(
          .warning, "a track was offered that had not been announced", of: sid,
          ["kind": "\(section.kind == .audio ? Livekit_TrackType.audio : .video)"])
        continue
      }
      fresh.append(track)
      let route = TrackRoute(owner: sid, info: track.info, codec: track.codec, position: position)
      act(.startTrack(sid, mid: section.mid, route))
    }
    var tracks: [String: String] = [:]
    for track in (member(sid)?.tracks.published ?? []) + fresh { tracks[track.info.mid] = track.sid }
    act(.answer(sid, tracks: tracks))
    for track in fresh { publish(track, of: sid, layers: sections.first { $0.mid == track.info.mid }?.layers ?? 1) }
  }

  private mutating func publish(_ track: PublishedTrack, of sid: String, layers: Int) {
    change(sid) { member in
      member.tracks.publish(track)
      member.touch()
    }
    announce(sid)
    guard let owner = member(sid) else { return }
    for member in members where member.sid != sid { considerSubscription(of: member.sid, to: track, of: owner) }
    announceRoom()
    act(.report("track_published", info, self.member(sid)?.info(), track.info))
    log(
      .info, "track published", of: sid,
      [
        "track": track.sid, "kind": "\(track.codec.kind)", "source": "\(track.info.source)", "layers": "\(layers)",
      ])
  }

  /// A track is over, while its publisher is there.
  mutating func unpublish(_ track: String, of sid: String) {
    guard let track = change(sid, { $0.tracks.remove(track) }) ?? nil else { return }
    change(sid) { $0.touch() }
    guard let owner = member(sid) else { return }
    unpublished(track, of: owner, owner.info())
  }

  /// A track is gone: nobody gets it any more, and who knew of it hears that. `info` is its publisher as it is now.
  mutating func unpublished(_ track: PublishedTrack, of owner: Member, _ info: Livekit_ParticipantInfo) {
    for member in members { dropSubscription(of: member.sid, to: track.sid) }
    act(.stopTrack(owner.sid, track: track.sid))
    announce(owner.sid)
    announceRoom()
    act(.report("track_unpublished", self.info, info, track.info))
    act(.log(.info, "track unpublished", ["identity": owner.identity, "track": track.sid]))
  }

  /// Mutes or unmutes a track as its publisher says.
  mutating func mute(_ sid: String, _ track: String, _ isMuted: Bool) {
    guard change(sid, { $0.tracks.setMuted(track, isMuted) }) == true else { return }
    act(.setMuted(track: track, isMuted))
    changed(sid)
  }

  /// Mutes a track by the server API; its publisher is told.
  mutating func muteByServer(_ sid: String, _ track: String, _ isMuted: Bool) {
    guard member(sid)?.tracks.track(track) != nil,
      change(sid, { $0.tracks.setMuted(track, isMuted) }) == true
    else { return }
    act(.setMuted(track: track, isMuted))
    var mute = Livekit_MuteTrackRequest()
    mute.sid = track
    mute.muted = isMuted
    send(sid, Livekit_SignalResponse(.mute(mute)))
    changed(sid)
  }

  // MARK: Subscribing

  /// Subscribes to a track when it is wanted and allowed, or ends the subscription when it isn't any more.
  mutating func considerSubscription(of sid: String, to track: PublishedTrack, of owner: Member) {
    guard let member = member(sid), member.receives, owner.sid != sid else { return }
    let isWanted = member.subscriptions.isWanted(track.sid) ?? member.options.autoSubscribe
    guard isWanted, owner.allows(member, track.sid), member.grant.allowsSubscribe else {
      return dropSubscription(of: sid, to: track.sid)
    }
    guard change(sid, { $0.subscriptions.add(track.sid) }) == true else { return }
    act(.subscribe(sid, track: track.sid, videoWish(of: member, track.sid)))
    guard change(owner.sid, { $0.tracks.noteSubscribed(track.sid) }) == true else { return }
    var message = Livekit_TrackSubscribed()
    message.trackSid = track.sid
    send(owner.sid, Livekit_SignalResponse(.trackSubscribed(message)))
  }

  private mutating func dropSubscription(of sid: String, to track: String) {
    if change(sid, { $0.subscriptions.remove(track) }) == true { act(.unsubscribe(sid, track: track)) }
  }

  private func videoWish(of member: Member, _ track: String) -> VideoWish {
    member.subscriptions.video(track) ?? VideoWish(quality: member.options.adaptiveStream ? 0 : 2)
  }

  /// Tracks are wanted, or not any more.
  mutating func setWanted(_ sid: String, _ tracks: [String], _ isWanted: Bool) {
    guard member(sid)?.receives == true else { return }
    for sidOfTrack in tracks {
      guard change(sid, { $0.subscriptions.setWanted(sidOfTrack, isWanted) }) == true,
        let (owner, track) = track(sidOfTrack)
      else { continue }
      considerSubscription(of: sid, to: track, of: owner)
    }
  }

  /// The client says how it shows a video track.
  mutating func setVideo(_ sid: String, _ track: String, _ wish: VideoWish) {
    guard member(sid)?.receives == true else { return }
    if change(sid, { $0.subscriptions.setVideo(track, wish) }) == true {
      act(.setVideo(sid, track: track, wish))
    }
  }

  /// The client doesn't want a track's media for now.
  mutating func setDisabled(_ sid: String, _ track: String) {
    guard let member = member(sid) else { return }
    var wish = videoWish(of: member, track)
    wish.isDisabled = true
    setVideo(sid, track, wish)
  }

  /// A participant says who may receive its tracks; who gets or loses the right is told.
  mutating func setPermission(_ sid: String, _ new: Livekit_SubscriptionPermission) {
    guard let before = member(sid) else { return }
    change(sid) { $0.permission = new }
    guard let owner = member(sid) else { return }
    for other in members where other.sid != sid && other.receives {
      for track in owner.tracks.published where owner.allows(other, track.sid) != before.allows(other, track.sid) {
        var update = Livekit_SubscriptionPermissionUpdate()
        update.participantSid = sid
        update.trackSid = track.sid
        update.allowed = owner.allows(other, track.sid)
        send(other.sid, Livekit_SignalResponse(.subscriptionPermissionUpdate(update)))
        considerSubscription(of: other.sid, to: track, of: owner)
      }
    }
  }

  // MARK: Rights

  /// Changes what a participant may do: subscriptions begin or end, tracks that may not be published go.
  mutating func setGrant(_ sid: String, _ new: VideoGrant, at now: Moment) {
    guard let old = member(sid)?.grant, new != old else { return }
    change(sid) { $0.setGrant(new) }
    if let member = member(sid), member.mayReceive, !member.receives {
      change(sid) { $0.subscriberOpened(at: now) }
      act(.openSubscriber(sid, mayPause: member.options.allowsPause))
      act(.startOffers(sid))
    }
    if new.allowsSubscribe != old.allowsSubscribe {
      for owner in members {
        for track in owner.tracks.published { considerSubscription(of: sid, to: track, of: owner) }
      }
    }
    for track in member(sid)?.tracks.published ?? [] where !new.allowsPublishing(track.info.source) {
      unpublish(track.sid, of: sid)
      var message = Livekit_TrackUnpublishedResponse()
      message.trackSid = track.sid
      send(sid, Livekit_SignalResponse(.trackUnpublished(message)))
    }
    changed(sid)
    renewToken(of: sid, at: now)
  }

  /// Changes what others read of a participant. False when it would be too long.
  mutating func setProfile(
    _ sid: String, name: String, metadata: String, attributes: [String: String], at now: Moment
  ) -> Bool {
    guard let member = member(sid) else { return true }
    guard let profile = member.profile.changed(name: name, metadata: metadata, attributes: attributes) else {
      return false
    }
    guard !name.isEmpty || !metadata.isEmpty || !attributes.isEmpty else { return true }
    change(sid) { $0.setProfile(profile) }
    changed(sid)
    renewToken(of: sid, at: now)
    return true
  }
}
