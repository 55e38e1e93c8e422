import Logging
import MediaCore
import PeerConnection
import Platform
import RoomServer
import Session
import Signaling
import Synchronization
import SystemKit
import Testing
import Transport

@testable import Rooms

/// Two peers over the real mailbox and real transport on loopback.
@Suite(.serialized) struct PeerLoopbackTests {
  /// A room server, a loop, and the peers on it.
  final class Booth: Sendable {
    let server: EmbeddedRoomServer
    let port: Int
    let loop = MediaLoop(name: "peers")

    init() throws {
      var configuration = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": "secret"])
      configuration.port = 0
      server = EmbeddedRoomServer(configuration: configuration, logger: LoopbackTests.quiet)
      port = try server.start()
    }

    func client(
      _ identity: String, as role: PeerRole?, room: String = "booth", profile: PeerProfile = .recorder,
      sink: CollectingSink = CollectingSink()
    ) throws -> PeerRoomClient {
      let tokens = TokenSource.minted(
        apiKey: "devkey", apiSecret: "secret", room: room, identity: identity, name: identity)
      var options = RoomOptions(url: "ws://127.0.0.1:\(port)", tokens: tokens, seed: 1)
      options.localAddresses = ["127.0.0.1"]
      return PeerRoomClient(
        room: room, role: role, profile: profile,
        mailbox: try HTTPMailbox(url: options.url, room: room, tokens: tokens), options: options, loop: loop,
        sink: sink, logger: LoopbackTests.quiet)
    }

    func isUp(_ client: PeerRoomClient) -> Bool { loop.sync { client.machine.media.isUp } }

    /// Waits until both are connected, 20 s at most.
    func connected(_ a: PeerRoomClient, _ b: PeerRoomClient) async -> Bool {
      await eventually { self.isUp(a) && self.isUp(b) }
    }

    func close() {
      loop.stop()
      server.stop()
    }
  }

  /// Two peers that join one after the other.
  func connect(
    _ booth: Booth, first: (String, PeerRole?), second: (String, PeerRole?), pause: Duration
  ) async throws -> (PeerRoomClient, PeerRoomClient) {
    let a = try booth.client(first.0, as: first.1)
    let b = try booth.client(second.0, as: second.1)
    if pause == .zero {
      async let joined: Void = a.join()
      try await b.join()
      try await joined
    } else {
      try await a.join()
      try await Task.sleep(for: pause)
      try await b.join()
    }
    #expect(await booth.connected(a, b))
    return (a, b)
  }

  @Test func simultaneousConnection() async throws {
    let booth = try Booth()
    _ = try await connect(booth, first: ("host", .host), second: ("guest", .guest), pause: .zero)
    booth.close()
  }

  @Test func guestConnectingFirst() async throws {
    let booth = try Booth()
    _ = try await connect(booth, first: ("guest", .guest), second: ("host", .host), pause: .milliseconds(300))
    booth.close()
  }

  @Test func hostConnectingFirst() async throws {
    let booth = try Booth()
    _ = try await connect(booth, first: ("host", .host), second: ("guest", .guest), pause: .milliseconds(300))
    booth.close()
  }

  @Test func hostDisconnected() async throws {
    try await disconnected(role: .host)
  }

  @Test func guestDisconnected() async throws {
    try await disconnected(role: .guest)
  }

  /// One side is cut off without a word and begins again as somebody with the same identity.
  func disconnected(role: PeerRole) async throws {
    let booth = try Booth()
    let (a, b) = try await connect(
      booth, first: (role.rawValue, role), second: (role.other.rawValue, role.other), pause: .zero)
    booth.loop.sync { a.media?.close() }
    let again = try booth.client(role.rawValue, as: role)
    try await again.join()
    #expect(await booth.connected(again, b))
    booth.close()
  }

  /// Twenty rooms in which two peers come at any time, in any role.
  @Test func randomConnectionScheme() async throws {
    let booth = try Booth()
    for group in 0..<5 {
      await withTaskGroup(of: Void.self) { tasks in
        for number in 0..<4 {
          let seed = UInt64(group * 4 + number)
          tasks.addTask { await Self.scheme(seed, booth) }
        }
      }
    }
    booth.close()
  }

