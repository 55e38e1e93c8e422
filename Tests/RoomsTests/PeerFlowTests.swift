import MediaCore
import Session
import Signaling
import TestKit
import Testing
import Transport

@testable import Rooms

/// One peer in manual time, whose actions are read as lines of text.
struct PeerScript {
  var flow: PeerFlow
  var now = Instant.seconds(1000)
  var view = MailboxView(revision: 0, role: .host)
  /// Open requests by what they are.
  var requests: [String: Int] = [:]
  var sections = [
    MediaSection(mid: MID("0"), kind: .audio, isActive: true),
    MediaSection(mid: MID("1"), kind: .video, isActive: true),
  ]

  /// What the other side takes of what the bot sends.
  var taken: Set<LocalTrackID> = [LocalTrackID(1), LocalTrackID(2)]

  init(
    role: PeerRole? = nil, hasRelays: Bool = false, canRenewToken: Bool = false,
    profile: PeerProfile = .recorder, _ change: (inout ReconnectPolicy.Settings) -> Void = { _ in }
  ) {
    var reconnect = ReconnectPolicy.Settings()
    change(&reconnect)
    flow = PeerFlow(
      settings: .init(
        room: "booth", role: role, profile: profile, session: "S", reconnect: reconnect, hasRelays: hasRelays,
        canRenewToken: canRenewToken, seed: 1))
  }
  /// What was told of the connection, in order.
  var statuses: [RoomStatus] = []

  private var waiting: [PeerFlow.Input] = []

  /// What comes up while something is being done waits its turn.
  mutating func handle(_ input: PeerFlow.Input) -> [String] {
    waiting.append(input)
    var lines: [String] = []
    while !waiting.isEmpty {
      for action in flow.handle(waiting.removeFirst(), at: now) { lines += perform(action) }
    }
    return lines
  }

  /// The mailbox shows a change to whoever waits for it.
  mutating func show(_ change: (inout MailboxView) -> Void) -> [String] {
    view.revision += 1
    change(&view)
    return answer("watch")
  }

  /// Answers an open request with the room as it is.
  mutating func answer(_ name: String) -> [String] {
    guard let number = requests.removeValue(forKey: name) else { return ["no request \(name)"] }
    return handle(.answered(request: number, .success(view)))
  }

  mutating func fail(_ name: String, _ fault: MailboxFault) -> [String] {
    guard let number = requests.removeValue(forKey: name) else { return ["no request \(name)"] }
    return handle(.answered(request: number, .failure(fault)))
  }

  /// The other side sits down.
  mutating func seatOther(
    session: String = "T", name: String = "Ann", description: MailboxDescription? = nil
  ) -> [String] {
    show {
      $0.other = .init(identity: "ann", name: name, session: session, description: description)
    }
  }

  /// Goes on to the next deadline, again and again, until so many seconds have passed.
  mutating func pass(seconds: Double) -> [String] {
    let end = now + .nanoseconds(Int64(seconds * 1e9))
    var lines: [String] = []
    while let deadline = flow.nextDeadline, deadline <= end {
      now = max(now, deadline)
      lines += handle(.timer)
    }
    now = end
    return lines
  }

  /// The way to a connection, as host.
  mutating func connectedHost() {
    _ = handle(.join)
    view.role = .host
    view.revision = 1
    _ = answer("seat")
    _ = seatOther()
    _ = answer("put")
    _ = show { $0.other?.description = Self.answer(to: "S-1") }
    _ = handle(.transport(generation: 1, .connected))
  }

  static func answer(to offer: String) -> MailboxDescription {
    MailboxDescription(
      id: "T-\(offer)", kind: .answer, sdp: "answer", answers: offer, candidates: ["candidate:1"])
  }

