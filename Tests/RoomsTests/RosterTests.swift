import Signaling
import Testing

@testable import Rooms

@Suite struct RosterTests {
  /// Who is a person: whom the server itself keeps a room open for.
  @Test(arguments: [
    (Livekit_ParticipantInfo.Kind.standard, false), (.ingress, false), (.sip, false), (.connector, false),
    (.agent, true), (.bridge, false), (.UNRECOGNIZED(99), false),
  ])
  func agentsAreBots(kind: Livekit_ParticipantInfo.Kind, isBot: Bool) {
    var roster = LiveKitRoster()
    var info = Script.person("ann")
    info.kind = kind
    roster.reset(own: .with { ($0.sid, $0.identity) = ("PA_me", "bot") }, others: [info])
    #expect(roster.state.participants.values.map(\.isBot) == [isBot])
  }

  @Test func recordersAndAgentsByPermissionAreBotsAndHiddenOnesAreNotThere() {
    var roster = LiveKitRoster()
    let permissions: [Livekit_ParticipantPermission] = [
      .with { $0.recorder = true }, .with { $0.agent = true }, .with { $0.hidden = true },
    ]
    let others = permissions.enumerated().map { index, permission in
      var info = Script.person("p\(index)")
      info.permission = permission
      return info
    }
    var egress = Script.person("egress")
    egress.kind = .egress
    roster.reset(own: .with { ($0.sid, $0.identity) = ("PA_me", "bot") }, others: others + [egress])
    let told = roster.state.participants.map { "\($0.key) \($0.value.isBot)" }.sorted()
    #expect(told == ["p0 true", "p1 true"])
  }
}
