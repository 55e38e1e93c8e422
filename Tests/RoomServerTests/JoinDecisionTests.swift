import NIOHTTP1
import Synchronization
import Testing

@testable import RoomServer

@Suite struct JoinDecisionTests {
  /// A join was looked at when the upgrade was offered and again when it was carried out or refused, each time with up to
  /// three readings of its token.
  @Test func aRequestIsLookedAtOnce() throws {
    let looks = Mutex(0)
    let decision = JoinDecision { head in
      looks.withLock { $0 += 1 }
      return .failure(JoinGate.Refusal(status: 401, text: head.uri))
    }
    func head(_ uri: String, _ token: String) -> HTTPRequestHead {
      HTTPRequestHead(version: .http1_1, method: .GET, uri: uri, headers: ["Authorization": "Bearer \(token)"])
    }
    let first = head("/rtc", "a")
    _ = decision.decide(first)
    guard case .failure(let refusal) = decision.take(first), refusal.text == "/rtc" else {
      Issue.record("another decision")
      return
    }
    #expect(looks.withLock { $0 } == 1)
    // The same again on the same connection is another request: its token may have run out.
    _ = decision.take(first)
    #expect(looks.withLock { $0 } == 2)
    // A decision is never that about another request.
    for other in [head("/rtc/validate", "a"), head("/rtc", "b")] {
      _ = decision.decide(first)
      let before = looks.withLock { $0 }
      guard case .failure(let refusal) = decision.take(other) else { continue }
      #expect(refusal.text == other.uri && looks.withLock { $0 } == before + 1)
    }
  }
}
