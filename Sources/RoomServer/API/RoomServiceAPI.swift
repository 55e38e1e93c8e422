import Platform
import Signaling
import SwiftProtobuf

/// LiveKit's `RoomService` over Twirp: `POST /twirp/livekit.RoomService/<Method>` with JSON or protobuf, under a token
/// with the grants roomAdmin (for that very room), roomCreate or roomList. Carries bytes and rights; what the methods
/// do is `RoomDirectory`'s.
struct RoomServiceAPI: HTTPService {
  let gate: JoinGate
  let directory: RoomDirectory

  let prefix = "/twirp/"
  let longestBody = 1 << 20

  private static let service = "/twirp/livekit.RoomService/"

  func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (HTTPReply) -> Void) {
    let token: AccessToken
    do throws(JoinGate.Refusal) {
      let text = try JoinGate.token(request.headers["authorization"].first, SignalQuery(parsing: request.query))
      token = try gate.verify(text, now: WallClock.seconds)
    } catch {
      return reply(HTTPReply(error.status, error.text))
    }
    guard request.enter() else { return reply(.full) }
    guard request.method == "POST", request.path.hasPrefix(Self.service) else {
      return reply(TwirpError(.badRoute, "no handler for \(request.method) \(request.path)").reply)
    }
    // Parameters of the media type, such as a character set, change nothing.
    let type = request.headers["content-type"].first?.split(separator: ";").first.map { $0.lowercased() } ?? ""
    guard type.hasPrefix("application/json") || type.hasPrefix("application/protobuf") else {
      return reply(TwirpError(.badRoute, "unexpected Content-Type: '\(type)'").reply)
    }
    let call = Call(
      directory: directory, grant: token.video ?? VideoGrant(), body: request.body,
      isJSON: type.hasPrefix("application/json"), reply: reply)
    dispatch(String(request.path.dropFirst(Self.service.count)), call)
  }

  private func dispatch(_ method: String, _ call: Call) {
    switch method {
    case "CreateRoom":
      call.run(Livekit_CreateRoomRequest.self, \.allowsCreate) { rooms, request throws(TwirpError) in
        try rooms.createRoom(request)
      }
    case "ListRooms":
      call.run(Livekit_ListRoomsRequest.self, \.allowsList) { rooms, request in rooms.listRooms(request) }
    case "DeleteRoom":
      call.run(Livekit_DeleteRoomRequest.self, \.allowsCreate) { rooms, request throws(TwirpError) in
        try rooms.deleteRoom(request)
      }
    case "ListParticipants":
      call.administrate(Livekit_ListParticipantsRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.listParticipants(request)
      }
    case "GetParticipant":
      call.administrate(Livekit_RoomParticipantIdentity.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.requireParticipant(request.room, request.identity).member.info()
      }
    case "RemoveParticipant":
      call.administrate(Livekit_RoomParticipantIdentity.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.removeParticipant(request)
      }
    case "MutePublishedTrack":
      call.administrate(Livekit_MuteRoomTrackRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.mutePublishedTrack(request)
      }
    case "UpdateParticipant":
      call.administrate(Livekit_UpdateParticipantRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.updateParticipant(request)
      }
    case "UpdateSubscriptions":
      call.administrate(Livekit_UpdateSubscriptionsRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.updateSubscriptions(request)
      }
    case "SendData":
      call.administrate(Livekit_SendDataRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.sendData(request)
      }
    case "UpdateRoomMetadata":
      call.administrate(Livekit_UpdateRoomMetadataRequest.self, \.room) { rooms, request throws(TwirpError) in
        try rooms.updateRoomMetadata(request)
      }
    case "ForwardParticipant", "MoveParticipant", "PerformRpc":
      call.reply(TwirpError(.unimplemented, "\(method) is not implemented").reply)
    default: call.reply(TwirpError(.badRoute, "no handler for path \(Self.service)\(method)").reply)
    }
  }

  /// One request on its way.
  private struct Call: Sendable {
    let directory: RoomDirectory
    let grant: VideoGrant
    let body: [UInt8]
    let isJSON: Bool
    let reply: @Sendable (HTTPReply) -> Void

    /// A method for the administrators of the room that the request names.
    func administrate<In: Message, Out: Message>(
      _: In.Type, _ room: (In) -> String,
      _ act: @escaping @Sendable (RoomDirectory, In) throws(TwirpError) -> Out
    ) {
      guard let request = decode(In.self) else { return }
      guard grant.roomAdmin == true, grant.room == room(request) else { return reply(TwirpError.denied.reply) }
      perform(request, act)
    }

    /// A method for whoever has a grant.
    func run<In: Message, Out: Message>(
      _: In.Type, _ isAllowed: (VideoGrant) -> Bool,
      _ act: @escaping @Sendable (RoomDirectory, In) throws(TwirpError) -> Out
    ) {
      guard isAllowed(grant) else { return reply(TwirpError.denied.reply) }
      guard let request = decode(In.self) else { return }
      perform(request, act)
    }

    private func decode<In: Message>(_: In.Type) -> In? {
      let bytes = isJSON && body.isEmpty ? Array("{}".utf8) : body
      let request = SignalCoding.decode(In.self, bytes, isText: isJSON, depth: 16)
      if request == nil { reply(TwirpError(.malformed, "the request could not be decoded").reply) }
      return request
    }

    private func perform<In: Message, Out: Message>(
      _ request: In, _ act: @escaping @Sendable (RoomDirectory, In) throws(TwirpError) -> Out
    ) {
      let call = self
      directory.loop.post {
        do throws(TwirpError) {
          call.succeed(try act(call.directory, request))
        } catch {
          call.reply(error.reply)
        }
      }
    }

    private func succeed(_ message: some Message) {
      // LiveKit's own servers write the proto's names, not those of proto3 JSON.
      var json = JSONEncodingOptions()
      json.preserveProtoFieldNames = true
      let bytes: [UInt8]? = isJSON ? try? message.jsonUTF8Bytes(options: json) : try? message.serializedBytes()
      guard let bytes else { return reply(TwirpError(.unavailable, "the answer could not be written").reply) }
      reply(HTTPReply(200, isJSON ? "application/json" : "application/protobuf", bytes))
    }
  }
}

extension VideoGrant {
  fileprivate var allowsCreate: Bool { roomCreate == true }
  fileprivate var allowsList: Bool { roomList == true }
}
