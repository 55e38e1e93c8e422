import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

/// What the bot asks of the server for its tracks, and what it hears of data and bandwidth.
@Suite struct ReceptionSessionTests {
  private let camera = TrackID("TR_V1")

  private func room() -> Script {
    var script = Script()
    script.joined([Script.person("ann", tracks: ["TR_V1", "TR_A1"])], tracks: ["0": "TR_V1", "1": "TR_A1"])
    return script
  }

  @Test func wishesAreSentAndTheRecordingIsToldWhatIsWanted() {
    var script = room()
    #expect(
      script.handle(.receive([ReceptionWish(track: camera, reception: .wanted, width: 640, height: 360, priority: 1)]))
        == ["send setting TR_V1 640x360 1"])
    #expect(
      script.handle(.receive([ReceptionWish(track: camera, reception: .lowBandwidth)]))
        == ["send setting TR_V1 off 0", "> reception TR_V1 lowBandwidth"])
    #expect(
      script.handle(.receive([ReceptionWish(track: camera, reception: .wanted)]))
        == ["send setting TR_V1 0x0 0", "> reception TR_V1 wanted"])
    #expect(script.handle(.receive([ReceptionWish(track: TrackID("TR_V9"), reception: .hidden)])).isEmpty)
  }

  @Test func wishesAreSaidAgainAfterARejoinAndForgottenWithTheirTracks() {
    var script = room()
    _ = script.handle(.receive([ReceptionWish(track: camera, reception: .hidden)]))
    _ = script.handle(.socketClosed(attempt: script.session.signal.attempt, "gone"))
    _ = script.pass(seconds: 30)
    let lines = script.receive { $0.join = Script.join([Script.person("ann", tracks: ["TR_V1"])], sid: "PA_2") }
    #expect(lines.contains("send setting TR_V1 off 0"), "\(lines)")
    _ = script.receive { $0.update.participants = [Script.person("ann", version: 2, tracks: [])] }
    #expect(script.session.room.report.wishes.isEmpty)
  }

  @Test func aBotWithoutMediaSubscribesToNothing() {
    var script = Script(receivesMedia: false)
    let lines = script.handle(.connect)
    #expect(lines.first?.contains("auto_subscribe=0") == true, "\(lines)")
    _ = script.receive { $0.join = Script.join([Script.person("ann", tracks: ["TR_V1"])]) }
    #expect(script.handle(.subscribe(camera)).isEmpty)
  }

  @Test func onlyWhatIsSelectedIsReceivedAndThere() {
    var selection = RoomSelection()
    selection.participant = ParticipantIdentity("ann")
    selection.sources = [.camera]
    var script = Script(selection: selection)
    #expect(script.handle(.connect).first?.contains("auto_subscribe=0") == true)
    let people = [Script.person("ann", tracks: ["TR_V1", "TR_A1"]), Script.person("bob", tracks: ["TR_V2"])]
    let lines = script.receive { $0.join = Script.join(people) }
    let asked = lines.filter { $0.hasPrefix("send subscribe") }
    #expect(asked == ["send subscribe [\"TR_V1\"] [\"PA_ann\"] true"], "\(lines)")
    #expect(lines.contains("> participant ann") && !lines.contains { $0.contains("bob") || $0.contains("TR_A1") })
    _ = script.offer(["0": "TR_V1"])
    #expect(script.session.room.report.current.subscribed == [TrackID("TR_V1")])
    // Somebody else publishes; then ann's camera comes anew.
    #expect(script.receive { $0.update.participants = [Script.person("bob", version: 2, tracks: ["TR_V3"])] }.isEmpty)
    let again = script.receive { $0.update.participants = [Script.person("ann", version: 2, tracks: ["TR_V4"])] }
    #expect(again.contains("send subscribe [\"TR_V4\"] [\"PA_ann\"] true"), "\(again)")
    #expect(script.receive { $0.update.participants = [Script.person("ann", version: 3, tracks: ["TR_V4"])] }.isEmpty)
  }

  @Test func whoPublishesNothingSelectedIsNotThere() {
    var selection = RoomSelection()
    selection.tracks = [TrackID("TR_V2")]
    var script = Script(selection: selection)
    _ = script.handle(.connect)
    let people = [Script.person("ann", tracks: ["TR_V1"]), Script.person("bob", tracks: ["TR_V2", "TR_A2"])]
    let lines = script.receive { $0.join = Script.join(people) }
    #expect(lines.contains("send subscribe [\"TR_V2\"] [\"PA_bob\"] true"), "\(lines)")
    #expect(lines.contains("> participant bob"))
    #expect(!lines.contains { $0.contains("ann") || $0.contains("TR_A2") })
    let gone = script.receive { $0.update.participants = [Script.person("bob", version: 2, tracks: ["TR_A2"])] }
    #expect(gone.contains("> left bob"), "\(gone)")
  }

  @Test func chatIsHeardAndDamageIsNot() throws {
    var script = room()
    let packet = Livekit_DataPacket.with {
      $0.participantIdentity = "ann"
      $0.value = .chatMessage(.with { ($0.id, $0.message) = ("1", "hello") })
    }
    let bytes: [UInt8] = try packet.serializedBytes()
    let generation = script.session.media.generation
    #expect(script.handle(.data(generation: generation, bytes, isReliable: true)) == ["> chat ann: hello"])
    #expect(script.handle(.data(generation: generation - 1, bytes, isReliable: true)).isEmpty)
    #expect(script.handle(.data(generation: generation, [0xff, 1, 2], isReliable: true)).isEmpty)
    let large = [UInt8](repeating: 0, count: MessageReceiver.messageLimit + 1)
    #expect(script.handle(.data(generation: generation, large, isReliable: false)).isEmpty)
  }

  @Test func reportsCarryTheServersWordOnOurConnection() {
    var script = room()
    let report = NetworkReport(incoming: 1000)
    let generation = script.session.media.generation
    #expect(script.handle(.network(generation: generation, report)) == ["> network 1000 unknown"])
    _ = script.receive {
      $0.connectionQuality.updates = [
        .with { ($0.participantSid, $0.quality) = ("PA_ann", .lost) },
        .with { ($0.participantSid, $0.quality) = ("PA_me", .poor) },
      ]
    }
    #expect(script.handle(.network(generation: generation, report)) == ["> network 1000 poor"])
    #expect(script.handle(.network(generation: generation - 1, report)).isEmpty)
  }
}
