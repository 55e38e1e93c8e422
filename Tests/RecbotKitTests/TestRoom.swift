import Logging
import MediaCore
import RoomServer
import Signaling
import Synchronization
import SystemKit

@testable import RecbotKit

/// An embedded room server on loopback, and bots in its room.
struct TestRoom {
  static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  let server: EmbeddedRoomServer
  let port: Int

  init(port: Int = 0) throws {
    var configuration = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": "secret"])
    configuration.port = port
    server = EmbeddedRoomServer(configuration: configuration, logger: Self.quiet)
    self.port = try server.start()
  }

  /// On a port below the range that the system hands out to others: it stays free while the server is down.
  static func restartable() throws -> TestRoom {
    for _ in 0..<50 {
      if let room = try? TestRoom(port: Int.random(in: 20_000..<30_000)) { return room }
    }
    return try TestRoom()
  }

  func stop() { server.stop() }

  static func token(_ identity: String, _ change: (inout VideoGrant) -> Void = { _ in }) throws -> String {
    var grant = VideoGrant(room: "lobby", roomJoin: true)
    change(&grant)
    return try AccessToken(apiKey: "devkey", identity: identity, video: grant, now: 0, lifetime: 4_000_000_000)
      .signed(secret: "secret")
  }

  func join(
    _ identity: String, threads: RoomThreads? = nil, receives: Bool = true, subscribes: Bool = true,
    keys: FrameKeys? = nil,
    _ change: (inout VideoGrant) -> Void = { _ in }
  ) async throws -> Room {
    var options = ConnectOptions()
    options.localAddresses = ["127.0.0.1"]
    options.threads = threads
    options.receivesMedia = receives
    options.autoSubscribe = subscribes
    options.keys = keys
    options.logger = Self.quiet
    return try await Room.connect(
      url: "ws://127.0.0.1:\(port)", token: Self.token(identity, change), options: options)
  }
}

/// Pictures of one colour, thirty a second, until nobody reads.
struct Painter: VideoCapturer {
  let dimensions: Dimensions
  var colour: (y: UInt8, u: UInt8, v: UInt8) = (120, 60, 200)
  let starts = Counter()

  func frames() -> AsyncStream<VideoFrame> {
    starts.add()
    let (dimensions, colour) = (dimensions, colour)
    return AsyncStream { continuation in
      let task = Task {
        while !Task.isCancelled {
          continuation.yield(VideoFrame(dimensions, y: colour.y, u: colour.u, v: colour.v))
          try? await Task.sleep(for: .milliseconds(33))
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// A tone of full loudness, in blocks of an odd length.
struct Tone: AudioCapturer {
  func blocks() -> AsyncStream<AudioBlock> {
    AsyncStream { continuation in
      let task = Task {
        // 10 ms of 1 kHz, mono: ten whole waves.
        let wave = (0..<48).map { Float($0 < 24 ? 0.5 : -0.5) }
        let block = AudioBlock((0..<10).flatMap { _ in wave }, channels: 1)
        while !Task.isCancelled {
          continuation.yield(block)
          try? await Task.sleep(for: .milliseconds(10))
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

final class Counter: Sendable {
  private let value = Mutex(0)
  func add() { value.withLock { $0 += 1 } }
  var count: Int { value.withLock { $0 } }
}

/// Reads the events of a room, and finds them whenever they came.
final class Events: Sendable {
  private let heard = Mutex<[RoomEvent]>([])

  convenience init(of room: Room) { self.init(of: room.events) }

  init(of events: RoomEvents) {
    Task { [self] in for await event in events { heard.withLock { $0.append(event) } } }
  }

  /// The first event that fits; waits for it. Nil when it does not come.
  func first<T>(_ find: (RoomEvent) -> T?) async -> T? {
    var found: T?
    _ = await eventually {
      found = now(find)
      return found != nil
    }
    return found
  }

  /// The first event that fits; nil when it has not come.
  func now<T>(_ find: (RoomEvent) -> T?) -> T? { heard.withLock { $0 }.lazy.compactMap(find).first }

  func video(named name: String = "camera") async -> RemoteVideoTrack? {
    await first { if case .trackPublished(.video(let track)) = $0, track.name == name { track } else { nil } }
  }

  func audio() async -> RemoteAudioTrack? {
    await first { if case .trackPublished(.audio(let track)) = $0 { track } else { nil } }
  }

  /// Whether somebody left.
  func hasLost(_ identity: String) async -> Bool {
    await first {
      if case .participantDisconnected(let gone) = $0, gone.identity.rawValue == identity { true } else { nil }
    }
      ?? false
  }

  /// The first of these tracks that is enabled, or disabled.
  func change(of track: TrackID, isEnabled: Bool) async -> Bool {
    await first { event in
      if case .trackEnabledChanged(let changed) = event, changed.id == track, changed.isEnabled == isEnabled {
        true
      } else {
        nil
      }
    } ?? false
  }
}
