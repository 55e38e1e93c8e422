import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

/// What a bot publishes, in manual time: what the server is asked, and when again.
@Suite struct PublishingTests {
  static let camera = LocalTrackDescription(
    name: "camera", source: .camera, codec: .vp8,
    layers: [.init(width: 320, height: 180, bitrate: 100_000), .init(width: 640, height: 360, bitrate: 400_000)])
  static let voice = LocalTrackDescription(name: "voice", source: .microphone, codec: .opus)

  private func named(_ script: inout Script, _ number: Int, _ sid: String) -> [String] {
    script.receive { $0.trackPublished = .with { ($0.cid, $0.track.sid) = ("recbot-\(number)", sid) } }
  }

  private func answered(_ script: inout Script, _ sdp: String = "v=0") -> [String] {
    script.receive { $0.answer = .with { ($0.type, $0.sdp) = ("answer", sdp) } }
  }

  private func publish(_ script: inout Script, _ number: Int, _ track: LocalTrackDescription) -> [String] {
    script.handle(.publishing(.publish(LocalTrackID(number), track)))
  }

  /// With a published camera.
  private func publishing() -> Script {
    var script = Script()
    script.joined()
    _ = publish(&script, 1, Self.camera)
    _ = named(&script, 1, "TR_1")
    _ = answered(&script)
    return script
  }

  @Test func aTrackIsAskedForOfferedAndPublished() {
    var script = Script()
    script.joined()
    #expect(publish(&script, 1, Self.camera) == ["send add track recbot-1 camera 320x180,640x360"])
    #expect(named(&script, 1, "TR_1") == ["open publisher 1", "add sender 1 camera", "make offer", "send offer"])
    #expect(answered(&script) == ["! published 1 as TR_1"])
    #expect(script.handle(.publishing(.transport(generation: 1, .connected))) == ["! keyframe 1 all"])
  }

  @Test func anEncryptedRoomIsToldThatWhatComesIsEncrypted() {
    for isEncrypted in [true, false] {
      var machine = Publishing(isEncrypted: isEncrypted)
      _ = machine.joined(MediaRequest(iceServers: [], relayOnly: false), at: .zero)
      let asked = machine.publish(LocalTrackID(1), Self.camera, at: .zero).compactMap { action in
        if case .perform(.send(let request)) = action { request.addTrack.encryption } else { nil }
      }
      #expect(asked == [isEncrypted ? .gcm : .none])
    }
  }

  @Test func theRoomIsToldWhetherSilenceIsLeftOut() {
    for isDiscontinuous in [true, false] {
      var (machine, track) = (Publishing(), Self.voice)
      track.isDiscontinuous = isDiscontinuous
      _ = machine.joined(MediaRequest(iceServers: [], relayOnly: false), at: .zero)
      let asked = machine.publish(LocalTrackID(1), track, at: .zero).compactMap { action in
        if case .perform(.send(let request)) = action { request.addTrack } else { nil }
      }
      #expect(asked.map(\.disableDtx) == [!isDiscontinuous])
      #expect(asked.map(\.audioFeatures) == [isDiscontinuous ? [] : [.tfNoDtx]])
    }
  }

  @Test func whatIsPublishedBeforeTheJoinWaitsForIt() {
    var script = Script()
    #expect(publish(&script, 1, Self.voice).isEmpty)
    _ = script.handle(.connect)
    let lines = script.receive { $0.join = Script.join([]) }
    #expect(lines.contains("send add track recbot-1 voice "))
  }

  @Test func tracksThatComeTogetherShareAnOffer() {
    var script = publishing()
    _ = publish(&script, 2, Self.voice)
    _ = publish(&script, 3, Self.camera)
    #expect(named(&script, 2, "TR_2") == ["add sender 2 voice", "make offer", "send offer"])
    #expect(named(&script, 3, "TR_3") == ["add sender 3 camera"])
    #expect(answered(&script) == ["make offer", "send offer"])
    #expect(answered(&script) == ["! published 2 as TR_2", "! published 3 as TR_3"])
  }

