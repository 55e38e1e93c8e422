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
    for input: PublishingInput in [
      .transport(generation: 1, .failed), .failed(generation: 1, "no"), .applied(generation: 1, error: "bad"),
    ] {
      var script = publishing()
      #expect(script.handle(.publishing(input)).contains("close socket"))
      #expect(!script.passUntilSocket(seconds: 5).isEmpty)
    }
    // Of a connection before nothing counts.
    var script = publishing()
    #expect(script.handle(.publishing(.transport(generation: 0, .failed))).isEmpty)
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
