import Glibc
import Logging
import Signaling
import SwiftProtobuf
import Testing

@testable import RoomServer

@Suite struct TokenTests {
  @Test func badTokensAreRefusedWithTheSameStatusByUpgradeAndValidate() throws {
    let server = try TestServer()
    let unsigned = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJrZXkifQ."
    let cases: [(token: String, status: Int, text: String)] = [
      (try token(secret: "another"), 401, "invalid authorization token"),
      (try token(key: "unknown"), 401, "invalid authorization token"),
      (try token(from: -7200), 401, "invalid authorization token: token is expired (exp)"),
      (try token(secret: "another", from: -7200), 401, "invalid authorization token"),
      (try token(from: 3600), 401, "invalid authorization token: token not valid yet (nbf)"),
      ("nonsense", 401, "invalid authorization token"), (unsigned, 401, "invalid authorization token"),
      (try token(video: false), 401, "permissions denied: no video grant"),
      (try token(join: nil), 401, "permissions denied: no roomJoin grant"),
      (try token(join: false), 401, "permissions denied: no roomJoin grant"),
      (try token(room: nil), 400, "room name cannot be empty: the token's grant names none"),
      (try token(room: ""), 400, "room name cannot be empty: the token's grant names none"),
      (try token(""), 400, "identity cannot be empty"),
      (try token(String(repeating: "x", count: 257)), 400, "identity and room name must not exceed 256 bytes"),
      (try token("a\nb"), 400, "identity and room name must not have control characters"),
      (try token("a\u{7f}"), 400, "identity and room name must not have control characters"),
      (try token("a\u{85}"), 400, "identity and room name must not have control characters"),
      (try token(room: "\u{1b}[2J"), 400, "identity and room name must not have control characters"),
    ]
    for (text, status, body) in cases {
      let header = ["Authorization: Bearer \(text)"]
      let validated = try server.client().request("/rtc/validate?protocol=16", headers: header)
      #expect(validated?.status == status && validated?.body == body, "\(body): \(String(describing: validated))")
      #expect(try server.client().upgrade("/rtc?protocol=16", headers: header) == status, "\(body)")
    }
  }

  @Test func tokensComeByHeaderOrByQueryAndTheHeaderGoesFirst() throws {
    let server = try TestServer()
    let good = try token()
    #expect(try server.client().request("/rtc/validate?access_token=\(good)")?.status == 200)
    let answer = try server.client().request("/rtc/validate", headers: ["Authorization: Bearer \(good)"])
    #expect(answer?.status == 200 && answer?.body == "success")
    let mixed = try server.client().request(
      "/rtc/validate?access_token=\(good)", headers: ["Authorization: Bearer bad"])
    #expect(mixed?.status == 401)
    #expect(try server.client().request("/rtc/validate", headers: ["Authorization: Basic \(good)"])?.status == 401)
    #expect(try server.client().request("/rtc/validate")?.status == 401)
  }

  @Test func rightsThatTheTokenLacksAreRefusedAtTheDoor() throws {
    let server = try TestServer()
    let quiet = try token(publish: false)
    #expect(try server.client().request("/rtc/validate?publish=1&access_token=\(quiet)")?.status == 401)
    let attributes = "eyJhIjoiYiJ9"  // {"a":"b"}
    let plain = try token()
    #expect(
      try server.client().request("/rtc/validate?attributes=\(attributes)&access_token=\(plain)")?.status == 401)
    let allowed = try token(updates: true)
    #expect(
      try server.client().request("/rtc/validate?attributes=\(attributes)&access_token=\(allowed)")?.status == 200)
  }
}

@Suite struct ServerTests {
  @Test func aTakenPortIsSaidClearly() throws {
    let first = try TestServer()
    var configuration = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    configuration.port = first.port
    let second = EmbeddedRoomServer(
      configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let error = #expect(throws: RoomServerError.portInUse(host: "127.0.0.1", port: first.port)) {
      try second.start()
    }
    #expect(error?.description.hasPrefix("port \(first.port) on 127.0.0.1 is already in use") == true)
  }

