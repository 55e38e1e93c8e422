import MediaCore
import Signaling
import Testing

@testable import Rooms

/// Signalling is lost, media is not: what loses least.
@Suite struct SignalOutageTests {
  func flowing() -> Script {
    var script = Script()
    script.joined([Script.person("anna", tracks: ["TR_V1"])], tracks: ["0": "TR_V1"])
    return script
  }

  /// Lets attempts fail with an error until an attempt is a join, `seconds` at most; how long that took.
  func secondsUntilJoin(
    _ script: inout Script, _ error: RoomError, within seconds: Int64, each: (inout Script) -> Void = { _ in }
  ) -> Double? {
    let begin = script.now
    var lines = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    while script.now < begin + .seconds(seconds) {
      if lines.contains(where: { $0.hasPrefix("socket") && !$0.contains("reconnect=1") }) {
        return (script.now - begin) / .seconds(1)
      }
      each(&script)
      lines = script.handle(.socketFailed(attempt: script.session.signal.attempt, error))
      lines += script.passUntilSocket(seconds: 6)
    }
    return nil
  }

  @Test(arguments: [RoomError.Kind.refused, .timeout, .busy, .dnsFailure])
  func aSessionWhoseMediaFlowsIsResumedForMinutes(kind: RoomError.Kind) throws {
    var script = flowing()
    #expect(secondsUntilJoin(&script, RoomError(kind), within: 240) == nil)
    // A server that has forgotten it says so: then it is joined anew at once.
    var leave = Livekit_LeaveRequest()
    (leave.reason, leave.action) = (.stateMismatch, .reconnect)
    while script.session.signal.phase == .closed { _ = script.passUntilSocket(seconds: 6) }
    let lines = script.receive { $0.leave = leave }
    #expect(lines.contains { $0.hasPrefix("socket") && !$0.contains("reconnect=1") }, "\(lines)")
    #expect(!lines.contains("close media"), "what flows may flow until the join is answered")
  }

  @Test func whoComesMeanwhileIsNotWaitedForWithoutEnd() throws {
    var script = flowing()
    let seconds = try #require(secondsUntilJoin(&script, RoomError(.refused), within: 320))
    #expect((300...307).contains(seconds))
  }

  @Test func withoutMediaTheSessionIsJoinedAnewSoon() throws {
    var script = flowing()
    script.cut()
    let seconds = try #require(secondsUntilJoin(&script, RoomError(.refused), within: 60))
    #expect((15...17).contains(seconds))
  }

  @Test func mediaThatIsLostLaterEndsThePatience() throws {
    var script = flowing()
    let begin = script.now
    let seconds = try #require(
      secondsUntilJoin(&script, RoomError(.refused), within: 120) { script in
        if script.now - begin > .seconds(40) { script.cut() }
      })
    #expect((54...58).contains(seconds))
  }

  @Test func aServerThatAnswersWithNonsenseIsNotAskedForMinutes() throws {
    var script = flowing()
    let seconds = try #require(secondsUntilJoin(&script, RoomError(.protocolError), within: 60))
    #expect((15...17).contains(seconds))
  }

  @Test func mediaThatTheServerHasClosedIsNotResumed() {
    var script = flowing()
    script.session.traffic.isBeyondRestart = true
    (script.mediaFlows, script.answersProbes) = (false, nil)
    _ = script.handle(.transport(generation: script.session.media.generation, .failed))
    let lines = script.passUntilSocket(seconds: 2)
    #expect(lines.contains { $0.hasPrefix("socket") && !$0.contains("reconnect=1") }, "\(lines)")
  }
}
