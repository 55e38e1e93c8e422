import MediaCore
import Signaling
import Testing
import Transport

@testable import Rooms

/// When a two-party room's connection goes over relays, and what becomes of it when the token is too old.
@Suite struct PeerRelayTests {
  @Test func afterAMediaFailureTheNextConnectionGoesOverRelays() {
    var script = PeerScript(hasRelays: true)
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .host)
    _ = script.answer("seat")
    #expect(script.seatOther().contains("media 1 host"))
    for (offer, expected) in [(1, "media 2 host over relays"), (2, "media 3 host"), (3, "media 4 host over relays")] {
      _ = script.answer("clear")
      _ = script.answer("put")
      _ = script.show { $0.other?.description = PeerScript.answer(to: "S-\(offer)") }
      #expect(script.pass(seconds: 16).contains(expected))
    }
    // Where the network is another one, the direct way is tried first again.
    _ = script.answer("put")
    _ = script.handle(.networkChanged)
    _ = script.show { $0.other?.description = nil }
    _ = script.pass(seconds: 5)
    #expect(script.flow.recovery.prefersRelay == false)
  }

  @Test func aConnectionThatStoodIsTriedDirectlyAgain() {
    var script = PeerScript(hasRelays: true)
    script.connectedHost()
    #expect(script.handle(.transport(generation: 1, .failed)).contains("media 2 host"))
  }

  /// The bot has its place, and the other side has answered its offer.
  func exchanged(hasRelays: Bool = true) -> PeerScript {
    var script = PeerScript(hasRelays: hasRelays)
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .host)
    _ = script.answer("seat")
    _ = script.seatOther()
    _ = script.answer("put")
    _ = script.show { $0.other?.description = PeerScript.answer(to: "S-1") }
    return script
  }

  @Test func theOtherSidesTimeMayRunOutFirst() {
    // Whoever answers waits from the answer on, whoever offers from its arrival on.
    var script = exchanged()
    _ = script.pass(seconds: 14.9)
    var lines = script.show { $0.other?.description = nil }
    lines += script.pass(seconds: 1)
    #expect(lines.contains("media 2 host over relays"), "\(lines)")
    #expect(script.statuses.last?.state == .relaying)
    // One that gives up at once has another reason.
    script = exchanged()
    _ = script.pass(seconds: 1)
    lines = script.show { $0.other?.description = nil }
    lines += script.pass(seconds: 1)
    #expect(lines.contains("media 2 host"), "\(lines)")
  }

  @Test func theGuestGoesOverRelaysTooWhenTheHostGivesUp() {
    var script = PeerScript(role: .guest, hasRelays: true)
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .guest)
    _ = script.answer("seat")
    _ = script.seatOther(description: .init(id: "T-1", kind: .offer, sdp: "offer", recipient: "S"))
    _ = script.answer("put")
    _ = script.pass(seconds: 14.5)
    let lines = script.show {
      $0.other?.description = MailboxDescription(id: "T-2", kind: .offer, sdp: "offer", recipient: "S")
    }
    #expect(lines.contains("media 2 guest over relays"), "\(lines)")
  }

  @Test func aGivenTokenThatIsTooOldEndsTheSessionWhenNothingFlows() {
    var script = PeerScript()
    script.connectedHost()
    // While media flows nothing is lost by going on.
    #expect(script.fail("watch", .failed(RoomError(.tokenExpired))) == [])
    _ = script.pass(seconds: 2)
    #expect(script.flow.phase == .running)
    _ = script.handle(.transport(generation: 1, .disconnected))
    let lines = script.fail("watch", .failed(RoomError(.tokenExpired)))
    #expect(lines.last?.hasSuffix("tokenExpired") == true, "\(lines)")
    #expect(script.flow.phase == .ended)
    // Nor does anybody wait for somebody whom it will never see.
    script = PeerScript()
    _ = script.handle(.join)
    _ = script.answer("seat")
    #expect(script.fail("watch", .failed(RoomError(.tokenExpired))).last?.hasSuffix("tokenExpired") == true)
  }

  @Test func aTokenThatCanBeMadeAnewIsTriedAgain() {
    var script = PeerScript(canRenewToken: true)
    _ = script.handle(.join)
    _ = script.answer("seat")
    #expect(script.fail("watch", .failed(RoomError(.tokenExpired))) == [])
    #expect(script.flow.phase == .running && script.flow.mailbox.retryAt != nil)
  }
}
