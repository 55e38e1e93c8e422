import MediaCore
import Signaling
import TestKit
import Testing

@testable import RoomServer

/// Rooms of two seats, in manual time.
@Suite struct MailboxStateTests {
  var state = MailboxState()

  func description(_ id: String, kind: MailboxDescription.Kind = .offer, answers: String? = nil) -> MailboxDescription {
    MailboxDescription(id: id, kind: kind, sdp: "v=0", answers: answers)
  }

  /// Takes a seat in the room `booth`; the session is the identity's with a number.
  mutating func sit(
    _ identity: String, _ role: PeerRole? = nil, session: String = "1", at now: Instant = .zero
  ) throws -> MailboxView {
    try state.takeSeat(
      in: "booth", identity: identity, SeatRequest(session: session, role: role, name: identity), at: now)
  }

  @Test mutating func theFirstBecomesTheHostAndTheSecondTheGuest() throws {
    #expect(try sit("ann").role == .host)
    let view = try sit("bot")
    #expect(view.role == .guest)
    #expect(view.other?.identity == "ann")
    #expect(throws: MailboxState.Refusal.occupied(by: "bot")) { try sit("carl") }
  }

  @Test mutating func whoDoesNotCareMakesRoomForWhoDoes() throws {
    _ = try sit("ann")
    _ = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    #expect(try sit("bot", .host).role == .host)
    let view = try state.look("booth", identity: "ann", session: "1", at: .zero)
    #expect(view.role == .guest)
    #expect(view.own == nil)
    #expect(throws: MailboxState.Refusal.occupied(by: "bot")) { try sit("carl", .host) }
  }

  @Test mutating func twoWhoWantTheSameSeatCannotBothHaveIt() throws {
    _ = try sit("ann", .host)
    #expect(throws: MailboxState.Refusal.occupied(by: "ann")) { try sit("bot", .host) }
  }

  @Test mutating func whatIsStoredIsSeenByTheOtherAlone() throws {
    _ = try sit("ann")
    _ = try sit("bot")
    let own = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    #expect(own.own == MailboxView.Own(id: "a", candidates: 0))
    #expect(own.other?.description == nil)
    _ = try state.add(
      "booth", identity: "ann", session: "1", MailboxCandidates(id: "a", candidates: ["candidate:1"]), at: .zero)
    let seen = try state.look("booth", identity: "bot", session: "1", at: .zero)
    #expect(seen.other?.description?.id == "a")
    #expect(seen.other?.description?.candidates == ["candidate:1"])
  }

