import MediaCore
import Session
import SystemKit
import Testing

@testable import RecbotKit

/// Two bots in a room of two, with the embedded server's mailbox, over real sockets on loopback.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PeerRoomTests {
  static func join(
    _ test: TestRoom, _ identity: String, as role: PeerRole? = nil, _ tracks: [PeerTrack] = []
  ) async throws -> PeerRoom {
    var options = PeerConnectOptions()
    options.localAddresses = ["127.0.0.1"]
    options.logger = TestRoom.quiet
    return try await PeerRoom.connect(
      url: "ws://127.0.0.1:\(test.port)", room: "lobby", as: role, token: TestRoom.token(identity),
      publishing: tracks, options: options)
  }

  static func painter() -> LocalVideoTrack {
    LocalVideoTrack(capturer: Painter(dimensions: .init(width: 960, height: 540)))
  }

  @Test(arguments: [VideoPublishOptions.Codec.vp8, .vp9])
  func twoBotsSeeAndHearEachOtherUntilOneSaysGoodbye(_ codec: VideoPublishOptions.Codec) async throws {
    let test = try TestRoom()
    defer { test.stop() }
    var options = VideoPublishOptions()
    options.codec = codec
    let ann = try await Self.join(
      test, "ann", as: .host, [.audio(LocalAudioTrack(capturer: Tone())), .video(Self.painter(), options: options)])
    #expect(ann.remoteParticipant == nil && ann.connectionState == .connected && ann.name == "lobby")
    let bob = try await Self.join(test, "bob", [.video(Self.painter()), .audio(LocalAudioTrack(capturer: Tone()))])
    for (room, other) in [(ann, "bob"), (bob, "ann")] {
      let events = Events(of: room.events)
      let video = try #require(await events.video())
      #expect(video.participant == ParticipantIdentity(other))
      for await frame in video.frames() {
        #expect(frame.dimensions == Dimensions(width: 960, height: 540))
        break
      }
      let audio = try #require(await events.audio())
      for await block in audio.blocks() where block.samples.contains(where: { $0.magnitude > 0.3 }) { break }
      #expect(await events.first { if case .localTrackPublished(let own) = $0 { own.id } else { nil } } != nil)
      #expect(room.remoteParticipant?.identity == ParticipantIdentity(other))
      let report = await room.reportStatistics()
      #expect(report.local.count == 2 && report.local.values.allSatisfy { $0.packets > 0 })
      #expect(report.remote[video.id].map { $0.frames > 0 } == true)
    }
    let atBob = Events(of: bob.events)
    let voice = try #require(ann.publications.first)
    voice.mute()
    let heard = try #require(bob.remoteParticipant?.tracks.first { if case .audio = $0 { true } else { false } })
    #expect(await atBob.change(of: heard.id, isEnabled: false))
    voice.unmute()
    #expect(await atBob.change(of: heard.id, isEnabled: true))
    await ann.disconnect()
    let end = await atBob.first { if case .connectionStateChanged(.disconnected(let end)) = $0 { end } else { nil } }
    #expect(end == .roomEnded)
    await bob.disconnect()
    #expect(bob.publications.isEmpty && voice.id == nil)
  }

  @Test func whatCannotBeSentIsToldBeforeTheSeatIsTakenAndUsesNoTrackUp() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let camera = Self.painter()
    let screen = LocalVideoTrack(
      name: "slides", source: .screenShare, capturer: Painter(dimensions: .init(width: 320, height: 180)))
    for tracks in [[.video(camera), .video(Self.painter())], [.video(screen)]] as [[PeerTrack]] {
      let error = await #expect(throws: RoomError.self) { _ = try await Self.join(test, "ann", tracks) }
      #expect(error?.kind == .rejected)
    }
    let ann = try await Self.join(test, "ann", [.video(camera), .video(screen)])
    let twice = await #expect(throws: RoomError.self) { _ = try await Self.join(test, "bob", [.video(camera)]) }
    #expect(twice?.remedy.contains("clone") == true)
    let bob = try await Self.join(test, "bob", [.video(camera.clone())])
    // A third has no seat, and may use its track elsewhere.
    let third = Self.painter()
    let full = await #expect(throws: RoomError.self) { _ = try await Self.join(test, "cat", [.video(third)]) }
    #expect(full?.kind == .roomFull)
    await bob.disconnect()
    await ann.disconnect()
    let again = try await Self.join(test, "ann", [.video(third)])
    await again.disconnect()
  }

  @Test func whoLetsTheRoomGoLeavesIt() async throws {
    let test = try TestRoom()
    defer { test.stop() }
    let ann = try await Self.join(test, "ann")
    do {
      let bob = try await Self.join(test, "bob", [.audio(LocalAudioTrack(capturer: Tone()))])
      #expect(await eventually { bob.remoteParticipant != nil })
    }
    for await _ in ann.events {}
    guard case .disconnected(.roomEnded) = ann.connectionState else {
      Issue.record("\(ann.connectionState)")
      return
    }
  }
}
