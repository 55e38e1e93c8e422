import Glibc
import Signaling
import SwiftProtobuf
import Testing

@testable import RoomServer

/// The test API's verbs, as a client on the wire sees them. Those about media are tried with whole clients, in
/// RoomsTests.
@Suite struct VerbTests {
  private func joined(_ server: TestServer, _ identity: String) throws -> (WireClient, Livekit_JoinResponse) {
    let client = try server.join(identity)
    return (client, try #require(client.next { if case .join(let join) = $0 { join } else { nil } }))
  }

  private func pong(_ client: WireClient, _ number: Int64) throws -> Bool {
    var request = Livekit_SignalRequest()
    request.pingReq.timestamp = number
    try client.send(request)
    return client.next { if case .pongResp(let pong) = $0 { pong.lastPingTimestamp } else { nil } } == number
  }

  private func leave(_ client: WireClient) -> Livekit_LeaveRequest? {
    client.next { if case .leave(let leave) = $0 { leave } else { nil } }
  }

  private static let clock = ContinuousClock()

  @Test func aClosedSignalEndsWithoutAWordAndNewOnesAreRefusedMeanwhile() throws {
    let server = try TestServer()
    let (alice, _) = try joined(server, "alice")
    #expect(try server.server.testing.cutSignal(room: "room", identity: "alice") == 1)
    while let frame = alice.frame() {
      let message = try Livekit_SignalResponse(serializedBytes: frame.payload).message
      if frame.opcode == 8 { Issue.record("a close frame came") }
      if case .leave = message { Issue.record("a farewell came") }
    }
    let target = "/rtc?protocol=16&access_token=\(try token("alice"))"
    #expect(try server.client().upgrade(target) == 503)
    #expect(try server.client().upgrade("/rtc?protocol=16&access_token=\(try token("bob"))") == 101)
    try server.server.testing.restore()
    #expect(try server.client().upgrade(target) == 101)
  }

  @Test func aSilentSignalAnswersOnlyWhenTheSilenceIsOver() throws {
    let server = try TestServer()
    let (alice, _) = try joined(server, "alice")
    let begin = Self.clock.now
    try server.server.testing.cutSignal(room: "room", identity: "alice", mode: .silent, for: .milliseconds(300))
    #expect(try pong(alice, 7))
    #expect(Self.clock.now - begin >= .milliseconds(300))
  }

  @Test func droppedNewsAreToldAtTheEnd() throws {
    let server = try TestServer()
    let (alice, _) = try joined(server, "alice")
    let (bob, _) = try joined(server, "bob")
    #expect(
      alice.next { message in
        guard case .update(let update) = message else { return nil as Bool? }
        return update.participants.contains { $0.identity == "bob" } ? true : nil
      } == true)
    try server.server.testing.dropUpdates(room: "room", identity: "alice")
    #expect(try pong(alice, 0))
    let (carol, _) = try joined(server, "carol")
    var leave = Livekit_SignalRequest()
    leave.leave.reason = .clientInitiated
    try bob.send(leave)
    #expect(bob.waitForEnd())
    // The pong says that nothing came before it.
    var request = Livekit_SignalRequest()
    request.pingReq.timestamp = 1
    try alice.send(request)
    let news: Bool? = alice.next { message in
      switch message {
      case .update, .roomUpdate: true
      case .pongResp: false
      default: nil
      }
    }
    #expect(news == false)
    try server.server.testing.restore()
    var seen: [String: Livekit_ParticipantInfo.State] = [:]
    let isWhole: Bool? = alice.next { message in
      guard case .update(let update) = message else { return nil }
      for info in update.participants { seen[info.identity] = info.state }
      return seen.count == 3 ? true : nil
    }
    #expect(isWhole == true)
    #expect(seen["bob"] == .disconnected && seen["carol"] == .joined && seen["alice"] == .joined)
    #expect(try pong(carol, 2))
  }