  @Test mutating func candidatesOfAnEarlierDescriptionAreRefused() throws {
    _ = try sit("ann")
    _ = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    _ = try state.put("booth", identity: "ann", session: "1", description("b"), at: .zero)
    let late = MailboxCandidates(id: "a", candidates: ["candidate:1"])
    #expect(throws: MailboxState.Refusal.stale) {
      try state.add("booth", identity: "ann", session: "1", late, at: .zero)
    }
    _ = try state.clear("booth", identity: "ann", session: "1", at: .zero)
    let later = MailboxCandidates(id: "b", candidates: [])
    #expect(throws: MailboxState.Refusal.stale) {
      try state.add("booth", identity: "ann", session: "1", later, at: .zero)
    }
  }

  @Test mutating func theNewestSessionOfAnIdentityHasTheSeatAndNothingOfTheEarlierOne() throws {
    _ = try sit("ann")
    _ = try sit("bot")
    _ = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    let view = try sit("ann", session: "2")
    #expect(view.role == .host)
    #expect(view.own == nil)
    #expect(throws: MailboxState.Refusal.replaced) { try state.look("booth", identity: "ann", session: "1", at: .zero) }
    #expect(throws: MailboxState.Refusal.replaced) {
      try state.put("booth", identity: "ann", session: "1", description("late"), at: .zero)
    }
    #expect(try state.look("booth", identity: "bot", session: "1", at: .zero).other?.session == "2")
  }

  @Test mutating func aSeatThatIsTakenAgainBringsItsDescription() throws {
    var request = SeatRequest(session: "1", role: .guest)
    request.description = description("a")
    let view = try state.takeSeat(in: "booth", identity: "ann", request, at: .zero)
    #expect(view.role == .guest)
    #expect(view.own?.id == "a")
  }

  @Test mutating func whoIsSilentLosesTheSeatAndAnEmptyRoomIsForgotten() throws {
    _ = try sit("ann", at: .zero)
    _ = try sit("bot", at: .zero)
    state.watching(true, "booth", identity: "bot", session: "1", at: .zero)
    #expect(state.advance(to: .seconds(9)).isEmpty)
    #expect(state.advance(to: .seconds(10)) == ["booth"])
    #expect(throws: MailboxState.Refusal.noSeat) { try state.look("booth", identity: "ann", session: "1", at: .zero) }
    // Waiting for a change is a sign of life; the lease counts from its end.
    #expect(try state.look("booth", identity: "bot", session: "1", at: .seconds(20)).other == nil)
    state.watching(false, "booth", identity: "bot", session: "1", at: .seconds(40))
    #expect(state.advance(to: .seconds(49)).isEmpty)
    #expect(state.advance(to: .seconds(50)) == ["booth"])
    #expect(state.count == 0)
  }

  @Test mutating func aGoodbyeCanBeSeenForAWhileAndItsSeatTaken() throws {
    _ = try sit("ann")
    _ = try sit("bot")
    _ = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    _ = try state.leave("booth", identity: "ann", session: "1", at: .seconds(1))
    let seen = try state.look("booth", identity: "bot", session: "1", at: .seconds(1))
    #expect(seen.other?.hasLeft == true)
    #expect(seen.other?.description == nil)
    #expect(throws: MailboxState.Refusal.noSeat) {
      try state.look("booth", identity: "ann", session: "1", at: .seconds(1))
    }
    #expect(try sit("carl", at: .seconds(2)).role == .host)
  }

  @Test mutating func everyChangeHasANewRevision() throws {
    var last = try sit("ann").revision
    for step in 0..<4 {
      let view =
        switch step {
        case 0: try sit("bot")
        case 1: try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
        case 2:
          try state.add(
            "booth", identity: "ann", session: "1", MailboxCandidates(id: "a", candidates: ["candidate:1"]), at: .zero)
        default: try state.clear("booth", identity: "ann", session: "1", at: .zero)
        }
      #expect(view.revision > last)
      last = view.revision
    }
    #expect(try state.look("booth", identity: "ann", session: "1", at: .zero).revision == last)
  }

  @Test mutating func nothingGrowsWithoutEnd() throws {
    state = MailboxState(limits: .init(rooms: 2, candidates: 3, candidateBytes: 10, nameBytes: 8))
    _ = try sit("ann")
    _ = try state.takeSeat(in: "two", identity: "ann", SeatRequest(session: "1", role: nil), at: .zero)
    #expect(throws: MailboxState.Refusal.tooManyRooms) {
      try state.takeSeat(in: "three", identity: "ann", SeatRequest(session: "1", role: nil), at: .zero)
    }
    _ = try state.put("booth", identity: "ann", session: "1", description("a"), at: .zero)
    let many = MailboxCandidates(id: "a", candidates: ["1", "2"])
    _ = try state.add("booth", identity: "ann", session: "1", many, at: .zero)
    #expect(throws: MailboxState.Refusal.self) {
      try state.add("booth", identity: "ann", session: "1", many, at: .zero)
    }
    let long = MailboxCandidates(id: "a", candidates: ["candidate:12"])
    #expect(throws: MailboxState.Refusal.self) {
      try state.add("booth", identity: "ann", session: "1", long, at: .zero)
    }
    #expect(throws: MailboxState.Refusal.self) { try sit("bot", session: "123456789") }
    #expect(throws: MailboxState.Refusal.self) { try sit("bot", session: "") }
    let named = SeatRequest(session: "1", role: nil, name: "Ænne Müller")
    _ = try state.takeSeat(in: "booth", identity: "bot", named, at: .zero)
    #expect(try state.look("booth", identity: "ann", session: "1", at: .zero).other?.name == "Ænne M")
  }

  /// Whatever is asked in whatever order: at most two in a room, never one twice, and no refusal changes anything.
  @Test(arguments: 0..<50) func seatsStayInOrder(seed: UInt64) throws {
    var state = MailboxState(limits: .init(rooms: 3))
    var random = SeededRandom(seed: seed)
    var now = Instant.zero
    let people = ["ann", "bot", "carl"]
    for _ in 0..<300 {
      now += .nanoseconds(Int64.random(in: 0...3_000_000_000, using: &random))
      let identity = people[Int.random(in: 0..<3, using: &random)]
      let session = String(Int.random(in: 1...2, using: &random))
      let before = state.count
      _ = try? {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
          let role: PeerRole? = [nil, .host, .guest][Int.random(in: 0..<3, using: &random)]
          return try state.takeSeat(
            in: "booth", identity: identity, SeatRequest(session: session, role: role), at: now)
        case 1: return try state.put("booth", identity: identity, session: session, description("a"), at: now)
        case 2: return try state.clear("booth", identity: identity, session: session, at: now)
        case 3: return try state.leave("booth", identity: identity, session: session, at: now)
        case 4:
          _ = state.advance(to: now)
          return nil as MailboxView?
        default: return try state.look("booth", identity: identity, session: session, at: now)
        }
      }()
      #expect(before <= 1 && state.count <= 1, "seed \(seed)")
      // Who has a seat sees somebody else, or nobody, opposite.
      var roles: [PeerRole] = []
      for person in people {
        for session in ["1", "2"] {
          guard let view = try? state.look("booth", identity: person, session: session, at: now) else { continue }
          #expect(view.other?.identity != person, "seed \(seed)")
          roles.append(view.role)
        }
      }
      #expect(Set(roles).count == roles.count, "seed \(seed): \(roles)")
    }
  }
}
