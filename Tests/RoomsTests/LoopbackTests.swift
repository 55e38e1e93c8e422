import Foundation
import Logging
import MediaCore
import RoomServer
import Session
import Signaling
import Synchronization
import SystemKit
import Testing
import Transport

@testable import Rooms

/// The client against the embedded room server, over real sockets on loopback.
@Suite(.serialized) struct LoopbackTests {
  static let quiet: Logger = {
    var logger = Logger(label: "test", factory: { StreamLogHandler.standardError(label: $0) })
    logger.logLevel =
      ProcessInfo.processInfo.environment["RECBOT_TEST_LOG"].flatMap { Logger.Level(rawValue: $0) } ?? .critical
    return logger
  }()

  func server(port: Int = 0) throws -> (EmbeddedRoomServer, Int) {
    var configuration = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": "secret"])
    configuration.port = port
    let server = EmbeddedRoomServer(configuration: configuration, logger: Self.quiet)
    return (server, try server.start())
  }

  func client(
    _ port: Int, _ loop: MediaLoop, _ sink: CollectingSink, tokens: TokenSource? = nil,
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) -> LiveKitRoomClient {
    var options = RoomOptions(
      url: "ws://127.0.0.1:\(port)",
      tokens: tokens
        ?? .minted(apiKey: "devkey", apiSecret: "secret", room: "lobby", identity: "bot", name: "Recorder"))
    options.localAddresses = ["127.0.0.1"]
    return LiveKitRoomClient(options: options, loop: loop, sink: sink, logger: Self.quiet, onEnd: onEnd)
  }

  @Test func theBotJoinsAnEmptyRoomAndLeaves() async throws {
    let (server, port) = try server()
    let loop = MediaLoop(name: "test")
    let sink = CollectingSink()
    let box = Box()
    let client = client(port, loop, sink) { end, error in box.value.withLock { $0 = "\(end) \(error?.name ?? "-")" } }
    try await client.join()
    #expect(await eventually { sink.texts.prefix(2) == ["joined lobby", "synchronized"] })
    client.leave()
    #expect(await eventually { box.value.withLock { $0 } == "stopped -" })
    #expect(sink.texts.last == "ended stopped")
    loop.stop()
    server.stop()
  }

  @Test func badTokensAreToldApart() async throws {
    let (server, port) = try server()
    let loop = MediaLoop(name: "test")
    func kind(_ token: AccessToken, secret: String = "secret") async throws -> RoomError.Kind? {
      let text = try token.signed(secret: secret)
      do throws(RoomError) {
        try await client(port, loop, CollectingSink(), tokens: .given(text)).join()
        return nil
      } catch {
        return error.kind
      }
    }
    let grant = VideoGrant(room: "lobby", roomJoin: true)
    let now: Int64 = 4_000_000_000
    let good = AccessToken(apiKey: "devkey", identity: "bot", video: grant, now: 0, lifetime: now)
    #expect(try await kind(good, secret: "wrong") == .unauthorized)
    var expired = good
    expired.expires = 1000
    #expect(try await [.unauthorized, .tokenExpired].contains(kind(expired)))
    var powerless = good
    powerless.video?.roomJoin = false
    #expect(try await [.unauthorized, .notPermitted].contains(kind(powerless)))
    loop.stop()
    server.stop()
  }

  @Test func aSecondBotOfTheSameIdentityEvictsTheFirst() async throws {
    let (server, port) = try server()
    let loop = MediaLoop(name: "test")
    let (first, second) = (CollectingSink(), CollectingSink())
    let one = client(port, loop, first)
    try await one.join()
    let two = client(port, loop, second)
    try await two.join()
    #expect(await eventually { first.texts.last == "ended evicted" })
    two.leave()
    #expect(await eventually { second.texts.last == "ended stopped" })
    loop.stop()
    server.stop()
  }

  /// A server on a port that stays free while it is down: below the range that the system hands out to others.
  private func restartableServer() throws -> (EmbeddedRoomServer, Int) {
    for _ in 0..<50 {
      if let server = try? server(port: Int.random(in: 20_000..<30_000)) { return server }
    }
    return try server()
  }

  @Test func theBotComesBackAfterTheServerWasRestarted() async throws {
    let (server, port) = try restartableServer()
    let loop = MediaLoop(name: "test")
    let sink = CollectingSink()
    let client = client(port, loop, sink)
    try await client.join()
    server.stop()
    #expect(await eventually { sink.texts.last?.hasPrefix("lost") == true })
    // A child that another suite has just forked holds the closed socket until it has become its own program.
    var again: EmbeddedRoomServer?
    #expect(
      await eventually {
        again = try? self.server(port: port).0
        return again != nil
      })
    #expect(await eventually { sink.texts.suffix(2) == ["restored", "synchronized"] })
    client.leave()
    #expect(await eventually { sink.texts.last == "ended stopped" })
    loop.stop()
    again?.stop()
  }

  final class Box: Sendable {
    let value = Mutex<String?>(nil)
  }
}
