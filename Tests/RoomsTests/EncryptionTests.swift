import FrameEncryption
import MediaCore
import Session
import Signaling
import Testing

@testable import Rooms

/// What a session makes of a room that is encrypted end to end.
@Suite struct EncryptionTests {
  private func person(_ identity: String, tracks: [String], version: UInt32 = 1) -> Livekit_ParticipantInfo {
    var person = Script.person(identity, version: version, tracks: tracks)
    for index in person.tracks.indices { person.tracks[index].encryption = .gcm }
    return person
  }

  /// What comes in AV1 would not even make frames: the announcement says it.
  @Test func aCodecWithoutACommonFormIsToldOnceItIsAnnounced() {
    var script = Script(keys: keys)
    var anna = person("anna", tracks: ["TR_V1", "TR_V2"])
    anna.tracks[0].mimeType = "video/av1"
    anna.tracks[1].mimeType = "video/VP9"
    script.joined([anna], tracks: ["0": "TR_V1", "1": "TR_V2"])
    #expect(
      script.session.room.report.announced.tracks.mapValues(\.obstacle) == [
        TrackID("TR_V1"): .encrypted, TrackID("TR_V2"): nil,
      ])
    #expect(script.logs.filter { $0.contains("encrypted end to end in AV1") }.count == 1)
    anna.version = 2
    anna.tracks[0].mimeType = "video/H264"
    #expect(script.receive { $0.update.participants = [anna] } == ["> track TR_V1 anna"])
    #expect(script.receive { $0.update.participants = [person("anna", tracks: [], version: 3)] }.count == 3)
    #expect(script.session.room.report.roster.encryptedCodecs.isEmpty)
  }

  private var keys: FrameKeys {
    var keys = FrameKeys()
    keys.own = ["anna": [0: [1]], "ben": [0: [2]]]
    return keys
  }

  @Test func withAKeyATrackIsShownAndHeard() {
    var script = Script(keys: keys)
    script.joined(
      [person("anna", tracks: ["TR_V1"]), person("cleo", tracks: ["TR_V3"])], tracks: ["0": "TR_V1", "1": "TR_V3"])
    #expect(
      script.session.room.report.announced.tracks.mapValues(\.obstacle) == [
        TrackID("TR_V1"): nil, TrackID("TR_V3"): .encrypted,
      ])
    #expect(
      script.logs.filter { $0.contains("encrypted") } == [
        "warning the camera of cleo (TR_V3) is not received: it is encrypted end to end, and the key file has no key for "
          + "'cleo'"
      ])
  }

  /// It is told once, goes on being received, and comes back by itself.
  @Test func aWrongKeyIsToldOnce() {
    var script = Script(keys: keys)
    script.joined([person("anna", tracks: ["TR_V1"])], tracks: ["0": "TR_V1"])
    let track = TrackID("TR_V1")
    #expect(script.handle(.unreadable(track, "it has another key")) == ["> track TR_V1 anna encrypted"])
    #expect(script.handle(.unreadable(track, "it has another key")) == [])
    #expect(
      script.receive { $0.update.participants = [person("anna", tracks: ["TR_V1"], version: 2)] } == [])
    #expect(script.session.room.report.bound == [MID("0"): track], "what comes is looked at all the same")
    #expect(script.handle(.unreadable(track, nil)) == ["> track TR_V1 anna"])
    #expect(script.handle(.unreadable(track, "it has another key")) == ["> track TR_V1 anna encrypted"])
    #expect(script.logs.filter { $0.contains("another key") }.count == 2)
    // What is said of a track that is not encrypted, or is gone, means nothing.
    #expect(script.handle(.unreadable(TrackID("TR_V9"), "it has another key")) == [])
    #expect(script.receive { $0.update.participants = [person("anna", tracks: [], version: 3)] }.count == 2)
    #expect(script.session.room.report.unreadable.isEmpty)
  }

  private func message(_ sequence: UInt32) -> [UInt8] {
    SignalCoding.encode(
      Livekit_DataPacket.with {
        ($0.participantSid, $0.participantIdentity, $0.sequence) = ("PA_anna", "anna", sequence)
        $0.encryptedPacket = .with {
          ($0.iv, $0.keyIndex) = (.init(1...12), 0)
          $0.encryptedValue = .init(repeating: 7, count: 40)
        }
      }, asText: false)
  }

  @Test func anEncryptedMessageIsHandedOutAndComesBackDecrypted() {
    var script = Script(keys: keys)
    script.joined([person("anna", tracks: [])])
    let generation = script.session.media.generation
    #expect(
      script.handle(.data(generation: generation, message(1), isReliable: true)) == ["decrypt 40 of anna"])
    #expect(script.handle(.data(generation: generation, message(1), isReliable: true)) == [], "it came before")
    let content = SignalCoding.encode(
      Livekit_EncryptedPacketPayload.with {
        $0.chatMessage = .with { ($0.id, $0.message) = ("c1", "hello") }
      }, asText: false)
    #expect(
      script.handle(.decrypted(generation: generation, content, from: ParticipantIdentity("anna"))) == [
        "> chat anna: hello"
      ])
    #expect(script.handle(.decrypted(generation: generation, [0xff, 0xff], from: ParticipantIdentity("anna"))) == [])
    for _ in 0..<3 {
      #expect(script.handle(.decrypted(generation: generation, nil, from: ParticipantIdentity("anna"))) == [])
    }
    #expect(script.logs.filter { $0.contains("messages are encrypted") }.count == 1)
  }

  @Test func withoutKeysMessagesAreToldOfOnce() {
    var script = Script()
    script.joined([person("anna", tracks: [])])
    for sequence in 1...3 {
      #expect(
        script.handle(.data(generation: script.session.media.generation, message(UInt32(sequence)), isReliable: true))
          == [])
    }
    #expect(script.logs.filter { $0.contains("--e2ee-key-file") }.count == 1)
  }
}