  @Test func descriptionsAreHeldBackAndKeepTheirOrder() throws {
    let server = try TestServer()
    let (keeper, _) = try joined(server, "keeper")
    try server.server.testing.delayAnswers(room: "room", by: .milliseconds(300))
    let begin = Self.clock.now
    let (alice, _) = try joined(server, "alice")
    let first: Bool? = alice.next { message in
      switch message {
      case .offer: true
      case .trickle: false
      default: nil
      }
    }
    #expect(first == true)
    // The fault is of the room, so it is alice's too, from the join on.
    #expect(Self.clock.now - begin >= .milliseconds(300))
    #expect(try pong(keeper, 1))
  }

  @Test func aRestartForgetsEverything() throws {
    let server = try TestServer()
    let (alice, join) = try joined(server, "alice")
    #expect(try server.server.testing.restart() == 1)
    #expect(alice.waitForEnd())
    let back = try server.join("alice", query: "protocol=16&reconnect=1&sid=\(join.participant.sid)")
    let refusal = try #require(leave(back))
    #expect(refusal.reason == .stateMismatch && refusal.action == .reconnect)
    let (_, anew) = try joined(server, "alice")
    #expect(anew.room.sid != join.room.sid && anew.participant.sid != join.participant.sid)
  }

  @Test func farewellsSayWhatTheVerbSays() throws {
    let server = try TestServer()
    let testing = server.server.testing
    let (alice, _) = try joined(server, "alice")
    try testing.migrate(room: "room", identity: "alice")
    let migration = try #require(leave(alice))
    #expect(migration.reason == .migration && migration.action == .reconnect && migration.canReconnect)
    let (bob, _) = try joined(server, "bob")
    try testing.migrate(room: "room", identity: "bob", action: .resume)
    #expect(leave(bob)?.action == .resume)
    #expect(bob.waitForEnd())
    let (carol, _) = try joined(server, "carol")
    try testing.kick(room: "room", identity: "carol")
    let removal = try #require(leave(carol))
    #expect(removal.reason == .participantRemoved && removal.action == .disconnect)
    let (dora, _) = try joined(server, "dora")
    try testing.kick(room: "room", identity: "dora", reason: .connectionTimeout)
    #expect(leave(dora)?.reason == .connectionTimeout)
    let (eve, _) = try joined(server, "eve")
    try testing.duplicate(room: "room", identity: "eve")
    #expect(leave(eve)?.reason == .duplicateIdentity)
    let (frank, join) = try joined(server, "frank")
    #expect(try testing.endRoom("room") == 1)
    #expect(leave(frank)?.reason == .roomDeleted)
    let (_, anew) = try joined(server, "frank")
    #expect(anew.room.sid != join.room.sid)
    #expect(throws: TestVerbError.notFound("there is no 'nobody' in the room 'room'")) {
      try testing.kick(room: "room", identity: "nobody")
    }
    #expect(throws: TestVerbError.notFound("there is no room 'elsewhere'")) { try testing.endRoom("elsewhere") }
  }

  @Test func afullRoomTakesNobodyElse() throws {
    let server = try TestServer()
    let (alice, _) = try joined(server, "alice")
    try server.server.testing.fill("room", limit: 1)
    let target = "/rtc?protocol=16&access_token=\(try token("bob", hidden: true))"
    #expect(try server.client().upgrade(target) == 429)
    let reason = try server.client().request("/rtc/validate?access_token=\(try token("bob"))")
    #expect(reason?.status == 429 && reason?.body == "room has exceeded its max participants")
    // Somebody who is there already may come again.
    #expect(try pong(alice, 1))
    let (again, _) = try joined(server, "alice")
    let elsewhere = "/rtc?protocol=16&access_token=\(try token("bob", room: "elsewhere"))"
    #expect(try server.client().upgrade(elsewhere) == 101)
    try server.server.testing.fill("room", limit: nil)
    #expect(try server.client().upgrade(target) == 101)
    #expect(try pong(again, 2))
  }

  @Test func aBusyServerRefusesForAWhile() throws {
    let server = try TestServer()
    let target = "/rtc?protocol=16&access_token=\(try token("alice"))"
    try server.server.testing.busy(status: 502)
    #expect(try server.client().upgrade(target) == 502)
    #expect(try server.client().request("/rtc/validate?access_token=\(try token("alice"))")?.status == 502)
    try server.server.testing.restore()
    #expect(try server.client().upgrade(target) == 101)
    try server.server.testing.busy(room: "elsewhere")
    #expect(try server.client().upgrade(target) == 101)
  }

  @Test func oldTokensExpireOnCommand() throws {
    let server = try TestServer()
    let old = try token("alice", from: -1)
    try server.server.testing.expireToken(room: "room", identity: "alice")
    let refusal = try server.client().request("/rtc/validate?access_token=\(old)")
    #expect(refusal?.status == 401 && refusal?.body == "invalid authorization token: token is expired (exp)")
    #expect(try server.client().upgrade("/rtc?protocol=16&access_token=\(old)") == 401)
    let fresh = try token("alice", from: 5)
    #expect(try server.client().upgrade("/rtc?protocol=16&access_token=\(fresh)") == 101)
    #expect(try server.client().upgrade("/rtc?protocol=16&access_token=\(try token("bob", from: -1))") == 101)
  }

  @Test func theRightToSubscribeCanBeGivenLater() throws {
    let server = try TestServer()
    let client = try server.client()
    #expect(
      client.upgrade("/rtc?protocol=16&access_token=\(try token("alice", publish: false, subscribe: false))") == 101)
    let join = try #require(client.next { if case .join(let join) = $0 { join } else { nil } })
    #expect(!join.subscriberPrimary && !join.participant.permission.canSubscribe)
    try server.server.testing.permit(room: "room", identity: "alice", canSubscribe: true)
    var granted = false
    var claims: AccessToken?
    let offer: Livekit_SessionDescription? = client.next { message in
      switch message {
      case .update(let update):
        if update.participants.contains(where: { $0.identity == "alice" && $0.permission.canSubscribe }) {
          granted = true
        }
      case .refreshToken(let text):
        claims = try? AccessToken(verifying: text, now: Int64(time(nil))) { _ in secret }
      case .offer(let offer): return offer
      default: break
      }
      return nil
    }
    #expect(offer != nil && granted && claims?.video?.canSubscribe == true)
  }

  @Test func roomsCanBeLeftToTheAPI() throws {
    let server = try TestServer { $0.createsRooms = false }
    let reply = try server.client().request("/rtc/validate?access_token=\(try token())")
    #expect(reply?.status == 404 && reply?.body == "requested room does not exist")
    #expect(try server.client().upgrade("/rtc?access_token=\(try token())") == 404)
  }
}

