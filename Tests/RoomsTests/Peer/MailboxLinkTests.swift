import MediaCore
import Signaling
import TestKit
import Testing

@testable import Rooms

/// The bot's place in a mailbox by itself, as drawn at `MailboxLink`.
@Suite struct MailboxLinkTests {
  static let now = Instant.seconds(1000)
  static let refused = MailboxFault.failed(RoomError(.refused))

  static func link(role: PeerRole? = nil, _ change: (inout ReconnectPolicy.Settings) -> Void = { _ in }) -> MailboxLink
  {
    var settings = PeerSettings(room: "booth", role: role, session: "S", seed: 1)
    change(&settings.reconnect)
    return MailboxLink(settings: settings)
  }

  /// A link with the host's seat, whose requests are 1 (the seat) and 2 (the watch).
  static func seated(_ view: MailboxView = MailboxView(revision: 1, role: .host)) -> MailboxLink {
    var link = link()
    _ = ask(&link)
    _ = link.answered(1, .success(view), at: now)
    _ = ask(&link)
    return link
  }

  static func ask(
    _ link: inout MailboxLink, storing description: MailboxDescription? = nil, isDescribing: Bool = false,
    keepsRole: Bool = false
  ) -> [PeerRequest] {
    link.ask(storing: description, isDescribing: isDescribing, keepsRole: keepsRole)
  }

  @Test func theTable() {
    // What is answered in which place, what comes of it, whether the seat is held then, and what is asked next.
    typealias Row = (
      isSeated: Bool, request: Int, Result<MailboxView, MailboxFault>, MailboxLink.Answer, after: Bool, asks: Int
    )
    let view = MailboxView(revision: 1, role: .host)
    let older = MailboxView(revision: 0, role: .guest)
    let first = MailboxLink.Answer.seen(.init(hasNewRole: true))
    let table: [Row] = [
      (false, 1, .success(view), first, true, 1),
      (false, 7, .success(view), .ignored, false, 0),
      (false, 1, .failure(Self.refused), .fault(Self.refused), false, 1),
      (false, 1, .failure(.occupied("by ann")), .fault(.occupied("by ann")), false, 1),
      (true, 2, .success(view), .seen(.init(hasNewRole: false)), true, 1),
      (true, 2, .success(older), .old, true, 1),
      (true, 1, .success(view), .ignored, true, 0),
      (true, 2, .failure(Self.refused), .fault(Self.refused), true, 1),
      (true, 2, .failure(.noSeat), .fault(.noSeat), false, 1),
      (true, 2, .failure(.occupied("by ann")), .fault(.occupied("by ann")), false, 1),
      (true, 2, .failure(.stale), .fault(.stale), true, 1),
      (true, 2, .failure(.replaced), .fault(.replaced), true, 1),
    ]
    for (isSeated, request, result, answer, after, asks) in table {
      var link = isSeated ? Self.seated() : Self.link()
      if !isSeated { _ = Self.ask(&link) }
      #expect(link.answered(request, result, at: Self.now) == answer, "\(isSeated) \(request) \(result)")
      #expect(link.isSeated == after, "\(isSeated) \(request) \(result)")
      #expect(Self.ask(&link).count == asks, "\(isSeated) \(request) \(result)")
    }
  }

  @Test func whatShouldStandThereIsWrittenUntilItDoes() {
    var link = Self.seated()
    var offer = MailboxDescription(id: "S-1", kind: .offer, sdp: "offer", candidates: ["a"])
    #expect(Self.ask(&link, storing: offer) == [.request(3, .put(session: "S", offer))])
    #expect(link.isWrite(3) && !link.isWrite(2))
    // One write at a time.
    #expect(Self.ask(&link, storing: offer) == [])
    var view = MailboxView(revision: 2, role: .host, own: .init(id: "S-1", candidates: 1))
    _ = link.answered(3, .success(view), at: Self.now)
    #expect(Self.ask(&link, storing: offer) == [])
    offer.candidates = ["a", "b", "c"]
    let more = MailboxCandidates(id: "S-1", candidates: ["b", "c"])
    #expect(Self.ask(&link, storing: offer) == [.request(4, .add(session: "S", more))])
    // The candidates came too late: all is written again.
    _ = link.answered(4, .failure(.stale), at: Self.now)
    #expect(Self.ask(&link, storing: offer) == [.request(5, .put(session: "S", offer))])
    view.own?.candidates = 3
    _ = link.answered(5, .success(view), at: Self.now)
    #expect(link.stored == "S-1")
    // What is being made takes its place; else it is deleted.
    #expect(Self.ask(&link, isDescribing: true) == [])
    #expect(Self.ask(&link) == [.request(6, .clear(session: "S"))])
  }

  @Test func aMailboxThatCountsWronglyIsNoTrap() {
    let view = MailboxView(revision: 1, role: .host, own: .init(id: "S-1", candidates: -3))
    var link = Self.link()
    _ = Self.ask(&link)
    _ = link.answered(1, .success(view), at: Self.now)
    let offer = MailboxDescription(id: "S-1", kind: .offer, sdp: "offer", candidates: ["a"])
    let more = MailboxCandidates(id: "S-1", candidates: ["a"])
    #expect(Self.ask(&link, storing: offer).first == .request(2, .add(session: "S", more)))
  }

