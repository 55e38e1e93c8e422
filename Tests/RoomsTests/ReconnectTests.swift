import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

@Suite struct ReconnectTests {
  let resumeQuery = "protocol=16&auto_subscribe=1&adaptive_stream=0&reconnect=1&sid=PA_me&reconnect_reason="
  let joinQuery = "protocol=16&auto_subscribe=1&adaptive_stream=0"

  func withTwoTracks() -> Script {
    var script = Script()
    script.joined(
      [Script.person("anna", tracks: ["TR_V1"]), Script.person("ben", tracks: ["TR_A2"])],
      tracks: ["0": "TR_V1", "1": "TR_A2"])
    return script
  }

  @Test func aShortLossOfSignallingLeavesNoTraceWhileMediaFlows() {
    var script = withTwoTracks()
    let attempt = script.session.signal.attempt
    #expect(
      script.handle(.socketClosed(attempt: attempt, "gone")) == [
        "close socket", "socket \(attempt + 2) \(resumeQuery)1 T0",
      ])
    script.now += .milliseconds(500)
    #expect(script.receive { $0.reconnect = .init() } == ["send sync answer=7 offer=7"])
    // What happened meanwhile comes as ordinary updates.
    var gone = Script.person("ben", version: 2)
    gone.state = .disconnected
    #expect(script.receive { $0.update.participants = [gone] } == ["> left ben", "bind 0=TR_V1"])
    #expect(script.pass(seconds: 4.4).isEmpty)
  }

  let everything = [
    "> restored", "> participant anna", "> participant ben", "> track TR_A2 ben", "> track TR_V1 anna",
    "> subscribed TR_A2 true", "> subscribed TR_V1 true", "> synchronized", "keyframes",
  ]

  @Test func aLongLossOfSignallingLeavesNoTraceEither() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    var lines: [String] = []
    for _ in 0..<40 {
      lines += script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.refused)))
      lines += script.pass(seconds: 1)
    }
    #expect(lines.filter { $0.hasPrefix("> ") } == [])
    #expect(script.session.policy.attempts > 20)
  }

  @Test func theLossOfEverythingIsToldASecondAfterTheLastPacket() {
    var script = withTwoTracks()
    script.cut()
    // The server is asked half a second after the last packet.
    let begin = script.now
    var lines: [String] = []
    while !lines.contains(where: { $0.hasPrefix("> lost") }), script.now < begin + .seconds(5) {
      lines += script.pass(seconds: 0.05)
    }
    #expect((Duration.seconds(1) ... .milliseconds(1350)).contains(script.now - begin))
    #expect(lines.contains("send ping rtt=0") && lines.last == "> lost The room server says nothing any more")
    // The same connections carry on when the outage was short: the first packet is enough.
    lines = script.pass(seconds: 1)
    #expect(!lines.contains { $0.hasPrefix("socket") })
    script.mediaFlows = true
    #expect(script.passQuietly(seconds: 0.05) == everything)
  }

  @Test func attemptsBeginAfterThreeSecondsWithoutAnAnswer() {
    var script = withTwoTracks()
    script.cut()
    let begin = script.now
    var lines: [String] = []
    while !lines.contains(where: { $0.hasPrefix("socket") }), script.now < begin + .seconds(10) {
      lines += script.pass(seconds: 0.05)
    }
    #expect((Duration.seconds(3) ... .seconds(4)).contains(script.now - begin))
    #expect(lines.last == "socket 3 \(resumeQuery)1 T0")
    #expect(script.session.policy.error?.kind == .serverSilent)
    // The resume is accepted; pictures are true again when packets come.
    #expect(script.receive { $0.reconnect = .init() }.first == "send sync answer=7 offer=7")
    script.mediaFlows = true
    #expect(script.passQuietly(seconds: 0.05) == everything)
  }

  @Test func mediaThatIsCutOffAloneIsToldAndResumedAndThenJoinedAnew() {
    var script = withTwoTracks()
    (script.mediaFlows, script.answersProbes) = (false, false)
    let begin = script.now
    var lines: [String] = []
    while lines.isEmpty, script.now < begin + .seconds(5) { lines += script.passQuietly(seconds: 0.05) }
    #expect((Duration.seconds(1) ... .milliseconds(1350)).contains(script.now - begin))
    #expect(lines == ["> lost The media connection was lost"])
    // An outage that ends soon needs nothing else.
    script.answersProbes = true
    #expect(script.passQuietly(seconds: 0.3) == everything)
    script.answersProbes = false
    _ = script.passQuietly(seconds: 1.4)
    let cut = script.now
    lines = script.passUntilSocket(seconds: 10)
    #expect(lines == ["close socket", "socket 3 \(resumeQuery)3 T0"])
    #expect(script.now - cut < .seconds(4))
    // The server takes the session up, but ICE finds no way; nor does a new session; then there is one.
    _ = script.receive { $0.reconnect = .init() }
    lines = script.passUntilSocket(seconds: 10)
    #expect(lines == ["close socket", "socket 5 \(joinQuery) T0"])
    _ = script.receive { $0.join = Script.join([Script.person("anna", tracks: ["TR_V1"])]) }
    _ = script.offer(["0": "TR_V1"])
    lines = script.passUntilSocket(seconds: 10)
    #expect(lines == ["close socket", "socket 7 \(joinQuery) T0"])
    _ = script.receive { $0.join = Script.join([Script.person("anna", tracks: ["TR_V1"])]) }
    _ = script.offer(["0": "TR_V1"])
    #expect(script.handle(.transport(generation: 3, .connected)).contains("> restored"))
    #expect(script.session.policy.state == .connected)
  }

  @Test func theTransportsSilenceIsJudgedByTheServersWhereItCannotBeAsked() {
    var script = withTwoTracks()
    script.answersProbes = nil
    script.mediaFlows = false
    #expect(script.passQuietly(seconds: 10) == [])
    script.answersPings = false
    #expect(script.passQuietly(seconds: 1.6) == ["> lost The room server says nothing any more"])
    // The server is back, and all connections stand: pictures may come or not.
    script.answersPings = true
    _ = script.receive { $0.pongResp = .init() }
    #expect(script.passQuietly(seconds: 2.5).contains("> restored"))
  }

  @Test func silentPublishersAreNoOutageWhileTheServerAnswers() {
    var script = withTwoTracks()
    script.mediaFlows = false
    let lines = script.passQuietly(seconds: 19)
    #expect(lines == [])
    #expect(script.statuses.last?.error == nil)
  }

  @Test func nothingForTwentySecondsLeadsToARejoinAndThenToMorePatience() {
    var script = withTwoTracks()
    script.mediaFlows = false
    let begin = script.now
    var lines: [String] = []
    while !lines.contains(where: { $0.hasPrefix("socket") }), script.now < begin + .seconds(60) {
      lines += script.passQuietly(seconds: 0.1)
    }
    #expect((Duration.milliseconds(19_900) ... .milliseconds(20_500)).contains(script.now - begin))
    #expect(lines.last == "socket 3 \(joinQuery) T0")
    #expect(script.session.policy.error?.kind == .mediaLost)
    func rejoin() {
      _ = script.receive { $0.join = Script.join([Script.person("anna", tracks: ["TR_V1"])]) }
      _ = script.offer(["0": "TR_V1"])
      _ = script.handle(.transport(generation: script.session.media.generation, .connected))
    }
    rejoin()
    #expect(!script.pass(seconds: 39).contains { $0.hasPrefix("socket") })
    #expect(script.pass(seconds: 2).contains { $0.hasPrefix("socket") })
    // Packets that come again start it anew.
    rejoin()
    script.mediaFlows = true
    _ = script.pass(seconds: 1)
    script.mediaFlows = false
    #expect(script.pass(seconds: 21).contains { $0.hasPrefix("socket") })
  }

  @Test(arguments: ["muted", "paused", "nobody"]) func theWatchdogRestsWhenNothingShouldFlow(why: String) {
    var script = withTwoTracks()
    script.mediaFlows = false
    switch why {
    case "muted":
      _ = script.receive {
        $0.update.participants = [
          Script.person("anna", version: 2, tracks: ["TR_V1"], muted: ["TR_V1"]),
          Script.person("ben", version: 2, tracks: ["TR_A2"], muted: ["TR_A2"]),
        ]
      }
    case "paused":
      _ = script.receive {
        $0.streamStateUpdate.streamStates = ["TR_V1", "TR_A2"].map { id in
          .with { ($0.trackSid, $0.state) = (id, .paused) }
        }
      }
    default:
      _ = script.receive { $0.update.participants = ["anna", "ben"].map { Script.person($0, version: 2) } }
    }
    #expect(script.passQuietly(seconds: 120) == [])
  }

  @Test func aChangedNetworkIsLookedAtAndTakenUpWhenNeeded() {
    var script = withTwoTracks()
    // Nothing happened to the connections: an interface of somebody else.
    var lines = script.handle(.networkChanged)
    #expect(lines == ["send ping rtt=0"])
    _ = script.receive { $0.pongResp = .init() }
    #expect(script.passQuietly(seconds: 3) == [])
    // The server is not reached any more: over to the new network at once, without a gap while media flows.
    script.answersPings = false
    _ = script.handle(.networkChanged)
    lines = script.pass(seconds: 0.8)
    #expect(lines == ["close socket", "socket 3 \(resumeQuery)4 T0"])
    #expect(script.session.policy.error?.codes.enablex == 5073)
    // While waiting for the next attempt, a change makes it at once.
    for _ in 0..<6 {
      _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.refused)))
      _ = script.pass(seconds: 0.3)
    }
    if case .connecting = script.session.signal.phase {
      _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.refused)))
    }
    _ = script.pass(seconds: 0.2)
    #expect(script.handle(.networkChanged).last?.hasPrefix("socket") == true)
  }

  @Test func attemptsToComeBackAreShortUntilTheServerIsReached() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    let first = script.session.signal.attempt
    #expect(script.pass(seconds: 1.9) == [])
    #expect(script.pass(seconds: 0.2).last?.hasPrefix("socket") == true)
    #expect(script.session.signal.attempt == first + 1)
    // A server that is reached may take its time.
    #expect(script.handle(.reached(attempt: first + 1)) == [])
    #expect(script.pass(seconds: 7.5) == [])
    #expect(script.receive { $0.reconnect = .init() } == ["send sync answer=7 offer=7"])
  }

  @Test func theAnswerToAResumeBringsNewServers() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    let lines = script.receive {
      $0.reconnect.iceServers = [.with { $0.urls = ["turn:t"] }]
      $0.reconnect.clientConfiguration.forceRelay = .enabled
    }
    #expect(lines == ["update media [\"turn:t\"] relay only", "send sync answer=7 offer=7"])
    #expect(script.session.policy.hasRelays)
  }

  // MARK: Waiting

  @Test func aBotThatMayNotReceiveWaitsToBeLetIn() {
    var script = Script { $0.waitForAdmission = .seconds(60) }
    _ = script.handle(.connect)
    func held(_ people: [Livekit_ParticipantInfo]) -> Livekit_JoinResponse {
      var join = Script.join(people)
      join.participant.permission.canSubscribe = false
      return join
    }
    #expect(script.receive { $0.join = held([]) } == ["bind ", "media 1 []"])
    #expect(script.statuses.last?.state == .waitingForAdmission)
    #expect(script.statuses.last?.waitingFor == .waitForModerator)
    // Media that is connected meanwhile changes nothing; nor does the time for media.
    #expect(script.offer([:]) == ["send answer 7"])
    #expect(script.handle(.transport(generation: 1, .connected)) == [])
    #expect(script.receive { $0.update.participants = [Script.person("anna", tracks: ["TR_V1"])] } == [])
    #expect(script.statuses.last?.waitingFor == .knock)
    #expect(script.passQuietly(seconds: 30) == [])
    var own = Livekit_ParticipantInfo.with { ($0.sid, $0.identity, $0.version) = ("PA_me", "bot", 2) }
    own.permission.canSubscribe = true
    #expect(
      script.receive { $0.update.participants = [own] } == [
        "> joined lobby", "> participant anna", "> track TR_V1 anna", "> synchronized", "joined",
      ])
    #expect(script.statuses.last?.state == .connected && script.statuses.last?.error == nil)
    #expect(script.offer(["0": "TR_V1"]) == ["send answer 7", "> subscribed TR_V1 true", "bind 0=TR_V1"])
  }

  @Test func nobodyLetsTheBotIn() {
    var script = Script { $0.waitForAdmission = .seconds(60) }
    _ = script.handle(.connect)
    var join = Script.join([])
    join.participant.permission.canSubscribe = false
    _ = script.receive { $0.join = join }
    #expect(script.passQuietly(seconds: 59) == [])
    #expect(script.passQuietly(seconds: 2).last == "finished \(notAdmitted) notAdmitted")
    #expect(script.statuses.last?.state == .ended && script.statuses.last?.action == .fail)
  }

  var notAdmitted: String { "connectionLost(\"\(RoomError(.notAdmitted).cause)\")" }

  @Test func aRoomThatDoesNotExistIsWaitedFor() {
    var script = Script { $0.waitForRoom = .seconds(600) }
    _ = script.handle(.connect)
    for _ in 0..<5 {
      #expect(script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound))) == [])
      #expect(script.statuses.last?.state == .waitingForRoom && script.statuses.last?.action == .wait)
      #expect(script.passUntilSocket(seconds: 31).last?.hasPrefix("socket") == true)
    }
    #expect(script.receive { $0.join = Script.join([]) }.contains("joined"))
    #expect(script.statuses.last?.state == .joined && script.statuses.last?.error == nil)
  }

  @Test func theNewestTokenIsUsed() {
    var script = Script(tokens: .given("T0"))
    script.joined()
    _ = script.receive { $0.refreshToken = "T1" }
    #expect(
      script.handle(.socketClosed(attempt: script.session.signal.attempt, "")).last == "socket 3 \(resumeQuery)1 T1")
  }

  @Test func aRefusedResumeLeadsToARejoinAtOnceAndTheDifferenceIsTold() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    let refusal = Livekit_LeaveRequest.with { ($0.reason, $0.action) = (.stateMismatch, .reconnect) }
    let lines = script.receive { $0.leave = refusal }
    #expect(lines == ["close socket", "socket \(script.session.signal.attempt) \(joinQuery) T0"])
    #expect(script.session.policy.error?.kind == .sessionUnknown)
    // Until the new session is there, the old media may still flow.
    #expect(
      script.receive {
        $0.join = Script.join([Script.person("anna", sid: "PA_a2", tracks: ["TR_V9"])], sid: "PA_me2")
      } == ["> lost The signal connection to the room server was lost: gone", "bind ", "close media", "media 2 []"])
    #expect(script.offer(["0": "TR_V9"]) == ["send answer 7"])
    // Late news of the first peer connection count no more.
    #expect(script.handle(.transport(generation: 1, .connected)) == [])
    #expect(
      script.handle(.transport(generation: 2, .connected)) == [
        "> restored", "> unpublished TR_V1", "> left ben", "> participant anna", "> track TR_V9 anna",
        "> subscribed TR_V9 true", "bind 0=TR_V9", "> synchronized", "keyframes",
      ])
    // The resume after that names the new session.
    _ = script.pass(seconds: 1)
    #expect(
      script.handle(.socketClosed(attempt: script.session.signal.attempt, "")).last?.contains("sid=PA_me2") == true)
  }

  @Test func oldServersSayCanReconnect() {
    var script = withTwoTracks()
    let leave = Livekit_LeaveRequest.with { ($0.reason, $0.canReconnect) = (.stateMismatch, true) }
    #expect(script.receive { $0.leave = leave }.last?.contains("reconnect=1") == false)
  }

  @Test func failedMediaIsResumedWithItsReason() {
    var script = withTwoTracks()
    #expect(script.handle(.transport(generation: 1, .failed)) == [])
    #expect(
      script.passQuietly(seconds: 0.7) == [
        "close socket", "socket 3 \(resumeQuery)3 T0",
        "> lost The media connection was lost: the server closed it, or it failed",
      ])
    #expect(script.receive { $0.reconnect = .init() }.first == "send sync answer=7 offer=7")
    #expect(script.offer(["0": "TR_V1", "1": "TR_A2"], id: 8) == ["send answer 8"])
    #expect(script.handle(.transport(generation: 1, .connected)).first == "> restored")
  }

  @Test func aFarewellThatTheMediaOvertookEndsTheSession() {
    var script = withTwoTracks()
    #expect(script.handle(.transport(generation: 1, .failed)) == [])
    let leave = Livekit_LeaveRequest.with { ($0.reason, $0.action) = (.roomClosed, .disconnect) }
    let lines = script.receive { $0.leave = leave }
    #expect(lines.last == "finished roomEnded -")
    #expect(script.pass(seconds: 2) == [])
  }

  @Test func mediaThatDoesNotComeBackAfterAResumeLeadsToARejoin() {
    var script = withTwoTracks()
    _ = script.handle(.transport(generation: 1, .failed))
    _ = script.pass(seconds: 0.7)
    _ = script.receive { $0.reconnect = .init() }
    _ = script.receive { $0.refreshToken = "T1" }
    #expect(script.passQuietly(seconds: 4.1) == ["close socket", "socket 5 \(joinQuery) T1"])
  }

  @Test func mediaThatIsCutOffIsToldAndResumed() {
    var script = withTwoTracks()
    // The transport says so when nothing came for 10 s.
    #expect(
      script.handle(.transport(generation: 1, .disconnected)) == ["> lost nothing comes through it"])
    #expect(script.handle(.transport(generation: 1, .connected)) == everything)
    _ = script.handle(.transport(generation: 1, .disconnected))
    #expect(script.passQuietly(seconds: 1) == ["close socket", "socket 3 \(resumeQuery)3 T0"])
    #expect(script.session.policy.error?.codes.twilio == 53405)
  }

  @Test func aSilentServerIsLeft() {
    var script = Script()
    script.joined()
    script.answersPings = false
    let lines = script.pass(seconds: 15)
    #expect(lines.filter { $0.hasPrefix("send ping") }.count >= 2)
    #expect(lines.last == "socket 3 \(resumeQuery)1 T0")
  }

  @Test func attemptsGoOnWithGrowingWaitsUntilTheLimit() {
    var script = Script(limit: .seconds(60))
    script.joined()
    // Nothing is known of the media connection.
    (script.mediaFlows, script.answersProbes) = (false, nil)
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    var times: [Duration] = []
    var lines: [String] = []
    let begin = script.now
    while script.session.signal.phase != .ended {
      let failed = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.refused, "host")))
      lines += failed
      if script.session.signal.phase == .ended { break }
      let wait = (script.session.nextDeadline ?? script.now) - script.now
      lines += script.pass(seconds: Double(wait.nanoseconds) / 1e9)
      times.append(script.now - begin)
    }
    #expect(lines.filter { $0.contains("reconnect=1") }.count >= 4)
    #expect(lines.filter { $0.hasPrefix("socket") && !$0.contains("reconnect=1") }.count >= 4)
    #expect(lines.filter { $0.hasPrefix("socket") }.count > 8)
    #expect(lines.last?.hasSuffix("reconnectTimeout") == true)
    #expect(script.session.policy.error?.codes.enablex == 5074)
    #expect(times.last ?? .zero == .seconds(60))
  }

  @Test func mediaThatNeverComesAboutIsAnErrorAfterTwoJoins() {
    var script = Script()
    _ = script.handle(.connect)
    _ = script.receive { $0.join = Script.join([]) }
    _ = script.offer([:])
    _ = script.pass(seconds: 10)
    _ = script.receive { $0.refreshToken = "T1" }
    let lines = script.pass(seconds: 5)
    #expect(lines.last == "socket 3 \(joinQuery) T1")
    _ = script.receive { $0.join = Script.join([]) }
    #expect(script.handle(.transport(generation: 2, .failed)).last?.hasSuffix(" mediaFailed") == true)
  }

  @Test func anOfferThatCannotBeUsedLeadsToARejoin() {
    var script = withTwoTracks()
    let lines = script.receive { $0.offer.sdp = "bad" }
    #expect(lines.last == "socket 3 \(joinQuery) T0")
  }

  @Test func leavingTellsTheServerAndClosesInOrder() {
    var script = withTwoTracks()
    #expect(script.handle(.leave) == ["send leave clientInitiated disconnect", "close socket gently"])
    #expect(script.handle(.leave) == [])
    #expect(script.handle(.left) == ["close socket", "finished stopped -"])
    #expect(script.handle(.left) == [])
    script = withTwoTracks()
    _ = script.handle(.leave)
    #expect(script.pass(seconds: 1).last == "finished stopped -")
    script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    #expect(script.handle(.leave).last == "finished stopped -")
  }

  @Test func relayOnlyIsForcedByTheServerOrTheUser() {
    var script = Script(relayOnly: true)
    _ = script.handle(.connect)
    var join = Script.join([])
    join.iceServers = [.with { $0.urls = ["turn:t"] }]
    #expect(script.receive { $0.join = join }.contains("media 1 [\"turn:t\"] relay only"))
    script = Script()
    _ = script.handle(.connect)
    join.clientConfiguration.forceRelay = .enabled
    #expect(script.receive { $0.join = join }.contains("media 1 [\"turn:t\"] relay only"))
    // Without a relay there is nothing to wait for.
    script = Script(relayOnly: true)
    _ = script.handle(.connect)
    #expect(script.receive { $0.join = Script.join([]) }.last?.hasSuffix(" mediaFailed") == true)
  }

  @Test func relaysAreTriedWhenMediaFails() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    _ = script.receive { $0.reconnect.iceServers = [.with { $0.urls = ["turn:t"] }] }
    script.mediaFlows = false
    _ = script.handle(.transport(generation: 1, .disconnected))
    _ = script.passQuietly(seconds: 1)
    _ = script.receive { $0.reconnect = .init() }
    #expect(script.passQuietly(seconds: 4).last?.hasPrefix("socket") == true)
    #expect(script.statuses.last?.state == .relaying)
    var join = Script.join([])
    join.iceServers = [.with { $0.urls = ["turn:t"] }]
    #expect(script.receive { $0.join = join }.last == "media 2 [\"turn:t\"] relay only")
  }

  @Test func aMoveToAnotherRoomReplacesPeopleAndToken() {
    var script = withTwoTracks()
    let lines = script.receive {
      $0.roomMoved = .with {
        $0.token = "T9"
        $0.participant.sid = "PA_moved"
        $0.otherParticipants = [Script.person("cleo")]
      }
    }
    #expect(lines == ["> left anna", "> left ben", "> participant cleo", "bind "])
    #expect(script.handle(.socketClosed(attempt: script.session.signal.attempt, "")).last?.hasSuffix("T9") == true)
  }

  @Test func candidatesThatWereGatheredWithoutSignallingAreSentAfterwards() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    #expect(script.handle(.gathered(generation: 1, TrickleCandidate(candidate: "c"))) == [])
    let lines = script.receive { $0.reconnect = .init() }
    #expect(lines.contains { $0.hasPrefix("send trickle") })
  }
}