  @Test func aTrackIsWithdrawn() {
    var script = publishing()
    #expect(
      script.handle(.publishing(.unpublish(LocalTrackID(1)))) == ["remove sender 1", "make offer", "send offer"])
    #expect(script.handle(.publishing(.unpublish(LocalTrackID(1)))).isEmpty)
    #expect(answered(&script).isEmpty)
  }

  @Test func mutingGoesBothWays() {
    var script = publishing()
    #expect(script.handle(.publishing(.mute(LocalTrackID(1), true))) == ["send mute TR_1 true"])
    #expect(script.handle(.publishing(.mute(LocalTrackID(1), true))).isEmpty)
    #expect(script.receive { $0.mute = .with { ($0.sid, $0.muted) = ("TR_1", false) } } == ["! muted 1 false"])
    #expect(script.receive { $0.mute = .with { ($0.sid, $0.muted) = ("TR_x", true) } }.isEmpty)
  }

  @Test func aRefusalAndSilenceEndATrack() {
    var script = Script()
    script.joined()
    _ = publish(&script, 1, Self.camera)
    let lines = script.receive {
      $0.requestResponse = .with { response in
        (response.reason, response.message) = (.notAllowed, "no")
        response.addTrack.cid = "recbot-1"
      }
    }
    #expect(lines == ["! ended 1 notPermitted"])
    _ = publish(&script, 2, Self.camera)
    #expect(script.passQuietly(seconds: 9.9).isEmpty)
    #expect(script.passQuietly(seconds: 0.2) == ["! ended 2 timeout"])
  }

  @Test func theRoomTakesATrackAway() {
    var script = publishing()
    #expect(
      script.receive { $0.trackUnpublished = .with { $0.trackSid = "TR_1" } }
        == ["remove sender 1", "make offer", "send offer", "! ended 1 removed"])
  }

  @Test func aResumeAsksAgainAndRestartsICE() {
    var script = publishing()
    _ = publish(&script, 2, Self.voice)
    _ = named(&script, 2, "TR_2")
    _ = publish(&script, 3, Self.voice)
    // The offer has no answer: it is given up with the connection that carried it.
    let lost = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    #expect(lost.contains("withdraw offer"))
    // Meanwhile nobody is blamed for silence.
    let waiting = script.passUntilSocket(seconds: 20)
    #expect(!waiting.contains { $0.hasPrefix("!") })
    let resumed = script.receive { $0.reconnect = .init() }
    #expect(
      resumed.filter { !$0.hasPrefix("send sync") } == [
        "send mute TR_1 false", "send mute TR_2 false", "send add track recbot-3 voice ", "make offer with new ICE",
        "send offer",
      ])
    #expect(answered(&script) == ["! published 2 as TR_2"])
  }

  @Test func aNewJoinPublishesEverythingAgain() {
    var script = publishing()
    _ = script.receive { $0.leave = .with { ($0.reason, $0.action) = (.serverShutdown, .reconnect) } }
    _ = script.passUntilSocket(seconds: 20)
    let lines = script.receive { $0.join = Script.join([], sid: "PA_2") }
    #expect(
      lines.filter { $0.contains("publisher") || $0.contains("track") || $0.hasPrefix("!") } == [
        "close publisher", "! interrupted 1", "send add track recbot-1 camera 320x180,640x360",
      ])
    #expect(named(&script, 1, "TR_9").contains("open publisher 2"))
  }

  @Test func aWayThatFailsIsGivenUpForANewJoin() {
    for input: PublishingInput in [.failed(generation: 1, "no"), .applied(generation: 1, error: "bad")] {
      var script = publishing()
      #expect(script.handle(.publishing(input)).contains("close socket"))
      #expect(!script.passUntilSocket(seconds: 5).isEmpty)
    }
    // Of a connection before nothing counts.
    var script = publishing()
    #expect(script.handle(.publishing(.transport(generation: 0, .failed))).isEmpty)
    #expect(script.passQuietly(seconds: 5).isEmpty)
  }

  @Test func whoIsSentAwayHearsWhyBeforeTheWayCountsAsFailed() {
    var script = publishing()
    #expect(script.handle(.publishing(.transport(generation: 1, .failed))).isEmpty)
    #expect(script.passQuietly(seconds: 0.6).isEmpty)
    let lines = script.receive { $0.leave = .with { ($0.reason, $0.action) = (.participantRemoved, .disconnect) } }
    #expect(lines.contains("finished removed removed"))
    // Without a word it has failed.
    var silent = publishing()
    #expect(silent.handle(.publishing(.transport(generation: 1, .failed))).isEmpty)
    #expect(silent.passQuietly(seconds: 0.8).contains("close socket"))
  }

  @Test func anOfferWithoutAnAnswerIsNotWaitedForForEver() {
    var script = publishing()
    _ = publish(&script, 2, Self.voice)
    _ = named(&script, 2, "TR_2")
    let lines = script.passQuietly(seconds: 10.1)
    #expect(lines.contains("close socket"))
  }

  @Test func aMessageOpensTheWayForItself() {
    var script = Script()
    script.joined()
    #expect(script.handle(.publishing(.wantData)) == ["open publisher 1", "make offer", "send offer"])
    #expect(script.handle(.publishing(.wantData)).isEmpty)
    #expect(answered(&script).isEmpty)
  }

  @Test func theEndClosesWhatIsPublished() {
    var script = publishing()
    _ = script.handle(.leave)
    let lines = script.handle(.left)
    #expect(lines.contains("close publisher"))
    #expect(publish(&script, 2, Self.voice).isEmpty)
  }

  @Test func aBotPublishesSoMuchAtMost() {
    var script = Script()
    script.joined()
    for number in 1...Publishing.limit { _ = publish(&script, number, Self.voice) }
    #expect(publish(&script, 65, Self.voice) == ["! ended 65 rejected"])
  }

  @Test func whoOnlyPublishesWaitsForNoOffer() {
    var script = Script(receivesMedia: false)
    _ = script.handle(.connect)
    var join = Script.join([])
    join.participant.permission.canSubscribe = false
    let lines = script.receive { $0.join = join }
    #expect(lines.contains("joined"))
    #expect(!script.passQuietly(seconds: 60).contains { $0.hasPrefix("close") || $0.hasPrefix("> lost") })
  }

  /// Tracks come and go, signalling and the room are lost and found, the server is slow: there is never more than one offer, each
  /// track is named to the caller by what the room called it last, and in the end everything that is wanted is published.
  @Test(arguments: 0..<60) func whateverHappensWhatIsWantedIsPublished(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var server = PublishingServer()
    var machine = Publishing()
    var now = Instant.seconds(1000)
    var wanted: Set<Int> = []
    server.take(machine.joined(MediaRequest(iceServers: [], relayOnly: false), at: now), &machine, now)
    for _ in 0..<200 {
      now += .milliseconds(Int64.random(in: 1...400, using: &random))
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1:
        let number = (wanted.max() ?? 0) + Int.random(in: 1...2, using: &random)
        guard number < 40 else { continue }
        wanted.insert(number)
        let track = Bool.random(using: &random) ? Self.camera : Self.voice
        server.take(machine.publish(LocalTrackID(number), track, at: now), &machine, now)
      case 2:
        guard let number = wanted.randomElement(using: &random) else { continue }
        wanted.remove(number)
        server.take(machine.unpublish(LocalTrackID(number)), &machine, now)
      case 3:
        guard let number = wanted.randomElement(using: &random) else { continue }
        server.take(machine.mute(LocalTrackID(number), Bool.random(using: &random)), &machine, now)
      case 4: server.take(machine.wantData(), &machine, now)
      case 5:
        server.lose()
        server.take(machine.lost(), &machine, now)
        server.isOpen = true
        if Bool.random(using: &random) {
          server.take(machine.resumed(at: now), &machine, now)
        } else {
          server.forget()
          server.take(machine.joined(MediaRequest(iceServers: [], relayOnly: false), at: now), &machine, now)
        }
      default: server.answer(&machine, now)
      }
    }
    for _ in 0..<500 { server.answer(&machine, now) }
    #expect(server.published.keys.sorted() == wanted.sorted())
    #expect(machine.takeFailure() == nil)
    #expect(server.faults.isEmpty, "\(server.faults)")
  }

  @Test func textGoesInPieces() {
    let text = String(repeating: "ä", count: 10_000)
    let packets = OutgoingMessage(.text(text), topic: "lk.chat").packets(id: "x", at: 5)
    #expect(packets.count == 4)
    #expect(packets.map(\.streamChunk.chunkIndex)[1...2] == [0, 1])
    #expect(packets[1...2].flatMap { Array($0.streamChunk.content) } == Array(text.utf8))
    #expect(packets[0].streamHeader.totalLength == 20_000)
    #expect(OutgoingMessage(.text(""), topic: "").packets(id: "x", at: 5).count == 2)
    #expect(OutgoingMessage(.data([UInt8](repeating: 0, count: 15_001))).fault != nil)
  }
}

