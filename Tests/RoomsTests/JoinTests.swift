import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

@Suite struct JoinTests {
  @Test func theFirstMessagesLeadToEventsInOrder() {
    var script = Script()
    #expect(script.handle(.connect) == ["socket 1 protocol=16&auto_subscribe=1&adaptive_stream=0 T0"])
    let lines = script.receive {
      $0.join = Script.join([
        Script.person("ben", tracks: ["TR_A2"]), Script.person("anna", tracks: ["TR_V1", "TR_A1"]),
      ])
      $0.join.iceServers = [.with { $0.urls = ["stun:s"] }]
    }
    #expect(
      lines == [
        "bind ", "media 1 [\"stun:s\"]", "> joined lobby", "> participant anna", "> participant ben",
        "> track TR_A1 anna", "> track TR_A2 ben", "> track TR_V1 anna", "> synchronized", "joined",
      ])
    #expect(
      script.offer(["0": "TR_A1", "1": "TR_V1"], id: 9) == [
        "send answer 9", "> subscribed TR_A1 true", "> subscribed TR_V1 true", "bind 0=TR_A1 1=TR_V1",
      ])
  }

  /// Servers tell the room's id in the join response or, newer ones, in an update after it.
  @Test func theRoomsIdIsPartOfTheStatus() {
    for isLate in [false, true] {
      var script = Script()
      _ = script.handle(.connect)
      _ = script.receive {
        $0.join = Script.join([])
        if isLate { $0.join.room.sid = "" }
      }
      #expect(script.session.room.sid == (isLate ? nil : "RM_1"))
      if isLate { _ = script.receive { $0.roomUpdate.room = .with { ($0.sid, $0.name) = ("RM_2", "lobby") } } }
      #expect(script.session.room.sid == (isLate ? "RM_2" : "RM_1"))
      _ = script.receive { $0.roomUpdate.room = .with { $0.name = "lobby" } }
      #expect(script.session.room.sid == (isLate ? "RM_2" : "RM_1"), "an update without it changes nothing")
    }
  }

  @Test func everyOfferIsAnsweredEvenWithoutTracks() {
    var script = Script()
    script.joined()
    #expect(script.offer([:], id: 300) == ["send answer 300"])
  }

  @Test func candidatesGoBothWays() {
    var script = Script()
    script.joined()
    let lines = script.receive {
      $0.trickle = .with {
        $0.candidateInit = #"{"candidate":"candidate:1","sdpMid":"","sdpMLineIndex":0}"#
        $0.target = .subscriber
        $0.final = true
      }
    }
    #expect(lines == ["candidate candidate:1"])
    let own = TrickleCandidate(candidate: "candidate:2", sdpMid: "0")
    #expect(
      script.handle(.gathered(generation: 1, own)) == [
        #"send trickle subscriber {"candidate":"candidate:2","sdpMLineIndex":0,"sdpMid":"0"}"#
      ])
    #expect(script.handle(.gathered(generation: 0, own)) == [])
    for text in ["", "{", #"{"candidate":""}"#] {
      #expect(script.receive { $0.trickle = .with { ($0.candidateInit, $0.target) = (text, .subscriber) } } == [])
    }
    #expect(script.receive { $0.trickle = .with { $0.candidateInit = own.json } } == [])
  }

  @Test func aTrackOfALaterOfferIsBoundWhenItIsKnown() {
    var script = Script()
    script.joined([Script.person("anna")])
    // The offer came before the update: nothing is bound until the track is announced.
    #expect(script.offer(["0": "TR_V1"]) == ["send answer 7"])
    let lines = script.receive { $0.update.participants = [Script.person("anna", version: 2, tracks: ["TR_V1"])] }
    #expect(lines == ["> track TR_V1 anna", "> subscribed TR_V1 true", "bind 0=TR_V1"])
  }

  @Test func aReusedMediaSectionIsBoundAnew() {
    var script = Script()
    script.joined([Script.person("anna", tracks: ["TR_V1"]), Script.person("ben")], tracks: ["0": "TR_V1"])
    #expect(
      script.receive { $0.update.participants = [Script.person("anna", version: 2)] } == [
        "> unpublished TR_V1", "bind ",
      ])
    _ = script.receive { $0.update.participants = [Script.person("ben", version: 2, tracks: ["TR_V2"])] }
    #expect(script.offer(["0": "TR_V2"]) == ["send answer 7", "> subscribed TR_V2 true", "bind 0=TR_V2"])
  }

  @Test func theOffersOwnMapCountsBeforeTheMsid() {
    var bindings = TrackBindings(
      [
        MediaSection(mid: MID("0"), kind: .audio, streamID: "PA_a|camera", trackID: "TR_A", isActive: true),
        MediaSection(mid: MID("1"), kind: .audio, streamID: "PA_a|TR_B", trackID: "other", isActive: true),
        MediaSection(mid: MID("2"), kind: .audio, streamID: "spare", trackID: "TR_C", isActive: true),
        MediaSection(mid: MID("3"), kind: .audio, streamID: "PA_a|TR_D", trackID: "TR_D", isActive: false),
        MediaSection(mid: MID("4"), kind: .audio, streamID: nil, trackID: nil, isActive: true),
      ], trackOfMID: [:])
    #expect(bindings.tracks == [MID("0"): TrackID("TR_A"), MID("1"): TrackID("TR_B")])
    bindings = TrackBindings(
      [MediaSection(mid: MID("0"), kind: .audio, streamID: "PA_a|TR_X", trackID: "TR_X", isActive: true)],
      trackOfMID: ["0": "TR_Y"])
    #expect(bindings.tracks == [MID("0"): TrackID("TR_Y")])
  }

  @Test func mutesMetadataPausesAndSpeakersBecomeEvents() {
    var script = Script()
    script.joined([Script.person("anna", tracks: ["TR_V1"])], tracks: ["0": "TR_V1"])
    let mute = Script.person("anna", version: 2, tracks: ["TR_V1"], muted: ["TR_V1"])
    #expect(script.receive { $0.update.participants = [mute] } == ["> track TR_V1 anna muted"])
    var renamed = mute
    (renamed.version, renamed.name) = (3, "Anna A.")
    #expect(script.receive { $0.update.participants = [renamed] } == ["> participant Anna A."])
    let pause = Livekit_StreamStateInfo.with { ($0.trackSid, $0.state) = ("TR_V1", .paused) }
    #expect(script.receive { $0.streamStateUpdate.streamStates = [pause] } == ["> paused TR_V1 true"])
    let flow = Livekit_StreamStateInfo.with { ($0.trackSid, $0.state) = ("TR_V1", .active) }
    #expect(script.receive { $0.streamStateUpdate.streamStates = [flow] } == ["> paused TR_V1 false"])
    let levels: [(String, Float)] = [("PA_anna", 0.5), ("PA_me", 1), ("PA_?", 1), ("PA_anna", .nan), ("PA_anna", 9)]
    let lines = script.receive {
      $0.speakersChanged.speakers = levels.map { pair in .with { ($0.sid, $0.level) = pair } }
    }
    #expect(lines == ["> speakers anna=500 anna=0 anna=1000"])
  }

  @Test func theBotItselfHiddenOnesAndOtherRecordersAreLeftOut() {
    var hidden = Script.person("ghost")
    hidden.permission.hidden = true
    var egress = Script.person("EG_1")
    egress.kind = .egress
    var script = Script()
    script.joined([hidden, egress])
    #expect(script.session.room.report.announced.participants.isEmpty)
    #expect(script.receive { $0.update.participants = [Script.person("bot", sid: "PA_me", version: 9)] } == [])
  }

  @Test func oldVersionsAndEndedSessionsChangeNothing() {
    var script = Script()
    script.joined([Script.person("anna", version: 5, tracks: ["TR_V1"])])
    #expect(script.receive { $0.update.participants = [Script.person("anna", version: 4)] } == [])
    var gone = Script.person("anna", version: 6)
    gone.state = .disconnected
    #expect(script.receive { $0.update.participants = [gone] } == ["> left anna"])
    #expect(script.receive { $0.update.participants = [Script.person("anna", version: 6)] } == [])
    #expect(script.receive { $0.update.participants = [Script.person("anna", version: 5)] } == [])
  }

  @Test func somebodyWhoComesBackIsTheSamePersonWithNewTracks() {
    var script = Script()
    script.joined([Script.person("anna", tracks: ["TR_V1"])], tracks: ["0": "TR_V1"])
    var back = Script.person("anna", sid: "PA_new", tracks: ["TR_V2"])
    back.joinedAtMs = 2000
    var gone = Script.person("anna", version: 2)
    gone.state = .disconnected
    // The new session is told before the end of the old one.
    #expect(
      script.receive { $0.update.participants = [back, gone] } == [
        "> unpublished TR_V1", "> track TR_V2 anna", "bind ",
      ])
    var late = Script.person("anna", sid: "PA_older", version: 9, tracks: ["TR_V3"])
    late.joinedAtMs = 1000
    #expect(script.receive { $0.update.participants = [late] } == [])
  }

  @Test func encryptedTracksAndThoseOfUnknownCodecsAreNotShown() {
    var secret = Script.person("anna", tracks: ["TR_V1"])
    secret.tracks[0].encryption = .gcm
    var script = Script()
    script.joined([secret, Script.person("ben", tracks: ["TR_V2"])], tracks: ["0": "TR_V1", "1": "TR_V2"])
    #expect(
      script.session.room.report.announced.tracks.mapValues(\.obstacle) == [
        TrackID("TR_V1"): .encrypted, TrackID("TR_V2"): nil,
      ])
    let refusal = Livekit_SubscriptionResponse.with { ($0.trackSid, $0.err) = ("TR_V2", .seCodecUnsupported) }
    #expect(script.receive { $0.subscriptionResponse = refusal } == ["> subscribed TR_V2 false", "bind 0=TR_V1"])
  }

  /// A card says only that a track is not received; the log says why, once.
  @Test func whyATrackIsNotReceivedIsToldOnce() {
    var sealed = Script.person("anna", tracks: ["TR_V1"])
    sealed.tracks[0].encryption = .gcm
    var ben = Script.person("ben", tracks: ["TR_V2", "TR_A2"])
    ben.name = "Ben\u{1b}[31m\u{202e}"
    var script = Script()
    script.joined([sealed, ben], tracks: ["0": "TR_V1", "1": "TR_V2"])
    let refusal = Livekit_SubscriptionResponse.with { ($0.trackSid, $0.err) = ("TR_V2", .seCodecUnsupported) }
    for _ in 0..<3 { _ = script.receive { $0.subscriptionResponse = refusal } }
    for allowed in [false, false, true, false] {
      _ = script.receive { $0.subscriptionPermissionUpdate = .with { ($0.trackSid, $0.allowed) = ("TR_A2", allowed) } }
    }
    for round in 1...4 {
      script.now += Subscriptions.interval
      _ = script.handle(.subscribe(TrackID("TR_A2")))
      _ = script.receive { $0.update.participants = [Script.person("anna", version: UInt32(round) + 1)] }
    }
    // Of a track that nobody published, too; but not without end.
    for index in 0..<10_000 {
      _ = script.receive { $0.subscriptionResponse = .with { $0.trackSid = "TR_\(index)\n" } }
    }
    #expect(
      script.logs.filter { $0.contains("not received") }.prefix(5) == [
        "warning the camera of anna (TR_V1) is not received: it is encrypted end to end; --e2ee-key-file gives the "
          + "recording a key",
        "warning the camera of Ben␛[31m� (TR_V2) is not received: the server says that its codec is not supported",
        "warning the microphone of Ben␛[31m� (TR_A2) is not received: its publisher does not allow it to the bot",
        "warning the microphone of Ben␛[31m� (TR_A2) is not received: its publisher does not allow it to the bot",
        "warning the track TR_0  is not received: the server refuses it without a reason",
      ])
    #expect(script.logs.count < 5000)
  }

  @Test func aTrackOfWhichNothingComesIsToldOnce() {
    var script = Script()
    script.joined([Script.person("ben", tracks: ["TR_V2"])])
    for _ in 0..<5 {
      _ = script.handle(.subscribe(TrackID("TR_V2")))
      script.now += Subscriptions.interval
    }
    #expect(
      script.logs.filter { $0.contains("not received") } == [
        "warning the camera of ben (TR_V2) is not received: the server sends nothing of it and gives no reason; "
          + "it is asked again"
      ])
  }

  @Test func dataTracksAndMessagesOfNoInterestAreIgnored() {
    var script = Script()
    var person = Script.person("anna", tracks: ["TR_X"])
    person.tracks[0].type = .data
    script.joined([person])
    #expect(script.session.room.report.announced.tracks.isEmpty)
    #expect(script.receive { $0.roomUpdate.room.name = "x" } == [])
    #expect(script.receive { $0.connectionQuality = .init() } == [])
    #expect(script.receive { $0.mediaSectionsRequirement = .init() } == [])
    #expect(script.receive { _ in } == [])
  }

  @Test func subscribingAgainIsThrottledAndOnlyForKnownTracks() {
    var script = Script()
    script.joined([Script.person("anna", tracks: ["TR_V1"])])
    #expect(script.handle(.subscribe(TrackID("TR_V1"))) == [#"send subscribe ["TR_V1"] ["PA_anna"] true"#])
    #expect(script.handle(.subscribe(TrackID("TR_V1"))) == [])
    #expect(script.handle(.subscribe(TrackID("TR_?"))) == [])
    _ = script.pass(seconds: 3)
    #expect(script.handle(.subscribe(TrackID("TR_V1"))).count == 1)
  }

  @Test func pingsCarryTheMeasuredRoundTrip() {
    var script = Script()
    script.joined()
    #expect(script.pass(seconds: 5) == ["send ping rtt=0"])
    let sent = script.now.nanoseconds / 1_000_000
    script.now += .milliseconds(30)
    #expect(script.receive { $0.pongResp.lastPingTimestamp = sent } == [])
    #expect(script.pass(seconds: 5) == ["send ping rtt=30"])
  }

  @Test func mintedTokensAllowNothingButReceiving() throws {
    let source = TokenSource.minted(
      apiKey: "devkey", apiSecret: "secret", room: "lobby", identity: "bot", name: "Recorder")
    let text = try source.token(now: 1_800_000_000, refreshed: "ignored")
    let token = try AccessToken(verifying: text, now: 1_800_000_000) { _ in "secret" }
    #expect(token.identity == "bot")
    #expect(token.video?.room == "lobby")
    #expect(token.video?.hidden == true && token.video?.recorder == true && token.video?.roomJoin == true)
    #expect(token.video?.allowsPublish == false && token.video?.allowsData == false)
    #expect(try TokenSource.given("a").token(now: 0, refreshed: nil) == "a")
    #expect(try TokenSource.given("a").token(now: 0, refreshed: "b") == "b")
  }

  @Test func blankPicturesAndWhatRefersToThemAreHeldBack() {
    var filter = BlankFrameFilter()
    #expect(filter.accepts(isKeyframe: true, width: 640, height: 360) == true)
    #expect(filter.accepts(isKeyframe: false, width: 0, height: 0) == true)
    #expect(filter.accepts(isKeyframe: true, width: 8, height: 8) == false)
    #expect(filter.accepts(isKeyframe: false, width: 0, height: 0) == false)
    #expect(filter.accepts(isKeyframe: true, width: 2, height: 2) == false)
    #expect(filter.accepts(isKeyframe: true, width: 16, height: 16) == true)
    #expect(filter.accepts(isKeyframe: false, width: 0, height: 0) == true)
    #expect(filter.accepts(isKeyframe: true, width: 0, height: 0) == true)
  }
}
