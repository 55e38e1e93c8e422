import MediaCore
import Signaling
import TestKit
import Testing

@testable import RoomServer

/// The room's machine, event by event.
@Suite struct RoomMachineTests {
  private func kinds(_ client: RoomWorld.Client?) -> [String] {
    (client?.messages ?? []).map { message in
      switch message.message {
      case .join: "join"
      case .update: "update"
      case .roomUpdate: "room"
      case .leave(let leave): "leave \(leave.reason) \(leave.action)"
      case .reconnect: "reconnect"
      case .speakersChanged: "speakers"
      case .trackPublished: "published"
      case .trackUnpublished: "unpublished"
      case .trackSubscribed: "subscribed"
      case .subscriptionPermissionUpdate(let update): "permission \(update.allowed)"
      case .requestResponse(let response): "outcome \(response.reason)"
      case .mute: "mute"
      case .connectionQuality: "quality"
      default: "other"
      }
    }
  }

  @Test func whoJoinsIsWelcomedAndTheOthersHearOfIt() throws {
    var world = RoomWorld()
    let alice = try world.joined("alice")
    #expect(kinds(world.clients[alice]) == ["join", "update", "room"])
    let bob = try world.joined("bob")
    #expect(kinds(world.clients[alice]) == ["join", "update", "room", "update", "room"])
    #expect(kinds(world.clients[bob]) == ["join", "update", "room"])
    #expect(world.clients[bob]?.others.keys.sorted() == ["alice"])
    #expect(world.reports == ["participant_joined \(alice)", "participant_joined \(bob)"])
    #expect(world.violations() == [])
  }

  /// What becomes of a participant, by where it is and what happens.
  enum Step { case connect, lose, resume, fail, kick, leave, wait(Double) }

