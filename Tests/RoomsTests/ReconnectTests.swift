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
    let attempt = script.session.attempt
    #expect(
      script.handle(.socketClosed(attempt: attempt, "gone")) == [
        "close socket", "socket \(attempt + 2) \(resumeQuery)1 T0",
      ])
    script.now += 500_000_000
    #expect(script.receive { $0.reconnect = .init() } == ["send sync answer=7 offer=7"])
    // What happened meanwhile comes as ordinary updates.
    var gone = Script.person("ben", version: 2)
    gone.state = .disconnected
    #expect(script.receive { $0.update.participants = [gone] } == ["> left ben", "bind 0=TR_V1"])
    #expect(script.pass(seconds: 4.4).isEmpty)
  }

  @Test func aLongerLossIsToldAndSoIsTheReturn() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    #expect(script.pass(seconds: 4.9) == [])
    #expect(script.pass(seconds: 0.1) == ["> lost the signal connection was closed: gone"])
    #expect(
      script.receive { $0.reconnect = .init() } == [
        "send sync answer=7 offer=7", "> restored", "> participant anna", "> participant ben", "> track TR_A2 ben",
        "> track TR_V1 anna", "> subscribed TR_A2 true", "> subscribed TR_V1 true", "> synchronized",
      ])
  }

  @Test func theNewestTokenIsUsed() {
    var script = Script(tokens: .given("T0"))
    script.joined()
    _ = script.receive { $0.refreshToken = "T1" }
    #expect(script.handle(.socketClosed(attempt: script.session.attempt, "")).last == "socket 3 \(resumeQuery)1 T1")
  }

  @Test func aRefusedResumeLeadsToARejoinAtOnceAndTheDifferenceIsTold() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    let refusal = Livekit_LeaveRequest.with { ($0.reason, $0.action) = (.stateMismatch, .reconnect) }
    let lines = script.receive { $0.leave = refusal }
    #expect(lines.first == "close socket")
    #expect(lines[1].hasPrefix("> lost "))
    #expect(lines.last == "socket \(script.session.attempt) \(joinQuery) T0")
    #expect(
      script.receive {
        $0.join = Script.join([Script.person("anna", sid: "PA_a2", tracks: ["TR_V9"])], sid: "PA_me2")
      } == ["bind ", "close media", "media 2 []"])
    #expect(script.offer(["0": "TR_V9"]) == ["send answer 7"])
    // Late news of the first peer connection count no more.
    #expect(script.handle(.transport(generation: 1, .connected)) == [])
    #expect(
      script.handle(.transport(generation: 2, .connected)) == [
        "> restored", "> unpublished TR_V1", "> left ben", "> participant anna", "> track TR_V9 anna",
        "> subscribed TR_V9 true", "bind 0=TR_V9", "> synchronized",
      ])
    // The resume after that names the new session.
    #expect(
      script.handle(.socketClosed(attempt: script.session.attempt, "")).last?.contains("sid=PA_me2") == true)
  }

  @Test func oldServersSayCanReconnect() {
    var script = withTwoTracks()
    let leave = Livekit_LeaveRequest.with { ($0.reason, $0.canReconnect) = (.stateMismatch, true) }
    #expect(script.receive { $0.leave = leave }.last?.contains("reconnect=1") == false)
  }

  @Test func failedMediaIsResumedWithItsReason() {
    var script = withTwoTracks()
    #expect(script.handle(.transport(generation: 1, .failed)) == [])
    let lines = script.pass(seconds: 0.7)
    #expect(lines == ["close socket", "> lost media failed", "socket 3 \(resumeQuery)3 T0"])
    #expect(script.receive { $0.reconnect = .init() } == ["send sync answer=7 offer=7"])
    #expect(script.offer(["0": "TR_V1", "1": "TR_A2"], id: 8) == ["send answer 8"])
    #expect(script.handle(.transport(generation: 1, .connected)).first == "> restored")
  }

  @Test func aFarewellThatTheMediaOvertookEndsTheSession() {
    var script = withTwoTracks()
    #expect(script.handle(.transport(generation: 1, .failed)) == [])
    let leave = Livekit_LeaveRequest.with { ($0.reason, $0.action) = (.roomClosed, .disconnect) }
    let lines = script.receive { $0.leave = leave }
    #expect(lines.contains { $0.contains("ended roomEnded") })
    #expect(script.pass(seconds: 2) == [])
  }

  @Test func mediaThatDoesNotComeBackAfterAResumeLeadsToARejoin() {
    var script = withTwoTracks()
    _ = script.handle(.transport(generation: 1, .failed))
    _ = script.pass(seconds: 0.7)
    _ = script.receive { $0.reconnect = .init() }
    let lines = script.pass(seconds: 14).filter { !$0.hasPrefix("send ping") }
    #expect(lines == [])
    _ = script.receive { $0.refreshToken = "T1" }
    #expect(script.pass(seconds: 2) == ["close socket", "socket 5 \(joinQuery) T1"])
  }

  @Test func aShortInterruptionOfMediaIsOnlyToldWhenItLasts() {
    var script = withTwoTracks()
    #expect(script.handle(.transport(generation: 1, .disconnected)) == [])
    #expect(script.pass(seconds: 1) == [])
    #expect(script.handle(.transport(generation: 1, .connected)) == [])
    #expect(script.pass(seconds: 3) == [])
    _ = script.handle(.transport(generation: 1, .disconnected))
    #expect(script.pass(seconds: 2.5).contains("> lost media is cut off"))
    #expect(script.handle(.transport(generation: 1, .connected)).first == "> restored")
    _ = script.handle(.transport(generation: 1, .disconnected))
    #expect(script.pass(seconds: 5).last?.contains("reconnect_reason=3") == true)
  }

  @Test func aSilentServerIsLeft() {
    var script = Script()
    script.joined()
    let lines = script.pass(seconds: 15)
    #expect(lines.filter { $0.hasPrefix("send ping") }.count >= 2)
    #expect(lines.last == "socket 3 \(resumeQuery)1 T0")
  }

  @Test func attemptsGoOnWithGrowingWaitsUntilTheLimit() {
    var script = Script(limit: 60_000_000_000)
    script.joined()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    var times: [Int64] = []
    var lines: [String] = []
    let begin = script.now
    while script.session.phase != .ended {
      let failed = script.handle(.socketFailed(attempt: script.session.attempt, RoomError(.refused, "host")))
      lines += failed
      if script.session.phase == .ended { break }
      lines += script.pass(seconds: Double((script.session.nextDeadline ?? script.now) - script.now) / 1e9)
      times.append(script.now - begin)
    }
    #expect(lines.filter { $0.contains("reconnect=1") }.count >= 4)
    #expect(lines.filter { $0.hasPrefix("socket") && !$0.contains("reconnect=1") }.count >= 4)
    #expect(lines.filter { $0.hasPrefix("socket") }.count > 8)
    #expect(lines.filter { $0.hasPrefix("> lost") }.count == 1)
    #expect(lines.last?.hasPrefix("finished connectionLost") == true)
    #expect(times.last ?? 0 > 60_000_000_000 && times.last ?? 0 < 70_000_000_000)
  }

  @Test func anUnauthorizedRejoinEndsTheSession() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    let lines = script.handle(.socketFailed(attempt: script.session.attempt, RoomError(.tokenExpired)))
    #expect(lines.last?.hasSuffix("tokenExpired") == true)
    #expect(lines.contains { $0.hasPrefix("> ended") })
  }

  @Test func aRoomThatIsGoneEndsTheSessionWell() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    let lines = script.handle(.socketFailed(attempt: script.session.attempt, RoomError(.roomNotFound)))
    #expect(lines == ["close media", "close socket", "> ended roomEnded", "finished roomEnded -"])
  }

  @Test(arguments: [
    (Livekit_DisconnectReason.roomClosed, "roomEnded -"), (.roomDeleted, "roomEnded -"),
    (.duplicateIdentity, "evicted evicted"), (.participantRemoved, "removed removed"), (.clientInitiated, "stopped -"),
  ])
  func theServersEndIsTheSessionsEnd(reason: Livekit_DisconnectReason, end: String) {
    var script = withTwoTracks()
    let lines = script.receive { $0.leave.reason = reason }
    #expect(lines.last == "finished \(end)")
    #expect(script.session.nextDeadline == nil)
    #expect(script.handle(.transport(generation: 1, .connected)) == [])
    #expect(script.pass(seconds: 60) == [])
  }

  @Test(arguments: [
    Livekit_DisconnectReason.serverShutdown, .stateMismatch, .migration, .mediaFailure, .unknownReason,
    .UNRECOGNIZED(99),
  ])
  func otherReasonsLeadToARejoin(reason: Livekit_DisconnectReason) {
    var script = withTwoTracks()
    let lines = script.receive { $0.leave.reason = reason }
    #expect(lines.last == "socket 3 \(joinQuery) T0")
    #expect(lines.contains { $0.hasPrefix("> lost") })
  }

  @Test func aLeaveToResumeResumes() {
    var script = withTwoTracks()
    let leave = Livekit_LeaveRequest.with { ($0.reason, $0.action) = (.migration, .resume) }
    #expect(script.receive { $0.leave = leave } == ["close socket", "socket 3 \(resumeQuery)0 T0"])
  }

  @Test func theFirstJoinFailsAtOnceWithItsError() {
    for error in [RoomError(.refused, "h"), RoomError(.dnsFailure, "h"), RoomError(.unauthorized), RoomError(.busy)] {
      var script = Script()
      _ = script.handle(.connect)
      let lines = script.handle(.socketFailed(attempt: 1, error))
      #expect(lines.last?.hasSuffix(" \(error.name)") == true)
      #expect(!lines.contains("joined"))
    }
    var script = Script()
    _ = script.handle(.connect)
    #expect(script.pass(seconds: 15).last?.hasSuffix(" timeout") == true)
    script = Script()
    _ = script.handle(.connect)
    #expect(script.receive { $0.update = .init() }.last?.hasSuffix(" protocolError") == true)
    script = Script()
    _ = script.handle(.connect)
    #expect(script.receive { $0.join = .init() }.last?.hasSuffix(" protocolError") == true)
    script = Script()
    _ = script.handle(.connect)
    var join = Script.join([])
    join.participant.permission.canSubscribe = false
    #expect(script.receive { $0.join = join }.last?.hasSuffix(" notPermitted") == true)
    script = Script()
    _ = script.handle(.connect)
    #expect(script.receive { $0.leave.reason = .duplicateIdentity }.last?.hasSuffix(" evicted") == true)
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
    #expect(script.handle(.left) == ["close media", "close socket", "> ended stopped", "finished stopped -"])
    #expect(script.handle(.left) == [])
    script = withTwoTracks()
    _ = script.handle(.leave)
    #expect(script.pass(seconds: 1).last == "finished stopped -")
    script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    #expect(script.handle(.leave).last == "finished stopped -")
  }

  @Test func relayOnlyIsForcedByTheServerOrTheUser() {
    var script = Script(relayOnly: true)
    _ = script.handle(.connect)
    #expect(script.receive { $0.join = Script.join([]) }.contains("media 1 [] relay only"))
    script = Script()
    _ = script.handle(.connect)
    var join = Script.join([])
    join.clientConfiguration.forceRelay = .enabled
    #expect(script.receive { $0.join = join }.contains("media 1 [] relay only"))
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
    #expect(script.handle(.socketClosed(attempt: script.session.attempt, "")).last?.hasSuffix("T9") == true)
  }

  @Test func candidatesThatWereGatheredWithoutSignallingAreSentAfterwards() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.attempt, "gone"))
    #expect(script.handle(.gathered(generation: 1, TrickleCandidate(candidate: "c"))) == [])
    let lines = script.receive { $0.reconnect = .init() }
    #expect(lines.contains { $0.hasPrefix("send trickle") })
  }
}
