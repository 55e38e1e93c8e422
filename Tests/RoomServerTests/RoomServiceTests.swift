import Glibc
import Signaling
import SwiftProtobuf
import Testing

@testable import RoomServer

@Suite struct RoomServiceTests {
  private func call(
    _ server: TestServer, _ method: String, _ json: String, token: String?, type: String = "application/json"
  ) throws -> (status: Int, body: String) {
    let headers = ["Content-Type: \(type)"] + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
    return try #require(
      try server.client().request(
        "/twirp/livekit.RoomService/\(method)", method: "POST", headers: headers, body: Array(json.utf8)))
  }

  private func reason(_ client: WireClient) -> Livekit_DisconnectReason? {
    client.next { if case .leave(let leave) = $0 { leave.reason } else { nil } }
  }

  @Test func roomsAreMadeListedAndDeleted() throws {
    let server = try TestServer { $0.createsRooms = false }
    let admin = try adminToken()
    let made = try call(
      server, "CreateRoom", #"{"name":"room","emptyTimeout":60,"max_participants":2,"metadata":"hello"}"#, token: admin)
    #expect(made.status == 200)
    let room = try Livekit_Room(jsonString: made.body)
    #expect(
      room.sid.hasPrefix("RM_") && room.emptyTimeout == 60 && room.maxParticipants == 2 && room.metadata == "hello")
    #expect(made.body.contains("\"max_participants\":2"))
    // The same name again is the same room.
    #expect(
      try Livekit_Room(jsonString: call(server, "CreateRoom", #"{"name":"room"}"#, token: admin).body).sid == room.sid)
    let alice = try server.join("alice")
    #expect(alice.next { if case .join(let join) = $0 { join.room.metadata } else { nil } } == "hello")
    _ = try call(server, "CreateRoom", #"{"name":"other"}"#, token: admin)
    let all = try Livekit_ListRoomsResponse(jsonString: call(server, "ListRooms", "{}", token: admin).body)
    #expect(all.rooms.map(\.name) == ["room", "other"] && all.rooms.map(\.numParticipants) == [1, 0])
    let some = try Livekit_ListRoomsResponse(
      jsonString: call(server, "ListRooms", #"{"names":["other"]}"#, token: admin).body)
    #expect(some.rooms.map(\.name) == ["other"])
    #expect(try call(server, "DeleteRoom", #"{"room":"room"}"#, token: admin).body == "{}")
    #expect(reason(alice) == .roomDeleted)
    let again = try call(server, "DeleteRoom", #"{"room":"room"}"#, token: admin)
    #expect(again.status == 404)
    #expect(again.body == #"{"code":"not_found","msg":"requested room does not exist"}"#)
    #expect(try server.client().upgrade("/rtc?access_token=\(try token("alice"))") == 404)
  }

  @Test func everyMethodNeedsItsGrant() throws {
    let server = try TestServer()
    let none = try adminToken(admin: nil, create: nil, list: nil)
    let elsewhere = try adminToken(room: "elsewhere", create: nil, list: nil)
    let here = try adminToken(room: "room", create: nil, list: nil)
    let roomMethods = [
      "ListParticipants", "GetParticipant", "RemoveParticipant", "MutePublishedTrack", "UpdateParticipant",
      "UpdateSubscriptions", "SendData", "UpdateRoomMetadata",
    ]
    for method in roomMethods {
      for token in [none, elsewhere] {
        let refused = try call(server, method, #"{"room":"room"}"#, token: token)
        #expect(refused.status == 401 && refused.body == #"{"code":"unauthenticated","msg":"permissions denied"}"#)
      }
      #expect(try call(server, method, #"{"room":"room","identity":"x"}"#, token: here).status == 404, "\(method)")
    }
    for method in ["CreateRoom", "ListRooms", "DeleteRoom"] {
      #expect(try call(server, method, #"{"name":"room","room":"room"}"#, token: here).status == 401, "\(method)")
    }
    #expect(try call(server, "ListRooms", "{}", token: nil).body.hasPrefix("no access token"))
    #expect(try call(server, "ListRooms", "{}", token: "nonsense").status == 401)
  }

  @Test func faultsAreSaidAsTwirpDoes() throws {
    let server = try TestServer()
    let admin = try adminToken()
    #expect(
      try call(server, "ListRooms", "{", token: admin).body
        == #"{"code":"malformed","msg":"the request could not be decoded"}"#)
    #expect(try call(server, "Nothing", "{}", token: admin).body.hasPrefix(#"{"code":"bad_route""#))
    #expect(
      try call(server, "ListRooms", "{}", token: admin, type: "text/plain").body.contains("unexpected Content-Type"))
    #expect(try call(server, "MoveParticipant", "{}", token: admin).status == 501)
    #expect(try call(server, "CreateRoom", "{}", token: admin).body.hasPrefix(#"{"code":"invalid_argument""#))
    let elsewhere = try server.client().request(
      "/twirp/livekit.Egress/ListEgress", method: "POST", headers: ["Authorization: Bearer \(admin)"])
    #expect(elsewhere?.status == 404)
  }

  @Test func participantsAreListedChangedAndRemoved() throws {
    let server = try TestServer()
    let admin = try adminToken(room: "room")
    let alice = try server.join("alice")
    let join = try #require(alice.next { if case .join(let join) = $0 { join } else { nil } })
    let hidden = try server.join("recorder", hidden: true)
    _ = hidden.next { if case .join = $0 { true } else { nil } }
    let list = try Livekit_ListParticipantsResponse(
      jsonString: call(server, "ListParticipants", #"{"room":"room"}"#, token: admin).body)
    #expect(Set(list.participants.map(\.identity)) == ["alice", "recorder"])
    let one = try Livekit_ParticipantInfo(
      jsonString: call(server, "GetParticipant", #"{"room":"room","identity":"alice"}"#, token: admin).body)
    #expect(one.sid == join.participant.sid)
    let change = """
      {"room":"room","identity":"alice","name":"Alice","metadata":"m","attributes":{"a":"b"},
      "permission":{"canSubscribe":true,"canPublish":false,"canPublishData":true}}
      """
    let changed = try Livekit_ParticipantInfo(jsonString: call(server, "UpdateParticipant", change, token: admin).body)
    #expect(changed.name == "Alice" && changed.metadata == "m" && changed.attributes == ["a": "b"])
    #expect(!changed.permission.canPublish && changed.permission.canPublishData)
    let heard: Bool? = alice.next { message in
      guard case .update(let update) = message else { return nil }
      return update.participants.contains { $0.name == "Alice" && !$0.permission.canPublish } ? true : nil
    }
    #expect(heard == true)
    var request = Livekit_SignalRequest()
    request.addTrack.cid = "cid"
    request.addTrack.type = .audio
    try alice.send(request)
    let refusal = try #require(alice.next { if case .requestResponse(let r) = $0 { r } else { nil } })
    #expect(refusal.reason == .notAllowed)
    #expect(try call(server, "UpdateRoomMetadata", #"{"room":"room","metadata":"topic"}"#, token: admin).status == 200)
    #expect(alice.next { if case .roomUpdate(let update) = $0 { update.room.metadata } else { nil } } == "topic")
    #expect(try call(server, "RemoveParticipant", #"{"room":"room","identity":"alice"}"#, token: admin).body == "{}")
    #expect(reason(alice) == .participantRemoved)
    let gone = try call(server, "RemoveParticipant", #"{"room":"room","identity":"alice"}"#, token: admin)
    #expect(gone.body == #"{"code":"not_found","msg":"participant does not exist"}"#)
  }

  @Test func protobufIsSpokenToo() throws {
    let server = try TestServer()
    let admin = try adminToken()
    var create = Livekit_CreateRoomRequest()
    create.name = "room"
    let body: [UInt8] = try create.serializedBytes()
    let reply = try #require(
      try server.client().request(
        "/twirp/livekit.RoomService/CreateRoom", method: "POST",
        headers: ["Content-Type: application/protobuf", "Authorization: Bearer \(admin)"], body: body))
    #expect(reply.status == 200)
    #expect(reply.body.contains("room"))
    #expect(try call(server, "ListRooms", "", token: admin).body.contains("\"name\":\"room\""))
  }
}
