import Logging
import MediaCore
import PeerConnection
import Platform
import Session
import Signaling
import Synchronization
import SystemKit
import Testing
import Transport

@testable import RoomServer
@testable import Rooms

/// The recorder's client and a publisher against the room server's faults, over real sockets on loopback: whether
/// sessions are resumed, and what happens to the media meanwhile.
@Suite(.serialized) struct ServerFaultTests {
  /// A server, somebody who sends numbered sound and pictures, and a bot that receives them.
  final class Stage: Sendable {
    let server: EmbeddedRoomServer
    let url: String
    let loop = MediaLoop(name: "test")
    let sink = NumberingSink()
    let bot: LiveKitRoomClient
    private let counter = Atomic<Int>(0)

    /// How many sounds have been sent.
    var sent: Int { counter.load(ordering: .relaxed) }

    init(_ change: (inout EmbeddedRoomServer.Configuration) -> Void = { _ in }) throws {
      var configuration = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": "secret"])
      configuration.port = 0
      change(&configuration)
      server = EmbeddedRoomServer(configuration: configuration, logger: LoopbackTests.quiet)
      url = "ws://127.0.0.1:\(try server.start())"
      var options = RoomOptions(
        url: url,
        tokens: .minted(apiKey: "devkey", apiSecret: "secret", room: "lobby", identity: "bot", name: "Recorder"))
      options.localAddresses = ["127.0.0.1"]
      bot = LiveKitRoomClient(options: options, loop: loop, sink: sink, logger: LoopbackTests.quiet)
    }

    /// Lets both in; returns when sound and pictures arrive.
    func begin() async throws {
      let grant = VideoGrant(room: "lobby", roomJoin: true, canSubscribe: false)
      let token = AccessToken(apiKey: "devkey", identity: "ann", video: grant, now: 0, lifetime: 4_000_000_000)
      var options = RoomOptions(url: url, tokens: .given(try token.signed(secret: "secret")))
      options.localAddresses = ["127.0.0.1"]
      options.receivesMedia = false
      // Who is thrown out stays out.
      options.reconnect.allowsReconnect = false
      let publisher = options.makePublisher(loop: loop, sink: NumberingSink(), logger: LoopbackTests.quiet)
      try await publisher.join()
      let voice = publisher.publish(.init(name: "voice", source: .microphone, codec: .opus))
      let camera = publisher.publish(
        .init(name: "camera", source: .camera, codec: .vp8, layers: [.init(width: 64, height: 48, bitrate: 100_000)]))
      loop.post { [self] in
        var number: UInt32 = 0
        loop.timer(after: .milliseconds(20), repeats: true) { [weak self] in
          number += 1
          self?.counter.store(Int(number), ordering: .relaxed)
          Self.send(number, voice, [0xf8], ticks: 960, by: publisher)
          // A VP8 keyframe's head (RFC 6386 section 9.1): nobody here decodes it.
          if number % 5 == 0 {
            Self.send(number, camera, [0x10, 0, 0, 0x9d, 1, 0x2a, 64, 0, 48, 0], ticks: 1800, by: publisher)
          }
        }
      }
      try await bot.join()
      #expect(await eventually { self.sink.count(.audio) > 5 && self.sink.count(.video) > 2 })
    }

    private static func send(
      _ number: UInt32, _ track: LocalTrackID, _ head: [UInt8], ticks: UInt32, by publisher: any RoomPublisher
    ) {
      let bytes = head + (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
      publisher.send(
        MediaBuffer(bytes), of: track, layer: 0, rtpTime: number &* ticks, capturedAt: MonotonicClock.now,
        audioLevel: nil, isVoice: false)
    }

    /// The bot's name in the session that the server has of it; nil when there is none.
    var sid: String? {
      guard let directory = server.directory else { return nil }
      return directory.loop.sync { directory.room("lobby")?.participant(identity: "bot")?.sid }
    }

    /// True while the bot's session has a signal connection.
    var hasSignal: Bool {
      guard let directory = server.directory else { return false }
      return directory.loop.sync { directory.room("lobby")?.participant(identity: "bot")?.connection != nil }
    }

    /// True when more of a kind arrives from now on.
    func flows(_ kind: MediaKind) async -> Bool {
      let before = sink.count(kind)
      return await eventually { self.sink.count(kind) > before + 3 }
    }

    func end() {
      bot.leave()
      loop.stop()
      server.stop()
    }
  }

  /// Keeps the numbers of the frames that arrive, and what is told.
  final class NumberingSink: SessionSink {
    private let numbers = Mutex<[MediaKind: [UInt32]]>([:])
    private let events = Mutex<[RoomEvent]>([])

    func put(_ payload: SessionEvent.Payload) {
      switch payload {
      case .room(let event): events.withLock { $0.append(event) }
      case .frame(let frame, _):
        let bytes = frame.payload.bytes.suffix(4)
        guard bytes.count == 4 else { return }
        let number = bytes.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        numbers.withLock { $0[frame.codec.kind, default: []].append(number) }
      }
    }

