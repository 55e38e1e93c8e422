import MediaCore
import Signaling
import TestKit
import Testing

@testable import Rooms

/// The exchange of descriptions by itself, as in the table at `PeerNegotiation`.
@Suite struct PeerNegotiationTests {
  static let now = Instant.seconds(1000)

  static func seat(_ description: MailboxDescription? = nil, session: String = "T") -> MailboxView.Seat {
    .init(identity: "ann", name: "Ann", session: session, description: description)
  }

  static func answer(to offer: String?, candidates: [String] = []) -> MailboxDescription {
    .init(id: "T-9", kind: .answer, sdp: "their answer", answers: offer, candidates: candidates)
  }

  static func offer(
    _ id: String, to recipient: String? = nil, continues: String? = nil, candidates: [String] = []
  ) -> MailboxDescription {
    .init(id: id, kind: .offer, sdp: "offer \(id)", recipient: recipient, continues: continues, candidates: candidates)
  }

  /// A host's negotiation in a stage of its first exchange.
  static func host(_ stage: PeerNegotiation.Stage?, isUp: Bool = false) -> PeerNegotiation {
    var negotiation = PeerNegotiation(session: "S")
    guard let stage else { return negotiation }
    _ = negotiation.begin(as: .host, with: seat(), mayOffer: true, at: now)
    guard stage != .describing else { return negotiation }
    negotiation.described("offer", as: .host, isUp: false, at: now)
    guard stage != .offered else { return negotiation }
    let other = seat(answer(to: "S-1"))
    _ = negotiation.goOn(as: .host, with: other, isUp: isUp, wantsRestart: false, at: now)
    return negotiation
  }

  /// A guest's negotiation in a stage of its first exchange.
  static func guest(_ stage: PeerNegotiation.Stage?) -> PeerNegotiation {
    var negotiation = PeerNegotiation(session: "S")
    guard let stage else { return negotiation }
    _ = negotiation.begin(as: .guest, with: seat(offer("T-1")), mayOffer: false, at: now)
    if stage == .exchanged { negotiation.described("answer", as: .guest, isUp: false, at: now) }
    return negotiation
  }

  @Test func theHostsTable() {
    typealias Row = (
      PeerNegotiation.Stage?, MailboxView.Seat, wantsRestart: Bool, PeerNegotiation.Step, after: PeerNegotiation.Stage?
    )
    let (good, old) = (Self.seat(Self.answer(to: "S-1")), Self.seat(Self.answer(to: "S-0")))
    let table: [Row] = [
      (nil, good, false, .wait, nil),
      (.describing, good, false, .wait, .describing),
      (.describing, Self.seat(session: "U"), false, .reset("the other side began anew"), .describing),
      (.offered, Self.seat(), true, .wait, .offered),
      (.offered, old, false, .wait, .offered),
      (.offered, good, true, .apply(.accept(exchange: 1, sdp: "their answer")), .exchanged),
      (.offered, Self.seat(session: "U"), false, .reset("the other side began anew"), .offered),
      (.exchanged, good, false, .wait, .exchanged),
      (.exchanged, good, true, .restart(.offer(exchange: 2, restartsICE: true)), .describing),
      (.exchanged, old, true, .reset("the other side has deleted its data"), .exchanged),
      (.exchanged, Self.seat(), false, .reset("the other side has deleted its data"), .exchanged),
    ]
    for (stage, other, wantsRestart, step, after) in table {
      var negotiation = Self.host(stage)
      let found = negotiation.goOn(
        as: .host, with: other, isUp: false, wantsRestart: wantsRestart, at: Self.now)
      #expect(found == step, "\(String(describing: stage)) \(other)")
      #expect(negotiation.exchange?.stage == after, "\(String(describing: stage)) \(other)")
    }
  }

  @Test func theGuestsTable() {
    typealias Row = (
      PeerNegotiation.Stage?, MailboxView.Seat, PeerNegotiation.Step, after: PeerNegotiation.Stage?
    )
    let table: [Row] = [
      (nil, Self.seat(Self.offer("T-1")), .wait, nil),
      (.describing, Self.seat(Self.offer("T-1")), .wait, .describing),
      (.describing, Self.seat(Self.offer("T-2")), .reset("the other side offers anew"), .describing),
      (.describing, Self.seat(Self.offer("T-2", continues: "T-1")), .reset("the other side offers anew"), .describing),
      (.describing, Self.seat(), .reset("the other side has deleted its data"), .describing),
      (.exchanged, Self.seat(Self.offer("T-1")), .wait, .exchanged),
      (
        .exchanged, Self.seat(Self.offer("T-2", continues: "T-1")),
        .restart(.answer(exchange: 2, sdp: "offer T-2")), .describing
      ),
      (.exchanged, Self.seat(Self.offer("T-2", continues: "T-0")), .reset("the other side offers anew"), .exchanged),
      (.exchanged, Self.seat(Self.answer(to: "S-1")), .reset("the other side has deleted its data"), .exchanged),
      (.exchanged, Self.seat(Self.offer("T-1"), session: "U"), .reset("the other side began anew"), .exchanged),
    ]
    for (stage, other, step, after) in table {
      var negotiation = Self.guest(stage)
      let found = negotiation.goOn(as: .guest, with: other, isUp: false, wantsRestart: true, at: Self.now)
      #expect(found == step, "\(String(describing: stage)) \(other)")
      #expect(negotiation.exchange?.stage == after, "\(String(describing: stage)) \(other)")
    }
  }