@Suite struct TestServiceTests {
  private func call(_ server: TestServer, _ verb: String, _ body: String, token: String?, method: String = "POST")
    throws
    -> (status: Int, body: String)?
  {
    try server.client().request(
      "/test/\(verb)", method: method, headers: token.map { ["Authorization: Bearer \($0)"] } ?? [],
      body: Array(body.utf8))
  }

  @Test func onlyAdministratorsMayCommand() throws {
    let server = try TestServer { $0.hasTestAPI = true }
    let everywhere = try adminToken()
    let here = try adminToken(room: "room")
    #expect(try call(server, "busy", "{}", token: nil)?.status == 401)
    #expect(try call(server, "busy", "{}", token: "nonsense")?.status == 401)
    #expect(try call(server, "busy", "{}", token: try token())?.status == 403)
    #expect(try call(server, "busy", "{}", token: here)?.status == 403)
    #expect(try call(server, "busy", #"{"room":"room"}"#, token: here)?.status == 200)
    #expect(try call(server, "fill", #"{"room":"other","limit":1}"#, token: here)?.status == 403)
    // What is about a room asks for a token of that room, not for one of none.
    #expect(try call(server, "fill", #"{"room":"room","limit":1}"#, token: everywhere)?.status == 403)
    #expect(try call(server, "busy", #"{"room":"room"}"#, token: everywhere)?.status == 403)
    #expect(try call(server, "restart", "", token: here)?.status == 403)
    #expect(try call(server, "restore", "", token: everywhere)?.body == "{\"ok\":true,\"participants\":0}\n")
    #expect(try call(server, "restore", "", token: everywhere, method: "GET")?.status == 405)
    let off = try TestServer()
    #expect(try call(off, "restore", "", token: everywhere)?.status == 404)
  }