  @Test(
    arguments: [
      ([], .connecting), ([.connect], .connected), ([.lose], nil), ([.resume], .connecting),
      ([.connect, .lose], .resuming(since: .zero)), ([.connect, .lose, .resume], .connected),
      ([.connect, .resume], .connected), ([.connect, .fail], .connected), ([.connect, .fail, .wait(2.1)], nil),
      ([.connect, .fail, .resume, .wait(2.1)], .connected), ([.connect, .fail, .lose], nil),
      ([.connect, .lose, .fail, .wait(0.1)], nil), ([.connect, .lose, .wait(299)], .resuming(since: .zero)),
      ([.connect, .lose, .wait(301)], nil), ([.wait(59)], .connecting), ([.wait(61)], nil),
      ([.connect, .wait(3600)], .connected), ([.kick], nil), ([.connect, .leave], nil),
      ([.connect, .lose, .kick], nil),
    ] as [([Step], Member.Presence?)])
  func presenceFollowsTheTable(steps: [Step], presence: Member.Presence?) throws {
    var world = RoomWorld()
    let sid = try world.joined("alice")
    for step in steps {
      switch step {
      case .connect: world.handle(.media(sid, .subscriber, .connected))
      case .lose: world.handle(.signalLost(sid, try #require(world.clients[sid]?.link)))
      case .resume: world.handle(.resume(sid, world.wire()))
      case .fail: world.handle(.media(sid, .subscriber, .failed))
      case .kick: world.handle(.leave(sid, .participantRemoved, .disconnect))
      case .leave:
        var request = Livekit_SignalRequest()
        request.leave.reason = .clientInitiated
        world.handle(.received(sid, request))
      case .wait(let seconds): world.pass(seconds: seconds)
      }
    }
    switch (world.machine.member(sid)?.presence, presence) {
    case (.resuming, .resuming): break
    case (let is_, let expected): #expect(is_ == expected)
    }
    #expect(world.violations() == [])
  }

  @Test func whoseMediaStopsTooIsKeptForFiveSeconds() throws {
    var world = RoomWorld()
    let sid = try world.joinConnected("alice")
    world.handle(.signalLost(sid, try #require(world.clients[sid]?.link)))
    world.handle(.media(sid, .subscriber, .disconnected))
    world.pass(seconds: 4.9)
    #expect(world.machine.member(sid) != nil)
    world.pass(seconds: 0.2)
    #expect(world.machine.member(sid) == nil)
  }

  @Test func anOlderConnectionEndsNothing() throws {
    var world = RoomWorld()
    let sid = try world.joinConnected("alice")
    let old = try #require(world.clients[sid]?.link)
    world.handle(.resume(sid, world.wire()))
    world.handle(.signalLost(sid, old))
    #expect(world.machine.member(sid)?.presence == .connected && world.machine.member(sid)?.link != nil)
  }

  @Test func theSameIdentityTakesThePlaceOfTheOlderOne() throws {
    var world = RoomWorld(maximum: 1)
    let first = try world.joined("alice")
    let second = try world.joined("alice")
    #expect(kinds(world.gone[first]).last == "leave duplicateIdentity disconnect")
    #expect(world.machine.members.map(\.sid) == [second])
    let refused = world.join("bob")
    #expect(refused == nil && world.refusals == [.full])
    #expect(!world.machine.isFull(for: "alice") && world.machine.isFull(for: "bob"))
    world.handle(.limit(2))
    _ = try world.joined("bob")
  }

  @Test func whoseConnectionsCannotBeMadeNobodyHearsOf() throws {
    var world = RoomWorld()
    let alice = try world.joined("alice")
    let before = kinds(world.clients[alice])
    world.opens = false
    let refused = world.join("bob")
    #expect(refused == nil && world.refusals == [.media("no")] && kinds(world.clients[alice]) == before)
    world.announce(alice)
    #expect(kinds(world.clients[alice]).last == "outcome notAllowed")
    var request = Livekit_SignalRequest()
    request.offer.sdp = "v=0"
    world.handle(.received(alice, request))
    #expect(kinds(world.gone[alice]).last == "leave mediaFailure reconnect")
  }

  @Test func aRoomEndsWhenNobodyKeepsIt() throws {
    var empty = RoomWorld(empty: 300)
    empty.pass(seconds: 299)
    #expect(!empty.isClosed)
    empty.pass(seconds: 1)
    #expect(empty.isClosed)
    var world = RoomWorld(departure: 20)
    let alice = try world.joinConnected("alice")
    let recorder = try world.joinConnected("recorder", hidden: true)
    #expect(world.machine.closesAt == nil)
    world.handle(.leave(alice, .participantRemoved, .disconnect))
    world.pass(seconds: 19)
    let back = try world.joinConnected("alice")
    world.pass(seconds: 100)
    #expect(!world.isClosed)
    world.handle(.leave(back, .participantRemoved, .disconnect))
    world.pass(seconds: 20)
    #expect(world.isClosed && kinds(world.gone[recorder]).last == "leave roomClosed disconnect")
    let count = world.actions.count
    world.handle(.tick)
    #expect(world.actions.count == count)
    #expect(world.violations() == [])
  }

  @Test func hiddenOnesHearEverythingAndNobodyHearsOfThem() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let before = kinds(world.clients[alice]).filter { $0 != "room" }
    let recorder = try world.joinConnected("recorder", hidden: true)
    world.handle(.qualities([:]))
    world.handle(.levels([alice: 0.5, recorder: 1]))
    world.handle(.leave(recorder, .participantRemoved, .disconnect))
    #expect(kinds(world.clients[alice]).filter { $0 != "room" } == before + ["quality", "speakers"])
    #expect(world.clients[alice]?.heardOf == [alice])
    #expect(world.gone[recorder]?.others.keys.sorted() == ["alice"])
  }

  @Test func tracksAreToldThenReceivedAndTheOtherWayRound() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    let shy = try world.joinConnected("shy", auto: false)
    let track = try world.publish(alice)
    #expect(world.clients[bob]?.receives == [track] && world.clients[shy]?.receives == [])
    #expect(kinds(world.clients[alice]).suffix(4) == ["published", "update", "subscribed", "room"])
    world.handle(.subscribe(shy, tracks: [track, "TR_none"], true))
    #expect(world.clients[shy]?.receives == [track])
    var only = Livekit_SignalRequest()
    only.subscriptionPermission.allParticipants = false
    var entry = Livekit_TrackPermission()
    entry.participantIdentity = "bob"
    entry.allTracks = true
    only.subscriptionPermission.trackPermissions = [entry]
    world.handle(.received(alice, only))
    #expect(world.clients[shy]?.receives == [] && world.clients[bob]?.receives == [track])
    #expect(kinds(world.clients[shy]).last == "permission false")
    let late = try world.joinConnected("late")
    #expect(world.clients[late]?.receives == [])
    world.handle(.trackEnded(alice, track: track))
    #expect(world.clients[bob]?.receives == [] && world.clients[bob]?.others["alice"]?.tracks == [])
    #expect(world.reports.suffix(1) == ["track_unpublished \(alice)"])
    #expect(world.violations() == [])
  }

  @Test func aGrantTakenEndsTracksAndSubscriptions() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    let track = try world.publish(alice)
    var grant = try #require(world.machine.member(bob)?.grant)
    grant.canSubscribe = false
    world.handle(.setGrant(bob, grant))
    #expect(world.clients[bob]?.receives == [])
    grant.canSubscribe = true
    world.handle(.setGrant(bob, grant))
    #expect(world.clients[bob]?.receives == [track])
    grant.canPublish = false
    world.handle(.setGrant(alice, grant))
    #expect(world.machine.track(track) == nil && kinds(world.clients[alice]).contains("unpublished"))
    #expect(world.violations() == [])
  }

  @Test func whoComesBackHearsWhatItMissed() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    world.handle(.signalLost(alice, try #require(world.clients[alice]?.link)))
    world.handle(.leave(bob, .participantRemoved, .disconnect))
    let carol = try world.joinConnected("carol")
    try world.publish(carol)
    let count = kinds(world.clients[alice]).count
    world.handle(.resume(alice, world.wire()))
    #expect(kinds(world.clients[alice]).dropFirst(count) == ["reconnect", "update", "update", "speakers", "room"])
    #expect(world.clients[alice]?.goodbyes == [bob: 1])
    #expect(world.violations() == [])
  }

  @Test func whatWasSentIntoADeadConnectionIsToldAgain() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    // The connection is dead, but the room notices that only after somebody has left.
    world.clients[alice]?.hears = false
    world.handle(.leave(bob, .participantRemoved, .disconnect))
    world.pass(seconds: 5)
    world.handle(.signalLost(alice, try #require(world.clients[alice]?.link)))
    world.handle(.resume(alice, world.wire()))
    #expect(world.clients[alice]?.goodbyes == [bob: 1])
    #expect(world.violations() == [])
  }

  @Test func aSessionThatDoesNotFitIsSentAway() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    world.announce(alice)
    let track = try world.publish(alice, cid: "other")
    var state = Livekit_SignalRequest()
    var known = Livekit_TrackPublishedResponse()
    known.track.sid = track
    state.syncState.publishTracks = [known]
    world.handle(.received(alice, state))
    #expect(world.machine.member(alice) != nil)
    known.track.sid = "TR_none"
    state.syncState.publishTracks = [known]
    world.handle(.received(alice, state))
    #expect(kinds(world.gone[alice]).last == "leave stateMismatch reconnect")
  }

  @Test func tokensAreRenewedWithWhatHasChanged() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    world.handle(.setProfile(alice, name: "Alice", metadata: "", attributes: ["a": "b"]))
    func renewals() -> [AccessToken] {
      world.actions.compactMap { if case .renewToken(_, let token) = $0 { token } else { nil } }
    }
    #expect(renewals().count == 2 && renewals().last?.name == "Alice" && renewals().last?.attributes == ["a": "b"])
    world.pass(seconds: 300)
    #expect(renewals().count == 2)
    world.pass(seconds: 1)
    #expect(renewals().count == 3 && renewals().last?.expires == world.now.wall / 1_000_000 + 600)
    let long = String(repeating: "x", count: Member.Profile.limit + 1)
    var request = Livekit_SignalRequest()
    request.updateMetadata.metadata = long
    world.handle(.received(alice, request))
    #expect(kinds(world.clients[alice]).last == "outcome limitExceeded" && renewals().count == 3)
  }

  @Test func dataCarriesTheSendersNameAndComesOnce() throws {
    var world = RoomWorld()
    let alice = try world.joinConnected("alice")
    let bob = try world.joinConnected("bob")
    let carol = try world.joinConnected("carol")
    var packet = Livekit_DataPacket()
    packet.user.payload = .init([1, 2])
    packet.user.participantIdentity = "somebody else"
    packet.sequence = 1
    let bytes: [UInt8] = try packet.serializedBytes()
    world.handle(.data(alice, bytes, isReliable: true))
    world.handle(.data(alice, bytes, isReliable: true))
    #expect(world.clients[alice]?.data == [] && world.clients[bob]?.data.count == 1)
    let heard = try Livekit_DataPacket(serializedBytes: try #require(world.clients[bob]?.data.first))
    #expect(heard.user.participantIdentity == "alice" && heard.participantSid == alice)
    packet.sequence = 2
    packet.destinationIdentities = ["carol"]
    world.handle(.data(alice, try packet.serializedBytes(), isReliable: true))
    #expect(world.clients[bob]?.data.count == 1 && world.clients[carol]?.data.count == 2)
    var state = Livekit_SignalRequest()
    var receive = Livekit_DataChannelReceiveState()
    receive.publisherSid = alice
    state.syncState.datachannelReceiveStates = [receive]
    world.handle(.received(carol, state))
    world.handle(.received(bob, state))
    #expect(world.clients[bob]?.data.count == 2 && world.clients[carol]?.data.count == 4)
    packet.destinationIdentities = []
    for _ in 0..<2 { world.handle(.send(packet, isReliable: false, nonce: [7])) }
    #expect(world.clients[bob]?.data.count == 3)
    world.handle(.data(alice, [0xff], isReliable: false))
    #expect(world.clients[bob]?.data.count == 3)
  }
}

/// Thousands of orders in which things happen.
@Suite struct RoomOrderTests {
  @Test(arguments: 0..<16 as Range<UInt64>)
  func everybodyKnowsExactlyWhatConcernsThem(seed: UInt64) throws {
    for round in 0..<50 {
      var world = RoomWorld(seed: seed &* 1000 &+ UInt64(round), maximum: 6)
      var random = SeededRandom(seed: seed &* 7919 &+ UInt64(round))
      var trace: [String] = []
      for _ in 0..<60 where !world.isClosed {
        trace.append(try step(&world, &random))
        let wrong = world.violations()
        #expect(wrong == [], "seed \(seed), round \(round): \(trace.suffix(12))")
        if !wrong.isEmpty { return }
      }
      world.handle(.close(.serverShutdown))
      #expect(world.violations() == [] && world.clients.isEmpty, "seed \(seed), round \(round)")
    }
  }

  /// Something happens; says what.
  private func step(_ world: inout RoomWorld, _ random: inout SeededRandom) throws -> String {
    let names = ["alice", "bob", "carol", "dora", "eve", "frank", "gina"]
    let identity = names.randomElement(using: &random) ?? "alice"
    let isHidden = identity == "gina"
    guard Int.random(in: 0..<5, using: &random) > 0,
      let member = world.machine.members.randomElement(using: &random), let client = world.clients[member.sid]
    else {
      world.opens = Int.random(in: 0..<10, using: &random) > 0
      defer { world.opens = true }
      world.join(
        identity, hidden: isHidden, auto: Bool.random(using: &random),
        receives: isHidden || Int.random(in: 0..<6, using: &random) > 0)
      return "join \(identity)"
    }
    let sid = member.sid
    let tracks = world.machine.members.flatMap { $0.tracks.published.map(\.sid) }
    let track = tracks.randomElement(using: &random) ?? "TR_none"
    switch Int.random(in: 0..<20, using: &random) {
    case 0, 1:
      world.handle(.media(sid, member.receives ? .subscriber : .publisher, .connected))
      return "connect \(member.identity)"
    case 2:
      world.handle(.media(sid, .subscriber, [.failed, .disconnected].randomElement(using: &random) ?? .failed))
      return "fail \(member.identity)"
    case 3:
      world.handle(.signalLost(sid, client.link))
      return "lose \(member.identity)"
    case 4:
      // The client knows that its connection is lost; the room doesn't.
      world.clients[sid]?.hears = false
      return "deaf \(member.identity)"
    case 5, 6, 7:
      world.handle(.resume(sid, world.wire()))
      return "resume \(member.identity)"
    case 8:
      world.handle(.leave(sid, .participantRemoved, .disconnect))
      return "kick \(member.identity)"
    case 9, 10:
      guard member.isVisible, member.grant.allowsPublish else { return "nothing" }
      try world.publish(sid, Bool.random(using: &random) ? .audio : .video, cid: "\(world.sids.count)")
      return "publish \(member.identity)"
    case 11:
      guard let own = member.tracks.published.randomElement(using: &random)?.sid else { return "nothing" }
      world.handle(.trackEnded(sid, track: own))
      return "unpublish \(member.identity)"
    case 12:
      world.handle(.subscribe(sid, tracks: [track], Bool.random(using: &random)))
      return "want \(member.identity)"
    case 13:
      var request = Livekit_SignalRequest()
      request.subscriptionPermission.allParticipants = Bool.random(using: &random)
      var entry = Livekit_TrackPermission()
      entry.participantIdentity = identity
      entry.allTracks = Bool.random(using: &random)
      entry.trackSids = [track]
      request.subscriptionPermission.trackPermissions = [entry]
      world.handle(.received(sid, request))
      return "permit \(member.identity)"
    case 14:
      var grant = member.grant
      grant.canSubscribe = Bool.random(using: &random)
      grant.canPublish = Int.random(in: 0..<4, using: &random) > 0
      world.handle(.setGrant(sid, grant))
      return "grant \(member.identity)"
    case 15:
      guard let (owner, _) = world.machine.track(track) else { return "nothing" }
      world.handle(.mute(owner.sid, track: track, Bool.random(using: &random)))
      return "mute \(owner.identity)"
    case 16:
      world.handle(.setProfile(sid, name: identity, metadata: "", attributes: ["a": identity]))
      return "rename \(member.identity)"
    case 17:
      world.handle(.levels([sid: Float.random(in: 0...1, using: &random)]))
      world.handle(.qualities([sid: .init(loss: Double.random(in: 0...1, using: &random))]))
      return "speak \(member.identity)"
    case 18:
      // News are kept from it, and told at the end.
      world.clients[sid]?.hearsNews.toggle()
      if world.clients[sid]?.hearsNews == true {
        world.clients[sid]?.goodbyes = [:]
        world.handle(.missed(sid, since: member.joinedAt.steady))
      }
      return "news \(member.identity)"
    default:
      // A connection that hears nothing is found out, and a fault ends, before it is forgotten who has left.
      let isWhole = world.clients.values.allSatisfy { $0.hears && $0.hearsNews }
      let seconds = Double.random(in: 0..<(isWhole ? 90 : 1), using: &random)
      world.pass(seconds: seconds)
      return "wait \(seconds)"
    }
  }
}
