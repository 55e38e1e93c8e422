import Signaling

/// The methods of LiveKit's `RoomService`. On the loop.
extension RoomDirectory {
  func createRoom(_ request: Livekit_CreateRoomRequest) throws(TwirpError) -> Livekit_Room {
    let settings = try RoomMachine.Settings(request, RoomMachine.Settings(configuration))
    return (room(request.name) ?? makeRoom(request.name, settings)).machine.info
  }

  func listRooms(_ request: Livekit_ListRoomsRequest) -> Livekit_ListRoomsResponse {
    let names = Set(request.names)
    var response = Livekit_ListRoomsResponse()
    response.rooms = allRooms.filter { names.isEmpty || names.contains($0.name) }.map(\.machine.info)
      .sorted { ($0.creationTimeMs, $0.name) < ($1.creationTimeMs, $1.name) }
    return response
  }

  func deleteRoom(_ request: Livekit_DeleteRoomRequest) throws(TwirpError) -> Livekit_DeleteRoomResponse {
    try requireRoom(request.room).handle(.close(.roomDeleted))
    return Livekit_DeleteRoomResponse()
  }

  func listParticipants(
    _ request: Livekit_ListParticipantsRequest
  ) throws(TwirpError) -> Livekit_ListParticipantsResponse {
    var response = Livekit_ListParticipantsResponse()
    response.participants = try requireRoom(request.room).machine.members.map { $0.info() }
    return response
  }

  func removeParticipant(
    _ request: Livekit_RoomParticipantIdentity
  ) throws(TwirpError) -> Livekit_RemoveParticipantResponse {
    let (room, member) = try requireParticipant(request.room, request.identity)
    room.handle(.leave(member.sid, .participantRemoved, .disconnect))
    return Livekit_RemoveParticipantResponse()
  }

  func mutePublishedTrack(_ request: Livekit_MuteRoomTrackRequest) throws(TwirpError) -> Livekit_MuteRoomTrackResponse {
    let (room, member) = try requireParticipant(request.room, request.identity)
    guard let track = member.tracks.track(request.trackSid) else { throw .noTrack }
    // Nobody is made to be heard or seen by somebody else.
    guard request.muted || !track.info.muted else {
      throw TwirpError(.failedPrecondition, "remote unmute not enabled")
    }
    room.handle(.mute(member.sid, track: track.sid, request.muted))
    var response = Livekit_MuteRoomTrackResponse()
    response.track = (room.machine.track(track.sid)?.track ?? track).info
    return response
  }

  func updateParticipant(_ request: Livekit_UpdateParticipantRequest) throws(TwirpError) -> Livekit_ParticipantInfo {
    let (room, member) = try requireParticipant(request.room, request.identity)
    let (name, metadata, attributes) = (request.name, request.metadata, request.attributes)
    guard member.profile.changed(name: name, metadata: metadata, attributes: attributes) != nil else {
      throw TwirpError(.invalidArgument, "name, metadata and attributes exceed \(Member.Profile.limit) bytes")
    }
    room.handle(.setProfile(member.sid, name: name, metadata: metadata, attributes: attributes))
    if request.hasPermission {
      room.handle(.setGrant(member.sid, member.grant.changed(to: request.permission)))
    }
    return (room.machine.member(member.sid) ?? member).info()
  }

  func updateSubscriptions(
    _ request: Livekit_UpdateSubscriptionsRequest
  ) throws(TwirpError) -> Livekit_UpdateSubscriptionsResponse {
    let (room, member) = try requireParticipant(request.room, request.identity)
    room.handle(.subscribe(member.sid, tracks: request.trackSids, request.subscribe))
    return Livekit_UpdateSubscriptionsResponse()
  }

  func sendData(_ request: Livekit_SendDataRequest) throws(TwirpError) -> Livekit_SendDataResponse {
    let room = try requireRoom(request.room)
    guard request.nonce.isEmpty || request.nonce.count == 16 else {
      throw TwirpError(.invalidArgument, "nonce should be 16-bytes or not present, got: \(request.nonce.count) bytes")
    }
    var user = Livekit_UserPacket()
    user.payload = request.data
    user.destinationSids = request.destinationSids
    user.destinationIdentities = request.destinationIdentities
    if request.hasTopic { user.topic = request.topic }
    user.nonce = request.nonce
    var packet = Livekit_DataPacket()
    packet.kind = request.kind
    packet.destinationIdentities = request.destinationIdentities
    packet.value = .user(user)
    room.handle(.send(packet, isReliable: request.kind == .reliable, nonce: Array(request.nonce)))
    return Livekit_SendDataResponse()
  }

  func updateRoomMetadata(_ request: Livekit_UpdateRoomMetadataRequest) throws(TwirpError) -> Livekit_Room {
    let room = try requireRoom(request.room)
    try RoomMachine.Settings.check(metadata: request.metadata)
    room.handle(.setMetadata(request.metadata))
    return room.machine.info
  }

  func requireRoom(_ name: String) throws(TwirpError) -> Room {
    guard let room = room(name) else { throw .noRoom }
    return room
  }

  func requireParticipant(_ room: String, _ identity: String) throws(TwirpError) -> (room: Room, member: Member) {
    let room = try requireRoom(room)
    guard let member = room.machine.member(identity: identity) else { throw .noParticipant }
    return (room, member)
  }
}

extension VideoGrant {
  /// The grant with other rights. Whether a participant is hidden or a recorder stays as it joined.
  fileprivate func changed(to permission: Livekit_ParticipantPermission) -> VideoGrant {
    var grant = self
    grant.canSubscribe = permission.canSubscribe
    grant.canPublish = permission.canPublish
    grant.canPublishData = permission.canPublishData
    grant.canPublishSources = permission.canPublishSources.map(\.claimName)
    grant.canUpdateOwnMetadata = permission.canUpdateMetadata
    return grant
  }
}