  @Test(arguments: [
    ("nothing", "{}", 404, "there is no verb 'nothing'"), ("busy", "[1]", 400, "the body must be a JSON object"),
    ("busy", "{", 400, "the body must be a JSON object"),
    ("busy", #"{"status":200}"#, 400, "status must be a whole number, 400 to 599"),
    ("busy", #"{"status":"503"}"#, 400, "status must be a whole number, 400 to 599"),
    ("busy", #"{"for":1.5}"#, 400, "for must be a whole number, 0 to 86400000"),
    ("busy", #"{"stat\"us":1}"#, 400, #"there is no field 'stat\"us' in this verb"#),
    ("cut-media", "{}", 400, "room is missing"), ("cut-media", #"{"room":5}"#, 400, "room must be a text"),
    ("cut-media", #"{"room":"x"}"#, 404, "there is no room 'x'"),
    ("cut-signal", #"{"room":"x","mode":"half"}"#, 400, "mode must be close or silent"),
    ("delay-answers", #"{"room":"x"}"#, 400, "by (milliseconds) is missing"),
    ("migrate", #"{"room":"x","action":"STAY"}"#, 400, "action must be RECONNECT or RESUME"),
    ("kick", #"{"room":"x","reason":"MOOD"}"#, 400, "there is no disconnect reason 'MOOD'"),
    ("pause-streams", #"{"room":"x","tracks":"y"}"#, 400, "tracks must be a list of texts"),
    ("restart", #"{"wipe":1}"#, 400, "wipe must be true or false"),
  ])
  func whatIsWrongIsSaid(verb: String, body: String, status: Int, text: String) throws {
    let server = try TestServer { $0.hasTestAPI = true }
    let room = body.contains(#""room":"x""#) ? "x" : nil
    let reply = try call(server, verb, body, token: try adminToken(room: room))
    #expect(reply?.status == status && reply?.body == "{\"error\":\"\(text)\"}\n", "\(String(describing: reply))")
  }

  @Test func verbsAreReadWithAllTheirFields() throws {
    func verb(_ name: String, _ json: String) throws -> TestVerb { try TestVerb(name: name, json: Array(json.utf8)) }
    let target = TestTarget(room: "r", identity: "i")
    #expect(
      try verb("cut-signal", #"{"room":"r","identity":"i","mode":"silent","for":1500}"#)
        == .cutSignal(target, mode: .silent, lasting: .milliseconds(1500)))
    #expect(
      try verb("kick", #"{"room":"r","reason":"room_deleted"}"#) == .kick(TestTarget(room: "r"), reason: .roomDeleted))
    #expect(
      try verb("pause-streams", #"{"room":"r","identity":"i","tracks":["TR_a"],"paused":false}"#)
        == .pauseStreams(target, tracks: ["TR_a"], paused: false))
    #expect(try verb("fill", #"{"room":"r","limit":null}"#) == .fill("r", limit: nil))
    #expect(try verb("restart", "") == .restart(wipes: true))
    #expect(
      try verb("limit-bandwidth", #"{"room":"r","bps":300000}"#)
        == .limitBandwidth(TestTarget(room: "r"), bitsPerSecond: 300_000, lasting: nil))
  }

  @Test func aConnectionServesOneVerbAfterTheOther() throws {
    let server = try TestServer { $0.hasTestAPI = true }
    let client = try server.client()
    let header = ["Authorization: Bearer \(try adminToken())"]
    for _ in 0..<3 {
      #expect(client.request("/test/restore", method: "POST", headers: header, body: Array("{}".utf8))?.status == 200)
      #expect(client.request("/test/none", method: "POST", headers: header, body: Array("{}".utf8))?.status == 404)
    }
    let long = [UInt8](repeating: 32, count: 100_000)
    #expect(client.request("/test/restore", method: "POST", headers: header, body: long)?.status == 413)
  }
}
