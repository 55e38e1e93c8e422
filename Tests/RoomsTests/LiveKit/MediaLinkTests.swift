import MediaCore
import Signaling
import TestKit
import Testing
import Transport

@testable import Rooms

/// The states of the media connection by themselves, as drawn at `MediaLink`.
@Suite struct MediaLinkTests {
  static let now = Instant.seconds(1000)

  static func link(_ states: TransportState...) -> MediaLink {
    var link = MediaLink()
    link.open(within: .seconds(15), at: now)
    for state in states { _ = link.changed(state, isSignalOpen: true, at: now) }
    return link
  }

  @Test func theTable() {
    typealias Row = (before: [TransportState], isSignalOpen: Bool, TransportState, MediaLink.Change, due: Instant?)
    let (now, first) = (Self.now, Self.now + .seconds(15))
    let table: [Row] = [
      ([], true, .connecting, .none, first),
      ([], true, .connected, .connected, nil),
      ([], true, .failed, .failed("it failed"), first),
      ([], false, .failed, .interrupted("media failed"), first),
      ([.connected], true, .disconnected, .interrupted("nothing comes through it"), now + MediaLink.disconnectedTime),
      ([.connected], false, .disconnected, .interrupted("nothing comes through it"), nil),
      ([.connected], true, .failed, .closing("the server closed it, or it failed"), now + MediaLink.farewellTime),
      ([.connected], false, .failed, .interrupted("media failed"), nil),
      ([.connected, .disconnected], true, .connected, .connected, nil),
      ([.connected, .disconnected], false, .failed, .interrupted("media failed"), nil),
      ([.connected], true, .closed, .none, nil),
    ]
    for (before, isSignalOpen, state, change, due) in table {
      var link = Self.link()
      for state in before { _ = link.changed(state, isSignalOpen: true, at: now) }
      #expect(link.changed(state, isSignalOpen: isSignalOpen, at: now) == change, "\(before) \(state)")
      #expect(link.nextDeadline == due, "\(before) \(state)")
      #expect(
        link.isUp == (state == .connected || (state == .closed && before.last == .connected)), "\(before) \(state)")
    }
  }

  @Test func silenceIsNoticedAndEnds() {
    var link = Self.link(.connected)
    link.traffic.heardAt = Self.now
    let asked = Self.now + .seconds(1)
    #expect(link.probe(at: asked) && !link.probe(at: asked + .nanoseconds(1)))
    #expect(link.unanswered(at: asked + .milliseconds(500)) == .milliseconds(500))
    link.fellSilent()
    #expect(!link.isFlowing && link.isUp)
    // Later requests don't make the debt younger.
    #expect(link.probe(at: asked + MediaLink.probeInterval) == true)
    #expect(link.unanswered(at: asked + .milliseconds(600)) == .milliseconds(600))
    link.traffic.heardAt = asked + .milliseconds(700)
    #expect(link.unanswered(at: asked + .milliseconds(800)) == .zero)
    link.spoke()
    #expect(link.isFlowing && !link.isExpected)
    // Nothing can be asked of a transport that is down, or known of one that does not count.
    _ = link.changed(.disconnected, isSignalOpen: true, at: asked)
    #expect(link.probe(at: asked + .seconds(10)) == false)
    link.traffic.heardAt = nil
    #expect(link.unanswered(at: asked) == .zero)
    _ = link.changed(.connected, isSignalOpen: true, at: asked)
    #expect(link.unanswered(at: asked) == nil)
  }

  @Test func anotherConnectionKnowsNothingOfTheOneBefore() {
    var link = Self.link(.connected)
    link.take(.with { $0.id = 3 })
    #expect(link.answered(3, "sdp").id == 3 && link.answer?.sdp == "sdp")
    for number in 0..<100 {
      link.keep(TrickleCandidate(candidate: "candidate:\(number)", sdpMid: "0", sdpMLineIndex: 0))
    }
    #expect(link.waitingCandidates.count == MediaLink.candidateLimit)
    link.traffic = MediaTraffic(lastPacketAt: .nanoseconds(1), heardAt: .nanoseconds(2), isBeyondRestart: true)
    #expect(link.traffic.newestAt == .nanoseconds(2))
    link.open(within: .nanoseconds(1), at: Self.now)
    #expect(link.generation == 2 && !link.isUp && link.connectedAt == nil && link.offer == nil && link.answer == nil)
    #expect(link.takeCandidates().isEmpty && link.traffic.newestAt == nil)
    #expect(link.isOverdue(at: Self.now + .nanoseconds(1)) && !link.isOverdue(at: Self.now))
  }
}