    var texts: [String] { events.withLock { $0.map(Script.text) } }
    func numbers(_ kind: MediaKind) -> [UInt32] { numbers.withLock { $0[kind] ?? [] } }
    func count(_ kind: MediaKind) -> Int { numbers(kind).count }

    /// How many numbers are missing between the first and the last.
    func missing(_ kind: MediaKind) -> Int {
      let all = Set(numbers(kind))
      guard let first = all.min(), let last = all.max() else { return 0 }
      return Int(last - first) + 1 - all.count
    }
  }

  @Test func aLostSignalIsResumedWithoutAnyLossOfMedia() async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(300))
    #expect(!stage.hasSignal)
    #expect(await eventually { stage.hasSignal })
    #expect(await stage.flows(.audio))
    #expect(await stage.flows(.video))
    #expect(stage.sid == sid && sid != nil)
    #expect(stage.sink.missing(.audio) == 0)
    #expect(!stage.sink.texts.contains { $0.hasPrefix("lost") }, "\(stage.sink.texts)")
    stage.end()
  }

  @Test func aRestartThatForgetsNothingIsResumed() async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.restart(wipe: false)
    #expect(await eventually { stage.hasSignal })
    #expect(stage.sid == sid && sid != nil)
    stage.end()
  }

  @Test func mediaGoesOnAfterTheRestartOfICEThatAResumeBrings() async throws {
    let stage = try Stage()
    try await stage.begin()
    // The first pair of the connection must not be what carries the media now.
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(100))
    #expect(await eventually { stage.hasSignal })
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(100))
    #expect(await eventually { stage.hasSignal })
    try stage.server.testing.cutMedia(room: "lobby", identity: "bot", for: .milliseconds(200))
    #expect(await stage.flows(.audio))
    #expect(await stage.flows(.video))
    stage.end()
  }

  @Test func cutMediaIsLostAndNothingElse() async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.cutMedia(room: "lobby", identity: "bot")
    // Time by the publisher's own count; a sound or two may have been on the way.
    let begin = (sent: stage.sent, received: stage.sink.count(.audio))
    #expect(await eventually { stage.sent > begin.sent + 20 })
    #expect(stage.sink.count(.audio) < begin.received + 10)
    try stage.server.testing.restore()
    #expect(await stage.flows(.audio))
    #expect(await stage.flows(.video))
    #expect(stage.sid == sid && stage.hasSignal)
    stage.end()
  }

  @Test func aLossOfBothIsResumedToo() async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.cutMedia(room: "lobby", identity: "bot", for: .milliseconds(500))
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(500))
    #expect(await eventually { stage.hasSignal })
    #expect(await stage.flows(.audio))
    #expect(stage.sid == sid)
    stage.end()
  }

  @Test func whoLeftWhileTheSignalWasLostIsTold() async throws {
    let stage = try Stage()
    try await stage.begin()
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(300))
    try stage.server.testing.kick(room: "lobby", identity: "ann")
    #expect(await eventually { stage.sink.texts.contains("left ann") })
    #expect(!stage.sink.texts.contains { $0.hasPrefix("lost") })
    stage.end()
  }

  @Test func aResumeAfterTheServersPatienceIsANewSession() async throws {
    let stage = try Stage { $0.resumeTimeout = 0 }
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.cutSignal(room: "lobby", identity: "bot", for: .milliseconds(400))
    #expect(await eventually { stage.sid != nil && stage.sid != sid })
    #expect(await stage.flows(.audio))
    #expect(stage.sink.texts.contains("restored"))
    stage.end()
  }

  @Test func aForgottenSessionIsJoinedAnew() async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.restart()
    #expect(await eventually { stage.sid != nil && stage.sid != sid })
    #expect(await eventually { stage.sink.texts.contains("restored") })
    #expect(stage.sink.texts.contains("left ann"))
    stage.end()
  }

  @Test func pausedStreamsStopAndFlowAgain() async throws {
    let stage = try Stage()
    try await stage.begin()
    try stage.server.testing.pauseStreams(room: "lobby", identity: "bot", paused: true)
    #expect(await eventually { stage.sink.texts.contains { $0.hasPrefix("paused ") && $0.hasSuffix("true") } })
    let paused = stage.sink.count(.video)
    #expect(await stage.flows(.audio))
    #expect(stage.sink.count(.video) <= paused + 1)
    try stage.server.testing.pauseStreams(room: "lobby", identity: "bot", paused: false)
    #expect(await stage.flows(.video))
    #expect(stage.sink.texts.last { $0.hasPrefix("paused ") }?.hasSuffix("false") == true, "\(stage.sink.texts)")
    stage.end()
  }

  @Test(arguments: [Livekit_LeaveRequest.Action.resume, .reconnect])
  func aMigrationLeadsBack(action: Livekit_LeaveRequest.Action) async throws {
    let stage = try Stage()
    try await stage.begin()
    let sid = stage.sid
    try stage.server.testing.migrate(room: "lobby", identity: "bot", action: action)
    #expect(await eventually { stage.hasSignal && (stage.sid == sid) == (action == .resume) })
    #expect(await stage.flows(.audio))
    stage.end()
  }
}
