import Session
import Signaling
import Testing

@testable import Rooms

// How sessions end, or why they don't.
extension ReconnectTests {
  @Test func anExpiredTokenThatWasGivenEndsTheSession() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    let lines = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.tokenExpired)))
    #expect(lines.last?.hasPrefix("finished") == true && lines.last?.hasSuffix("tokenExpired") == true)
  }

  @Test func aRoomThatIsGoneEndsTheSessionWell() {
    var script = withTwoTracks()
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    let lines = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
    #expect(lines == ["close socket", "finished roomEnded -"])
    #expect(script.statuses.last?.error?.codes.twilio == 53106 && script.statuses.last?.action == .complete)
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
    #expect(lines == ["close socket", "socket 3 \(joinQuery) T0"])
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
    #expect(script.handle(.reached(attempt: 1)) == [])
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
}