  private mutating func perform(_ action: PeerFlow.Action) -> [String] {
    switch action {
    case .perform(.request(let number, let request)): return ask(request, number)
    case .openMedia(let generation, let request):
      return ["media \(generation) \(request.isOfferer ? "host" : "guest")\(request.relayOnly ? " over relays" : "")"]
    case .perform(.offer(let exchange, let restarts)):
      waiting.append(.described(exchange: exchange, sdp: "offer"))
      return ["offer\(restarts ? " restart" : "")"]
    case .perform(.answer(let exchange, let sdp)):
      if sdp == "bad" {
        waiting.append(.unusable(exchange: exchange, "bad"))
        return []
      }
      waiting += [
        .described(exchange: exchange, sdp: "answer"), .agreed(exchange: exchange, taken),
        .applied(exchange: exchange, sections),
      ]
      return ["answer"]
    case .perform(.accept(let exchange, _)):
      waiting += [.agreed(exchange: exchange, taken), .applied(exchange: exchange, sections)]
      return ["accept"]
    case .addCandidate(let text): return [text]
    case .closeMedia: return ["close media"]
    case .perform(.say(let message)):
      func text(_ name: String, _ isOn: Bool?) -> String? { isOn.map { "\(name)=\($0)" } }
      let words = [
        message.name ?? "-", text("camera", message.camera), text("microphone", message.microphone),
        text("recording", message.recording),
      ]
      return ["say " + words.compactMap { $0 }.joined(separator: " ")]
    case .perform(.tell(let event)): return ["tell \(Self.text(event))"]
    case .bind(let tracks):
      return ["bind \(tracks.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " "))"]
    case .emit(let event): return ["> \(Script.text(event))"]
    case .joined: return ["joined"]
    case .finished(let end, let error): return ["finished \(end) \(error?.name ?? "-")"]
    case .status(let status):
      statuses.append(status)
      return []
    case .log, .updateMedia, .probeMedia, .requestKeyframes: return []
    }
  }

  private static func text(_ event: PublishingEvent) -> String {
    switch event {
    case .published(let id, let sid): "published \(id.rawValue) \(sid)"
    case .interrupted(let id): "interrupted \(id.rawValue)"
    case .muted, .keyframeWanted, .ended: "\(event)"
    }
  }

  private mutating func ask(_ request: MailboxRequest, _ number: Int) -> [String] {
    switch request {
    case .takeSeat(let seat):
      requests["seat"] = number
      return ["seat \(seat.role?.rawValue ?? "auto")\(seat.description.map { " with \($0.id)" } ?? "")"]
    case .watch:
      requests["watch"] = number
      return []
    case .put(_, let description):
      requests["put"] = number
      // What a mailbox would show from now on.
      view.revision += 1
      view.own = .init(id: description.id, candidates: description.candidates.count)
      return ["put \(description.id)\(description.continues.map { " continues \($0)" } ?? "")"]
    case .add(_, let more):
      requests["add"] = number
      view.revision += 1
      view.own?.candidates += more.candidates.count
      return ["add \(more.id) \(more.candidates)"]
    case .clear:
      requests["clear"] = number
      view.revision += 1
      view.own = nil
      return ["clear"]
    case .leave:
      requests["leave"] = number
      return ["leave"]
    }
  }
}