  @Test func beginning() {
    typealias Row = (PeerRole, MailboxDescription?, mayOffer: Bool, PeerNegotiation.Step)
    let table: [Row] = [
      (.host, nil, true, .open(.offer(exchange: 1, restartsICE: false))),
      (.host, nil, false, .wait),
      (.guest, nil, true, .wait),
      (.guest, Self.answer(to: "S-1"), true, .wait),
      (.guest, Self.offer("T-1"), false, .open(.answer(exchange: 1, sdp: "offer T-1"))),
      (.guest, Self.offer("T-1", to: "S"), false, .open(.answer(exchange: 1, sdp: "offer T-1"))),
      (.guest, Self.offer("T-1", to: "X"), false, .wait),
      (.guest, Self.offer("T-1", continues: "T-0"), false, .wait),
    ]
    for (role, description, mayOffer, step) in table {
      var negotiation = PeerNegotiation(session: "S")
      let found = negotiation.begin(as: role, with: Self.seat(description), mayOffer: mayOffer, at: Self.now)
      #expect(found == step, "\(role) \(String(describing: description))")
      #expect(negotiation.isDescribing == (step != .wait))
      // There is one already.
      guard step != .wait else { continue }
      #expect(negotiation.begin(as: role, with: Self.seat(description), mayOffer: mayOffer, at: Self.now) == .wait)
    }
  }

  @Test func anOfferThatLedNowhereIsNotAnsweredAgain() {
    var negotiation = Self.guest(.exchanged)
    #expect(negotiation.description?.answers == "T-1")
    negotiation.reset()
    #expect(negotiation.exchange == nil && negotiation.description == nil && negotiation.nextDeadline == nil)
    let (old, new) = (Self.seat(Self.offer("T-1")), Self.seat(Self.offer("T-2")))
    #expect(negotiation.begin(as: .guest, with: old, mayOffer: false, at: Self.now) == .wait)
    #expect(negotiation.begin(as: .guest, with: new, mayOffer: false, at: Self.now) != .wait)
  }

  @Test func aRestartThatIsAnsweredWithSomethingElseIsGivenUp() {
    var negotiation = Self.host(.exchanged)
    let good = Self.seat(Self.answer(to: "S-1"))
    _ = negotiation.goOn(as: .host, with: good, isUp: false, wantsRestart: true, at: Self.now)
    negotiation.described("offer", as: .host, isUp: false, at: Self.now)
    #expect(negotiation.description?.id == "S-2" && negotiation.description?.continues == "S-1")
    #expect(negotiation.goOn(as: .host, with: good, isUp: false, wantsRestart: false, at: Self.now) == .wait)
    let step = negotiation.goOn(as: .host, with: Self.seat(), isUp: false, wantsRestart: false, at: Self.now)
    #expect(step == .reset("the other side has given up"))
  }

  @Test func deadlines() {
    var (first, second) = (Self.now + PeerNegotiation.exchangeTime, Self.now + PeerNegotiation.connectTime)
    var negotiation = Self.host(.offered)
    #expect(negotiation.nextDeadline == first && negotiation.overdue(at: first - .nanoseconds(1)) == nil)
    #expect(negotiation.overdue(at: first) == .description)
    negotiation.extend(at: first)
    first += PeerNegotiation.extensionTime
    #expect(negotiation.nextDeadline == first)
    // Exchanged is what is answered here and stored there.
    negotiation = Self.host(.exchanged)
    negotiation.stored("S-0")
    #expect(negotiation.overdue(at: first) == .description)
    negotiation.stored("S-1")
    #expect(negotiation.nextDeadline == second && negotiation.overdue(at: second) == .connection)
    #expect(!negotiation.hasWaited(at: Self.now) && negotiation.hasWaited(at: second - .nanoseconds(1)))
    negotiation.extend(at: second)
    second += PeerNegotiation.extensionTime
    #expect(negotiation.nextDeadline == second)
    negotiation.connected()
    #expect(negotiation.nextDeadline == nil && !negotiation.hasWaited(at: second))
    negotiation.lost(at: second)
    #expect(negotiation.nextDeadline == second + PeerNegotiation.connectTime)
    // Over a connection that stands nothing is waited for.
    negotiation = Self.host(.exchanged, isUp: true)
    negotiation.stored("S-1")
    #expect(negotiation.nextDeadline == nil)
  }

  @Test func candidatesAreTakenOnceAndOnlyOfThisExchange() {
    var negotiation = Self.host(.exchanged)
    let other = Self.seat(Self.answer(to: "S-1", candidates: ["a", "b"]))
    #expect(negotiation.takeCandidates(of: other) == ["a", "b"])
    #expect(negotiation.takeCandidates(of: other) == [])
    let more = Self.seat(Self.answer(to: "S-1", candidates: ["a", "b", "c"]))
    #expect(negotiation.takeCandidates(of: more) == ["c"])
    #expect(negotiation.takeCandidates(of: Self.seat(Self.answer(to: "S-2", candidates: ["x", "y", "z", "w"]))) == [])
    // Before the descriptions are exchanged none can be used.
    var early = Self.guest(.describing)
    #expect(early.takeCandidates(of: Self.seat(Self.offer("T-1", candidates: ["a"]))) == [])
    early.described("answer", as: .guest, isUp: false, at: Self.now)
    #expect(early.takeCandidates(of: Self.seat(Self.offer("T-1", candidates: ["a"]))) == ["a"])
  }

  @Test func ownCandidatesAreBounded() {
    var negotiation = Self.host(.describing)
    negotiation.gathered("too early")
    negotiation.described("offer", as: .host, isUp: false, at: Self.now)
    for number in 0..<100 { negotiation.gathered("\(number)") }
    #expect(negotiation.description?.candidates.count == PeerNegotiation.maximumCandidates)
    #expect(negotiation.description?.candidates.first == "0")
  }
}