/// The server and the peer connection of what is published, as far as `Publishing` sees them.
private struct PublishingServer {
  var isOpen = true
  var faults: [String] = []
  /// What the caller was told: under which name the room has each track.
  var published: [Int: TrackID] = [:]
  private var waiting: [Livekit_SignalRequest.OneOf_Message] = []
  private var senders: Set<Int> = []
  private var isOffered = false
  private var names = 0

  /// Does what the machine says.
  mutating func take(_ actions: [Publishing.Action], _ machine: inout Publishing, _ now: Instant) {
    for case .perform(let request) in actions {
      switch request {
      case .send(let message):
        if !isOpen { faults.append("sent without signalling") }
        if let message = message.message { waiting.append(message) }
      case .openPublisher: (senders, isOffered) = ([], false)
      case .closePublisher: (senders, isOffered) = ([], false)
      case .addSender(let id, _): if !senders.insert(id.rawValue).inserted { faults.append("a second sender") }
      case .removeSender(let id):
        senders.remove(id.rawValue)
        published[id.rawValue] = nil
      case .makeOffer(let generation, _):
        if isOffered { faults.append("a second offer") }
        isOffered = true
        take(machine.offered(generation, "v=0", at: now), &machine, now)
      case .withdrawOffer: isOffered = false
      case .applyPublisherAnswer(let generation, _):
        if !isOffered { faults.append("an answer without an offer") }
        isOffered = false
        take(machine.applied(generation, error: nil), &machine, now)
      case .tell(.published(let id, let sid)):
        if !senders.contains(id.rawValue) { faults.append("published without a sender") }
        published[id.rawValue] = sid
      case .tell(.interrupted(let id)): published[id.rawValue] = nil
      case .tell(.ended(let id, let error)): faults.append("\(id.rawValue): \(error)")
      default: break
      }
    }
  }

  /// Answers what waited longest.
  mutating func answer(_ machine: inout Publishing, _ now: Instant) {
    guard !waiting.isEmpty else { return }
    switch waiting.removeFirst() {
    case .addTrack(let request):
      names += 1
      let name = "TR_\(names)"
      let response = Livekit_TrackPublishedResponse.with { ($0.cid, $0.track.sid) = (request.cid, name) }
      take(machine.receive(.trackPublished(response), at: now) ?? [], &machine, now)
    case .offer: take(machine.receive(.answer(.with { $0.sdp = "v=0" }), at: now) ?? [], &machine, now)
    default: break
    }
  }

  /// Signalling is lost, and with it what was on its way.
  mutating func lose() { (isOpen, waiting) = (false, []) }

  /// The session is forgotten.
  mutating func forget() { published = [:] }
}