@Suite struct PeerFlowTests {
  @Test func theHostOffersWhenSomebodyIsThereAndMediaFlowsAfterTheAnswer() {
    var script = PeerScript()
    #expect(script.handle(.join) == ["seat auto"])
    script.view = MailboxView(revision: 1, role: .host)
    #expect(script.answer("seat") == ["> joined booth", "> synchronized", "joined"])
    #expect(
      script.seatOther() == ["media 1 host", "offer", "> participant Ann", "put S-1"])
    _ = script.answer("put")
    #expect(script.handle(.gathered(generation: 1, "candidate:7")) == [#"add S-1 ["candidate:7"]"#])
    let lines = script.show { $0.other?.description = PeerScript.answer(to: "S-1") }
    #expect(lines == ["accept", "candidate:1", "> track ann/camera/1 ann", "> track ann/microphone/1 ann"])
    #expect(
      script.handle(.transport(generation: 1, .connected)) == [
        "> subscribed ann/camera/1 true", "> subscribed ann/microphone/1 true",
        "bind 0=ann/microphone/1 1=ann/camera/1",
      ])
    #expect(script.handle(.channelOpened(generation: 1)) == ["say recbot recording=true"])
  }

  @Test func theGuestAnswersAnOfferThatIsMeantForIt() {
    var script = PeerScript(role: .guest)
    #expect(script.handle(.join) == ["seat guest"])
    script.view = MailboxView(revision: 1, role: .guest)
    _ = script.answer("seat")
    var offer = MailboxDescription(id: "T-1", kind: .offer, sdp: "offer", recipient: "somebody else")
    #expect(script.seatOther(description: offer) == ["> participant Ann"])
    offer.id = "T-2"
    offer.recipient = "S"
    let lines = script.show { $0.other?.description = offer }
    #expect(lines.prefix(2) == ["media 1 guest", "answer"])
    #expect(lines.contains("put S-1"))
  }

  @Test func withoutAnAnswerTheFlowIsResetAfterFourSeconds() {
    var script = PeerScript()
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .host)
    _ = script.answer("seat")
    _ = script.seatOther()
    _ = script.answer("put")
    #expect(script.pass(seconds: 3.9) == [])
    #expect(script.pass(seconds: 0.2) == ["close media", "media 2 host", "offer", "put S-2"])
    _ = script.answer("put")
    // The answer to the first offer is out of date.
    let late = script.show { $0.other?.description = PeerScript.answer(to: "S-1") }
    #expect(!late.contains("accept"))
    let shown1 = script.show { $0.other?.description = PeerScript.answer(to: "S-2") }
    #expect(shown1.contains("accept"))
  }

  @Test func withoutAConnectionTheFlowIsResetAfterFifteenSeconds() {
    var script = PeerScript()
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .host)
    _ = script.answer("seat")
    _ = script.seatOther()
    _ = script.answer("put")
    _ = script.show { $0.other?.description = PeerScript.answer(to: "S-1") }
    #expect(script.pass(seconds: 14.9) == [])
    let lines = script.pass(seconds: 0.2)
    #expect(lines.prefix(3) == ["close media", "media 2 host", "offer"])
  }

  @Test func deletedDataStartTheFlowOverAndTheRecordingIsTold() {
    var script = PeerScript()
    script.connectedHost()
    let lines = script.show { $0.other?.description = nil }
    #expect(lines.contains { $0.hasPrefix("> lost") })
    #expect(lines.contains("close media"))
    #expect(lines.contains("put S-2"))
    _ = script.answer("put")
    _ = script.show { $0.other?.description = PeerScript.answer(to: "S-2") }
    let restored = script.handle(.transport(generation: 2, .connected))
    #expect(restored.first == "> restored")
    #expect(restored.contains("> unpublished ann/camera/1"))
    #expect(restored.contains("> subscribed ann/camera/2 true"))
    #expect(restored.last == "> synchronized")
  }

  @Test func aPageThatIsLoadedAgainLeavesAndComesBack() {
    var script = PeerScript()
    script.connectedHost()
    let lines = script.seatOther(session: "U")
    #expect(lines.contains { $0.hasPrefix("> lost") })
    #expect(lines.contains("put S-2"))
    _ = script.answer("put")
    _ = script.show { $0.other?.description = PeerScript.answer(to: "S-2") }
    let restored = script.handle(.transport(generation: 2, .connected))
    #expect(restored.prefix(3) == ["> restored", "> left ann", "> participant Ann"])
  }

  @Test func silenceIsALossAndTheHostRestartsICE() {
    var script = PeerScript()
    script.connectedHost()
    _ = script.handle(.channelOpened(generation: 1))
    _ = script.handle(.message(generation: 1, PeerMessage(name: "Ann")))
    let lines = script.pass(seconds: 2.6).filter { !$0.hasPrefix("say") }
    #expect(lines == ["> lost nothing comes from the other side", "offer restart", "put S-2 continues S-1"])
    _ = script.answer("put")
    // What comes over the old path is as good.
    #expect(script.handle(.heard(generation: 1)).first == "> restored")
    let shown2 = script.show { $0.other?.description = PeerScript.answer(to: "S-2") }
    #expect(shown2.contains("accept"))
    for _ in 0..<20 {
      _ = script.handle(.heard(generation: 1))
      #expect(script.pass(seconds: 1).allSatisfy { $0.hasPrefix("say") })
    }
  }

  @Test func aMailboxThatForgetsEverythingDisturbsNobody() {
    var script = PeerScript()
    script.connectedHost()
    script.view.own = nil
    script.view.other = nil
    script.view.revision = 1
    #expect(script.fail("watch", .noSeat) == ["seat host with S-1"])
    script.view.own = .init(id: "S-1", candidates: 0)
    #expect(script.answer("seat") == [])
    #expect(script.pass(seconds: 30) == [])
    #expect(script.seatOther(description: PeerScript.answer(to: "S-1")) == [])
    #expect(script.flow.media.isUp)
  }

  @Test func aMailboxThatCannotBeReachedDisturbsNobodyWhoIsConnected() {
    var script = PeerScript()
    script.connectedHost()
    var lines: [String] = []
    for _ in 0..<20 {
      lines += script.fail("watch", .failed(RoomError(.refused)))
      lines += script.pass(seconds: 2)
    }
    #expect(lines == [])
    #expect(script.flow.media.isUp)
  }

  @Test func aGoodbyeEndsTheRecording() {
    var script = PeerScript()
    script.connectedHost()
    let lines = script.show {
      $0.other?.hasLeft = true
      $0.other?.description = nil
    }
    #expect(lines.contains("> left ann"))
    #expect(lines.last == "finished roomEnded -")
  }

  @Test func whoDisappearsHasLeftAndTheBotWaitsForTheNext() {
    var script = PeerScript()
    script.connectedHost()
    _ = script.handle(.transport(generation: 1, .failed))
    let lines = script.show { $0.other = nil }
    #expect(lines.contains("> restored"))
    #expect(lines.contains("> left ann"))
    #expect(script.flow.phase == .running)
    let shown3 = script.seatOther(session: "V", name: "Ben")
    #expect(shown3.contains("> participant Ben"))
  }

  @Test func muteIsToldAsItHappens() {
    var script = PeerScript()
    script.connectedHost()
    #expect(
      script.handle(.message(generation: 1, PeerMessage(camera: false))) == ["> track ann/camera/1 ann muted"])
    #expect(
      script.handle(.message(generation: 1, PeerMessage(camera: true, microphone: false)))
        == ["> track ann/camera/1 ann", "> track ann/microphone/1 ann muted"])
  }

  @Test func aSecondBotOfTheSameIdentityEvictsTheFirst() {
    var script = PeerScript()
    script.connectedHost()
    #expect(script.fail("watch", .replaced).last == "finished evicted evicted")
  }

  @Test func aJoinThatIsRefusedIsAnError() {
    var script = PeerScript(role: .host)
    _ = script.handle(.join)
    #expect(script.fail("seat", .occupied("by ann")).last?.hasSuffix("roomFull") == true)
    var other = PeerScript()
    _ = other.handle(.join)
    #expect(other.fail("seat", .failed(RoomError(.unauthorized))).last?.hasSuffix("unauthorized") == true)
  }

  @Test func aFirstJoinIsTriedAgainForAsLongAsIsWanted() {
    var script = PeerScript { $0.waitForRoom = .seconds(10) }
    _ = script.handle(.join)
    var joins = 0
    while script.flow.phase != .ended, joins < 100 {
      joins += 1
      #expect(script.fail("seat", .failed(RoomError(.refused))).contains("no request seat") == false)
      if script.flow.phase != .ended { #expect(script.pass(seconds: 1.6) == ["seat auto"]) }
    }
    #expect((5...12).contains(joins))
    #expect(!script.flow.hasJoined)
  }

  @Test func aTokenThatIsRefusedIsNotTriedAgain() {
    var script = PeerScript { $0.waitForRoom = .seconds(10) }
    _ = script.handle(.join)
    #expect(script.fail("seat", .failed(RoomError(.unauthorized))).last?.hasPrefix("finished") == true)
  }

  @Test func anOfferThatCannotBeUsedIsNotTriedAgain() {
    var script = PeerScript(role: .guest)
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .guest)
    _ = script.answer("seat")
    let lines = script.seatOther(description: .init(id: "T-1", kind: .offer, sdp: "bad", recipient: "S"))
    #expect(lines.prefix(3) == ["media 1 guest", "> participant Ann", "close media"])
    #expect(script.pass(seconds: 10) == [])
    let shown4 = script.show { $0.other?.description?.id = "T-2" }
    #expect(shown4.contains("media 2 guest"))
  }

  @Test func leavingSaysGoodbye() {
    var script = PeerScript()
    script.connectedHost()
    #expect(script.handle(.leave) == ["leave"])
    #expect(script.answer("leave") == ["no request leave"] || script.flow.phase == .ended)
    var silent = PeerScript()
    silent.connectedHost()
    _ = silent.handle(.leave)
    #expect(silent.pass(seconds: 1.1).last == "finished stopped -")
  }

  @Test func aSeatThatIsTakenIsAskedForEachSecondUntilTheTimeIsOver() {
    var script = PeerScript { $0.waitForRoom = .seconds(60) }
    _ = script.handle(.join)
    var joins = 0
    while script.flow.phase != .ended, joins < 100 {
      joins += 1
      let lines = script.fail("seat", .occupied("by ann"))
      #expect(!lines.contains("no request seat"))
      if script.flow.phase != .ended { #expect(script.pass(seconds: 1) == ["seat auto"]) }
    }
    #expect((55...65).contains(joins))
    #expect(script.statuses.contains { $0.state == .waitingForRoom && $0.error?.kind == .roomFull })
    #expect(script.statuses.last?.state == .ended)
    #expect(script.statuses.last?.error?.kind == .roomFull)
  }

  @Test func theLimitEndsASessionThatDoesNotComeBack() {
    var script = PeerScript { $0.limit = .seconds(20) }
    script.connectedHost()
    _ = script.handle(.transport(generation: 1, .failed))
    var lines: [String] = []
    for _ in 0..<12 { lines += script.pass(seconds: 2) }
    #expect(lines.last?.hasSuffix("reconnectTimeout") == true)
    #expect(script.statuses.last?.error?.codes.enablex == 5074)
  }

  @Test func whereTheConnectionStandsIsTold() {
    var script = PeerScript()
    script.connectedHost()
    #expect(script.statuses.map(\.state) == [.connecting, .joined, .connected])
    _ = script.handle(.transport(generation: 1, .disconnected))
    #expect(script.statuses.last?.state == .resuming)
    #expect(script.statuses.last?.error?.kind == .mediaLost)
    #expect(script.statuses.last?.attempts == 1)
    _ = script.handle(.heard(generation: 1))
    _ = script.handle(.transport(generation: 1, .connected))
    #expect(script.statuses.last == RoomStatus(state: .connected))
  }

  @Test func withoutReconnectionTheFirstLossEndsTheRecording() {
    var script = PeerScript { $0.allowsReconnect = false }
    script.connectedHost()
    let lines = script.handle(.transport(generation: 1, .failed))
    #expect(lines.count == 1 && lines[0].hasPrefix("finished") && lines[0].hasSuffix("mediaLost"))
    #expect(script.statuses.last?.error?.kind == .mediaLost)
  }

  @Test func fixedRulesCountAttemptsAndKeepTheirInterval() {
    var script = PeerScript { $0.rule = .fixed(attempts: 2, interval: .seconds(30)) }
    script.connectedHost()
    #expect(script.handle(.transport(generation: 1, .failed)).contains("put S-2"))
    // The first attempt follows at once; unanswered, the second is made 30 s after it began; then no other.
    #expect(script.pass(seconds: 29.9).filter { $0.hasPrefix("offer") } == [])
    #expect(script.pass(seconds: 0.2).filter { $0.hasPrefix("offer") } == ["offer"])
    _ = script.answer("put")
    let lines = script.pass(seconds: 60)
    #expect(lines.filter { $0.hasPrefix("offer") } == [])
    #expect(lines.last?.hasSuffix("connectionLost") == true)
  }

  @Test func fixedRulesCountRequestsToAMailboxThatIsAway() {
    var script = PeerScript { $0.rule = .fixed(attempts: 3, interval: .seconds(5)) }
    _ = script.handle(.join)
    script.view = MailboxView(revision: 1, role: .host)
    _ = script.answer("seat")
    let began = script.now
    while script.flow.phase != .ended, script.now < began + .seconds(100) {
      _ = script.fail("watch", .failed(RoomError(.refused)))
      if script.flow.phase != .ended { _ = script.pass(seconds: 0.5) }
    }
    #expect(script.statuses.last?.error?.kind == .connectionLost)
    #expect((Duration.seconds(10) ... .seconds(13)).contains(script.now - began))
  }
}