  static func scheme(_ seed: UInt64, _ booth: Booth) async {
    var random = SeededRandom(seed: seed)
    let schemes: [(PeerRole?, PeerRole?)] = [(.host, .guest), (nil, nil), (.host, nil), (nil, .guest), (nil, .host)]
    let roles = schemes[Int.random(in: 0..<schemes.count, using: &random)]
    let delays = (Int.random(in: 0...400, using: &random), Int.random(in: 0...400, using: &random))
    do {
      let a = try booth.client("ann", as: roles.0, room: "room \(seed)")
      let b = try booth.client("bot", as: roles.1, room: "room \(seed)")
      async let first: Void = { () async throws in
        try await Task.sleep(for: .milliseconds(delays.0))
        try await a.join()
      }()
      try await Task.sleep(for: .milliseconds(delays.1))
      try await b.join()
      try await first
      #expect(await booth.connected(a, b), "seed \(seed): \(roles) after \(delays)")
      a.leave()
      #expect(await eventually { booth.loop.sync { b.machine.phase == .ended } }, "seed \(seed): no goodbye")
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  @Test(arguments: [PeerRole.host, .guest])
  func whatIsSentIsReceivedBothWaysAndSurvivesAResetOfTheFlow(bot role: PeerRole) async throws {
    let booth = try Booth()
    let (sink, other) = (CollectingSink(), CollectingSink())
    let profile = PeerSendingTests.speaker
    let bot = try booth.client("bot", as: role, profile: profile, sink: sink)
    let ann = try booth.client("ann", as: role.other, profile: profile, sink: other)
    let sender = Sender(on: booth.loop, [bot, ann])
    try await bot.join()
    try await ann.join()
    #expect(await eventually { sink.frames(of: "ann/camera/1") > 5 && sink.frames(of: "ann/microphone/1") > 5 })
    #expect(await eventually { other.frames(of: "bot/camera/1") > 5 && other.frames(of: "bot/microphone/1") > 5 })
    let sent = await bot.statistics(of: LocalTrackID(1))
    #expect(sent.map { $0.packets > 5 } == true)
    #expect(await bot.statistics(of: LocalTrackID(3)) == nil)
    booth.loop.sync { ann.media?.close() }
    #expect(await eventually { sink.texts.contains { $0.hasPrefix("lost") } })
    #expect(await eventually { sink.frames(of: "ann/camera/2") > 5 && other.frames(of: "bot/camera/2") > 5 })
    #expect(sink.texts.contains("restored"))
    booth.loop.sync { sender.stop() }
    ann.leave()
    #expect(await eventually { sink.texts.last == "ended roomEnded" })
    #expect(sink.texts.contains("left ann"))
    booth.close()
  }

  @Test func tokensAreCheckedForTheRoom() async throws {
    let booth = try Booth()
    func refusal(room: String, secret: String = "secret") async -> RoomError.Kind? {
      let tokens = TokenSource.minted(
        apiKey: "devkey", apiSecret: secret, room: "booth", identity: "bot", name: "bot")
      let options = RoomOptions(url: "ws://127.0.0.1:\(booth.port)", tokens: tokens)
      do throws(RoomError) {
        let client = try PeerRoomClient(
          room: room, role: nil, options: options, loop: booth.loop, sink: CollectingSink(),
          logger: LoopbackTests.quiet)
        try await client.join()
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(await refusal(room: "booth") == nil)
    #expect(await refusal(room: "another") == .notPermitted)
    #expect(await refusal(room: "booth", secret: "wrong") == .unauthorized)
    booth.close()
  }

  @Test func theThirdIsToldThatTheRoomIsFull() async throws {
    let booth = try Booth()
    _ = try await connect(booth, first: ("ann", nil), second: ("bot", nil), pause: .zero)
    let third = try booth.client("carl", as: nil)
    let error = await #expect(throws: RoomError.self) { try await third.join() }
    #expect(error?.kind == .roomFull)
    booth.close()
  }
}

// Sendable: touched on the loop only.
/// Sends frames of the tracks 1 (sound) and 2 (pictures) of some peers on and on: keyframes of 16x16 that no decoder has to like.
private final class Sender: @unchecked Sendable {
  private static let sound = MediaBuffer([0xf8, 0xff, 0xfe])
  private static let keyframe = MediaBuffer(
    [0x10, 0, 0, 0x9d, 0x01, 0x2a, 16, 0, 16, 0] + [UInt8](repeating: 7, count: 90))
  private var count: UInt32 = 0
  private var timer: LoopTimer?

  init(on loop: MediaLoop, _ peers: [PeerRoomClient]) {
    loop.sync { self.timer = loop.timer(after: .milliseconds(20), repeats: true) { [self] in send(by: peers) } }
  }

  func stop() { timer?.cancel() }

  private func send(by peers: [PeerRoomClient]) {
    count += 1
    for (index, (frame, ticks)) in [(Self.sound, UInt32(960)), (Self.keyframe, 1800)].enumerated() {
      for peer in peers {
        peer.send(
          frame, of: LocalTrackID(index + 1), layer: 0, rtpTime: count &* ticks, capturedAt: MonotonicClock.now,
          audioLevel: nil, isVoice: false)
      }
    }
  }
}