  @Test func theRoleIsKeptAsLongAsItCanBe() {
    func wanted(_ requests: [PeerRequest]) -> PeerRole?? {
      if case .request(_, .takeSeat(let seat)) = requests.first { seat.role } else { nil }
    }
    var link = Self.link()
    #expect(wanted(Self.ask(&link, keepsRole: true)) == .some(nil))
    _ = link.answered(1, .success(MailboxView(revision: 1, role: .guest)), at: Self.now)
    _ = Self.ask(&link)
    _ = link.answered(2, .failure(.noSeat), at: Self.now)
    #expect(wanted(Self.ask(&link, keepsRole: true)) == .some(.guest))
    _ = link.answered(3, .failure(.occupied("by ann")), at: Self.now)
    #expect(wanted(Self.ask(&link, keepsRole: true)) == .some(nil))
    _ = link.answered(4, .success(MailboxView(revision: 2, role: .host)), at: Self.now)
    _ = Self.ask(&link)
    _ = link.answered(5, .failure(.noSeat), at: Self.now)
    #expect(wanted(Self.ask(&link, keepsRole: false)) == .some(nil))
  }

  @Test func failuresMakePausesLongerAndCountOnce() {
    var link = Self.seated()
    var pauses: [Duration] = []
    for _ in 0..<8 {
      #expect(link.retry(isUp: false, at: Self.now) == true)
      let due = link.retryAt ?? .zero
      #expect(link.retry(isUp: false, at: Self.now) && link.retryAt == due)
      #expect(Self.ask(&link, storing: .init(id: "S-1", kind: .offer, sdp: "")) == [])
      pauses.append(due - Self.now)
      link.timer(at: due - .nanoseconds(1))
      #expect(link.retryAt == due)
      link.timer(at: due)
      #expect(link.retryAt == nil)
    }
    #expect(pauses.first == MailboxLink.pause && link.failures == 8)
    #expect(
      pauses.dropFirst(4).allSatisfy { (Duration.milliseconds(750) ... .milliseconds(1550)).contains($0) }, "\(pauses)")
    #expect(link.missed() && !link.missed() && !link.isReachable)
    _ = link.answered(2, .success(MailboxView(revision: 1, role: .host)), at: Self.now)
    #expect(link.isReachable && link.failures == 0)
  }

  @Test func fixedRulesEnd() {
    var link = Self.link { $0.rule = .fixed(attempts: 2, interval: .seconds(5)) }
    #expect(link.retry(isUp: false, at: Self.now) == true)
    link.stopWaiting()
    #expect(link.retry(isUp: false, at: Self.now) && link.retryAt == Self.now + .seconds(5))
    link.stopWaiting()
    #expect(link.retry(isUp: false, at: Self.now) == false)
    // While media flows there is no hurry.
    #expect(link.retry(isUp: true, at: Self.now) == true)
  }

  @Test func theFirstSeatIsAskedForEachSecondUntilTheEnd() {
    var link = Self.link()
    for _ in 0..<20 {
      link.retryJoin(by: Self.now + .seconds(60), at: Self.now)
      let pause = (link.retryAt ?? .zero) - Self.now
      #expect((ReconnectPolicy.spacing...ReconnectPolicy.cap).contains(pause))
    }
    link.retryJoin(by: Self.now + .nanoseconds(1), at: Self.now)
    #expect(link.retryAt == Self.now + .nanoseconds(1))
  }

  @Test func whoWasSeenIsGoneAtOnceWhoWasNotHasTimeToComeBack() {
    var view = MailboxView(revision: 1, role: .host)
    var link = Self.seated(view)
    let end = Self.now + MailboxLink.seatGrace
    #expect(link.graceDeadline == end)
    #expect(!link.isOtherGone(at: end - .nanoseconds(1)) && link.isOtherGone(at: end))
    (view.revision, view.other) = (2, .init(identity: "ann", name: "Ann", session: "T"))
    _ = link.answered(2, .success(view), at: Self.now)
    #expect(link.other?.session == "T" && !link.isOtherGone(at: end) && link.graceDeadline == nil)
    view.revision = 3
    view.other?.hasLeft = true
    _ = Self.ask(&link)
    #expect(
      link.answered(3, .success(view), at: Self.now) == .seen(.init(hasNewRole: false, goodbye: "T")))
    #expect(link.other == nil && link.isOtherGone(at: Self.now))
    // Of a mailbox that cannot be reached nothing is known.
    _ = link.missed()
    #expect(!link.isOtherGone(at: end))
  }

  @Test func onlyWhoHasASeatSaysGoodbye() {
    var link = Self.link()
    #expect(link.leave() == nil)
    link = Self.seated()
    #expect(link.leave() == .request(3, .leave(session: "S")) && link.isWrite(3))
    // A watch that hangs is not waited for.
    link.watchAnew()
    #expect(link.answered(2, .success(MailboxView(revision: 9, role: .host)), at: Self.now) == .ignored)
  }
}
