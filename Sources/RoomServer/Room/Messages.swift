import Signaling

extension Livekit_SignalResponse {
  /// One message.
  init(_ message: OneOf_Message) {
    self.init()
    self.message = message
  }

  /// The server ends the session. `action` tells what the client shall do.
  static func leave(
    _ reason: Livekit_DisconnectReason, _ action: Livekit_LeaveRequest.Action = .disconnect
  ) -> Livekit_SignalResponse {
    var leave = Livekit_LeaveRequest()
    leave.reason = reason
    leave.action = action
    leave.canReconnect = action != .disconnect
    return Livekit_SignalResponse(.leave(leave))
  }

  /// News of participants.
  static func update(_ participants: [Livekit_ParticipantInfo]) -> Livekit_SignalResponse {
    var update = Livekit_ParticipantUpdate()
    update.participants = participants
    return Livekit_SignalResponse(.update(update))
  }

  /// Outcome of a request that carries an id.
  static func outcome(
    of id: UInt32 = 0, _ reason: Livekit_RequestResponse.Reason, _ text: String = "",
    request: Livekit_RequestResponse.OneOf_Request? = nil
  ) -> Livekit_SignalResponse {
    var response = Livekit_RequestResponse()
    response.requestID = id
    response.reason = reason
    response.message = text
    response.request = request
    return Livekit_SignalResponse(.requestResponse(response))
  }

  /// A session description.
  static func description(
    _ type: DescriptionType, _ sdp: String, id: UInt32, tracks: [String: String]
  ) -> Livekit_SignalResponse {
    var description = Livekit_SessionDescription()
    description.type = type.rawValue
    description.sdp = sdp
    description.id = id
    description.midToTrackID = tracks
    return Livekit_SignalResponse(type == .offer ? .offer(description) : .answer(description))
  }

  /// How streams are for a subscriber: paused for want of bandwidth, or flowing again.
  static func streamStates(_ states: [Livekit_StreamStateInfo]) -> Livekit_SignalResponse {
    var update = Livekit_StreamStateUpdate()
    update.streamStates = states
    return Livekit_SignalResponse(.streamStateUpdate(update))
  }

  /// What a description is.
  enum DescriptionType: String { case offer, answer }

  /// A local ICE candidate.
  static func trickle(
    _ candidate: TrickleCandidate, _ target: Livekit_SignalTarget
  ) -> Livekit_SignalResponse {
    var trickle = Livekit_TrickleRequest()
    trickle.candidateInit = candidate.json
    trickle.target = target
    return Livekit_SignalResponse(.trickle(trickle))
  }
}