  @Test func badSettingsAreSaidClearly() {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    #expect(throws: RoomServerError.noAPIKeys) {
      try EmbeddedRoomServer(configuration: .init(apiKeys: [:]), logger: logger).start()
    }
    var elsewhere = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    elsewhere.bind = "203.0.113.77"
    elsewhere.port = 0
    #expect(throws: RoomServerError.addressUnavailable(host: "203.0.113.77", port: 0)) {
      try EmbeddedRoomServer(configuration: elsewhere, logger: logger).start()
    }
    var nonsense = EmbeddedRoomServer.Configuration(apiKeys: [key: secret])
    nonsense.bind = "no address at all"
    #expect(throws: RoomServerError.addressUnavailable(host: "no address at all", port: 7880)) {
      try EmbeddedRoomServer(configuration: nonsense, logger: logger).start()
    }
  }

  @Test func pathsAnswerAsSDKsExpect() throws {
    let server = try TestServer()
    let good = try token()
    let health = try server.client().request("/")
    #expect(health?.status == 200 && health?.body == "OK")
    #expect(try server.client().request("//rtc/validate?access_token=\(good)")?.status == 200)
    // These two make SDKs use two peer connections.
    for target in ["/rtc/v1?access_token=\(good)&join_request=AAAA", "/rtc/v1/validate?access_token=\(good)"] {
      #expect(try server.client().request(target)?.status == 404)
      #expect(try server.client().upgrade(target) == 404)
    }
    #expect(try server.client().request("/rtc?access_token=\(good)")?.status == 404)
    #expect(try server.client().request("/twirp/livekit.RoomService/ListRooms", method: "POST")?.status == 401)
    #expect(try server.client().request("/test/restore", method: "POST")?.status == 404)
  }

  @Test func theJoinResponseHasAllThatSDKsDemand() throws {
    let server = try TestServer()
    let client = try server.join("alice")
    let join = try #require(client.next { if case .join(let join) = $0 { join } else { nil } })
    #expect(join.room.sid.hasPrefix("RM_") && join.room.name == "room")
    #expect(join.participant.sid.hasPrefix("PA_") && join.participant.identity == "alice")
    #expect(join.participant.state == .joined && join.participant.permission.canPublish)
    #expect(join.pingInterval > 0 && join.pingTimeout > join.pingInterval)
    #expect(join.subscriberPrimary && join.fastPublish)
    #expect(
      join.enabledPublishCodecs.map(\.mime) == [
        "video/VP8", "video/VP9", "video/H264", "video/AV1", "video/H265", "audio/opus", "audio/G722", "audio/PCMU",
        "audio/PCMA",
      ])
    #expect(!join.serverInfo.version.isEmpty)
    let fresh = try #require(client.next { if case .refreshToken(let text) = $0 { text } else { nil } })
    let claims = try AccessToken(verifying: fresh, now: Int64(time(nil))) { _ in secret }
    #expect(claims.identity == "alice" && claims.video?.room == "room")
    let offer = try #require(client.next { if case .offer(let offer) = $0 { offer } else { nil } })
    #expect(offer.type == "offer" && offer.id > 0)
  }

  @Test func bothPingsAreAnsweredInBinaryAndInJSON() throws {
    let server = try TestServer()
    let client = try server.join("alice")
    var ping = Livekit_Ping()
    ping.timestamp = 1234
    var request = Livekit_SignalRequest()
    request.pingReq = ping
    try client.send(request)
    let echoed: Int64? = client.next { if case .pongResp(let pong) = $0 { pong.lastPingTimestamp } else { nil } }
    #expect(echoed == 1234)
    request.ping = 99
    try client.send(request)
    let serverTime: Int64? = client.next { if case .pong(let time) = $0 { time } else { nil } }
    #expect((serverTime ?? 0) > 1_700_000_000_000)
    client.sendFrame(Array(#"{"pingReq":{"timestamp":"77"},"later":{"unknown":1}}"#.utf8), opcode: 1)
    while let frame = client.frame() {
      guard frame.opcode == 1 else { continue }
      let text = String(decoding: frame.payload, as: UTF8.self)
      if text.contains("pongResp") {
        #expect(text.contains(#""lastPingTimestamp":"77""#))
        return
      }
    }
    Issue.record("no answer in JSON")
  }

  @Test func othersHearOfJoiningChangingAndLeaving() throws {
    let server = try TestServer()
    let alice = try server.join("alice")
    _ = alice.next { if case .join = $0 { true } else { nil } }
    let bob = try server.join("bob")
    let joined = try #require(bob.next { if case .join(let join) = $0 { join } else { nil } })
    #expect(joined.otherParticipants.map(\.identity) == ["alice"])
    func news(_ state: Livekit_ParticipantInfo.State) -> Livekit_ParticipantInfo? {
      alice.next { message in
        guard case .update(let update) = message else { return nil }
        return update.participants.first { $0.identity == "bob" && $0.state == state }
      }
    }
    let arrival = try #require(news(.joined))
    var leave = Livekit_SignalRequest()
    leave.leave.reason = .clientInitiated
    try bob.send(leave)
    let departure = try #require(news(.disconnected))
    #expect(departure.sid == arrival.sid && departure.version > arrival.version)
    #expect(departure.disconnectReason == .clientInitiated)
  }

  @Test func hiddenParticipantsAreNotShownAndDoNotKeepTheRoom() throws {
    let server = try TestServer { $0.departureTimeout = 0 }
    let alice = try server.join("alice")
    _ = alice.next { if case .join = $0 { true } else { nil } }
    let recorder = try server.join("recorder", hidden: true)
    let joined = try #require(recorder.next { if case .join(let join) = $0 { join } else { nil } })
    #expect(joined.otherParticipants.map(\.identity) == ["alice"])
    let bob = try server.join("bob")
    let others = try #require(bob.next { if case .join(let join) = $0 { join } else { nil } }).otherParticipants
    #expect(others.map(\.identity) == ["alice"])
    var leave = Livekit_SignalRequest()
    leave.leave.reason = .clientInitiated
    try alice.send(leave)
    try bob.send(leave)
    let reason = recorder.next { if case .leave(let leave) = $0 { leave.reason } else { nil } }
    #expect(reason == .roomClosed)
  }

  @Test func theSameIdentityAgainEvictsTheOlder() throws {
    let server = try TestServer()
    let first = try server.join("alice")
    _ = first.next { if case .join = $0 { true } else { nil } }
    let second = try server.join("alice")
    #expect(second.next { if case .join(let join) = $0 { join.otherParticipants.count } else { nil } } == 0)
    let leave = try #require(first.next { if case .leave(let leave) = $0 { leave } else { nil } })
    #expect(leave.reason == .duplicateIdentity && leave.action == .disconnect)
  }

  @Test func goingOnWithAnUnknownSessionIsRefusedSoThatClientsJoinAnew() throws {
    let server = try TestServer()
    let client = try server.join("alice", query: "protocol=16&reconnect=1&sid=PA_x")
    let leave = try #require(client.next { if case .leave(let leave) = $0 { leave } else { nil } })
    #expect(leave.reason == .stateMismatch && leave.action == .reconnect && leave.canReconnect)
  }

  @Test func metadataIsChangedOnlyWithTheRight() throws {
    let server = try TestServer()
    let client = try server.client()
    #expect(client.upgrade("/rtc?protocol=16&access_token=\(try token(updates: true))") == 101)
    var request = Livekit_SignalRequest()
    request.updateMetadata.name = "Alice"
    request.updateMetadata.requestID = 5
    try client.send(request)
    let update = client.next { message in
      guard case .update(let update) = message else { return nil as Livekit_ParticipantInfo? }
      return update.participants.first { $0.name == "Alice" }
    }
    #expect(update != nil)
    let response = try #require(client.next { if case .requestResponse(let r) = $0 { r } else { nil } })
    #expect(response.requestID == 5 && response.reason == .ok)
    let bob = try server.join("bob")
    try bob.send(request)
    let refusal = try #require(bob.next { if case .requestResponse(let r) = $0 { r } else { nil } })
    #expect(refusal.requestID == 5 && refusal.reason == .notAllowed)
  }

  @Test func announcedTracksAreConfirmedWithinTheRights() throws {
    let server = try TestServer()
    let client = try server.join("alice")
    var request = Livekit_SignalRequest()
    request.addTrack.cid = "cid"
    request.addTrack.type = .video
    request.addTrack.source = .camera
    request.addTrack.name = "camera"
    request.addTrack.packetTrailerFeatures = [.ptfUserTimestamp, .UNRECOGNIZED(9)]
    request.addTrack.backupCodecPolicy = .simulcast
    // Field 99, a varint of 5, which no version knows.
    let layer = try Livekit_VideoLayer(serializedBytes: [0x10, 0x40, 0x98, 0x06, 0x05])
    request.addTrack.layers = [layer]
    try client.send(request)
    let published = try #require(client.next { if case .trackPublished(let p) = $0 { p } else { nil } })
    #expect(published.cid == "cid" && published.track.sid.hasPrefix("TR_") && published.track.type == .video)
    #expect(published.track.stream == "camera" && published.track.mimeType == "video/VP8")
    #expect(published.track.packetTrailerFeatures == [.ptfUserTimestamp, .UNRECOGNIZED(9)])
    #expect(published.track.backupCodecPolicy == .simulcast)
    // Of layers nothing is lost, whatever future fields they have.
    #expect(published.track.layers == request.addTrack.layers)
    #expect(published.track.layers[0].unknownFields.data == layer.unknownFields.data)
    let quiet = try server.client()
    #expect(quiet.upgrade("/rtc?protocol=16&access_token=\(try token("bob", publish: false))") == 101)
    try quiet.send(request)
    let refusal = try #require(quiet.next { if case .requestResponse(let r) = $0 { r } else { nil } })
    #expect(refusal.reason == .notAllowed && refusal.addTrack.cid == "cid")
  }

  @Test func wrongBytesEndOnlyTheConnectionThatSentThem() throws {
    let server = try TestServer { $0.limits.messageSize = 4096 }
    let witness = try server.join("witness")
    let bad: [(WireClient) -> Void] = [
      { $0.sendFrame([0xff, 0xff, 0xff]) }, { $0.sendFrame(Array("{".utf8), opcode: 1) },
      { $0.sendFrame([UInt8](repeating: 0, count: 5000)) },
      { $0.send([0xff, 0x80] + [UInt8](repeating: 0x55, count: 40)) },
      { $0.sendFrame([0x72, 0], isMasked: false) },
      { client in for _ in 0..<2000 { client.sendFrame([]) } },
    ]
    for (index, act) in bad.enumerated() {
      let client = try server.join("bad\(index)")
      act(client)
      #expect(client.waitForEnd(), "case \(index)")
    }
    var request = Livekit_SignalRequest()
    request.pingReq.timestamp = 1
    try witness.send(request)
    let alive: Bool? = witness.next { if case .pongResp = $0 { true } else { nil } }
    #expect(alive == true)
  }

  @Test func silentAndOversizedRequestsAreEnded() throws {
    let server = try TestServer { $0.limits.handshakeTimeout = .seconds(1) }
    let silent = try server.client()
    silent.send(Array("GET / HT".utf8))
    let large = try server.client()
    large.send(Array("GET /rtc HTTP/1.1\r\nAuthorization: Bearer ".utf8) + [UInt8](repeating: 65, count: 100_000))
    #expect(large.waitForEnd())
    #expect(silent.waitForEnd())
  }

  @Test func stoppingTellsEverybody() throws {
    let server = try TestServer()
    let client = try server.join("alice")
    _ = client.next { if case .join = $0 { true } else { nil } }
    server.server.stop()
    let reason: Livekit_DisconnectReason? = client.next { if case .leave(let leave) = $0 { leave.reason } else { nil } }
    #expect(reason == .serverShutdown)
  }
}
