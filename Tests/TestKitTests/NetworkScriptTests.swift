import TestKit
import Testing

@Suite struct NetworkScriptTests {
  @Test func readsStatementsByTime() throws {
    let script = try NetworkScript(
      """
      12s down udp loss=10% delay=30ms  # a comment; loss=1%
      5s outage 3s; 0s jitter=1.5ms
      rebind
      """)
    #expect(script.statements.map(\.at) == [.zero, .zero, .seconds(5), .seconds(12)])
    #expect(script.statements.map(\.text) == ["jitter=1.5ms", "rebind", "outage 3s", "loss=10% delay=30ms"])
    #expect(script.statements[0].actions == [.jitter(.microseconds(1500))])
    #expect(script.statements[2].actions == [.outage(.seconds(3))])
    #expect(script.statements[3].actions == [.loss(.percent(10)), .delay(.milliseconds(30))])
    #expect(script.statements[3].scope == PacketScope([.down], [.udp]))
    #expect(script.statements.map(\.scope.description) == ["all", "all", "all", "down udp"])
  }

  @Test(arguments: [
    ("burst=10%/4", NetworkScript.Action.bursts(.init(share: .percent(10), length: 4))),
    ("reorder=5%/20ms", .reorder(.percent(5), .milliseconds(20))),
    ("reorder=5%", .reorder(.percent(5), .milliseconds(20))),
    ("duplicate=1%", .duplicate(.percent(1))), ("corrupt=0.25%", .corrupt(Share(millionths: 2500))),
    ("rate=300kbit", .rate(300_000)), ("rate=1.5Mbit", .rate(1_500_000)), ("rate=none", .rate(nil)),
    ("queue=2m", .queue(.seconds(120))), ("outage", .outage(nil)), ("clear", .clear), ("rebind", .rebind),
  ])
  func readsEveryAction(text: String, action: NetworkScript.Action) throws {
    #expect(try NetworkScript(text).statements.first?.actions == [action])
  }

  @Test(arguments: [
    "loss", "loss=", "loss=10", "loss=101%", "loss=-1%", "delay=1h", "delay=1.5.2s", "loss=1%=2%", "burst=10%",
    "burst=10%/0", "delay=3ms/4", "rate=fast", "udp rate=1Mbit", "tcp queue=1s", "5s", "up", "outage 3s 4s", "nonsense",
    "delay=99999999999999999999s", "delay=100000s", "reorder=1%/x",
  ])
  func refusesWhatIsNoScript(text: String) {
    #expect(throws: NetworkScript.Mistake.self) { try NetworkScript(text) }
  }

  @Test func mistakesNameTheStatement() {
    #expect(throws: NetworkScript.Mistake(description: "'los=5%' in '3s los=5%' is nothing that a network can do")) {
      try NetworkScript("1s loss=5%; 3s los=5%")
    }
  }

  @Test func anEmptyScriptIsAPerfectNetwork() throws {
    #expect(try NetworkScript(" \n;; # nothing\n").statements.isEmpty)
  }
}
