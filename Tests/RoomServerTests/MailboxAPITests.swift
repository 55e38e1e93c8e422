import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Signaling
import Synchronization
import Testing

@testable import RoomServer

/// The mailbox and the page of two-party rooms over HTTP.
@Suite(.serialized) struct MailboxAPITests {
  static let quiet: Logger = {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return logger
  }()

  /// Starts a server for the time of a test.
  func withServer<T>(_ work: (Int) async throws -> T) async throws -> T {
    var configuration = EmbeddedRoomServer.Configuration(apiKeys: ["devkey": "secret"])
    configuration.port = 0
    // The requests of a test may be far apart when many tests run at once.
    configuration.seatTimeout = 600
    let server = EmbeddedRoomServer(configuration: configuration, logger: Self.quiet)
    let port = try server.start()
    defer { server.stop() }
    return try await work(port)
  }

  func token(_ identity: String, room: String = "my room") throws -> String {
    let grant = VideoGrant(room: room, roomJoin: true)
    return try AccessToken(apiKey: "devkey", identity: identity, video: grant, now: Int64(time(nil))).signed(
      secret: "secret")
  }

  func ask(
    _ port: Int, _ method: HTTPMethod, _ path: String, as identity: String? = "ann", body: String = ""
  ) async throws -> WebAnswer {
    var headers = HTTPHeaders([("Host", "localhost"), ("Connection", "close")])
    if let identity { headers.add(name: "Authorization", value: "Bearer \(try token(identity))") }
    if !body.isEmpty { headers.add(name: "Content-Length", value: String(body.utf8.count)) }
    return try await WebAnswer.get(
      port, HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers), body)
  }

  func view(_ answer: WebAnswer) throws -> MailboxView {
    #expect(answer.status == 200, "\(answer.text)")
    return try #require(MailboxCoding.decode(MailboxView.self, from: Array(answer.text.utf8)), "\(answer.text)")
  }

  @Test func twoPeersExchangeDescriptions() async throws {
    try await withServer { port in
      let base = "/mailbox/v1/my%20room"
      let ann = try view(await ask(port, .PUT, base + "/seat", body: #"{"session":"A","name":"Ann"}"#))
      #expect(ann.role == .host)
      let bot = try view(await ask(port, .PUT, base + "/seat", as: "bot", body: #"{"session":"B","as":"guest"}"#))
      #expect(bot.role == .guest)
      #expect(bot.other?.name == "Ann")
      // The bot waits; what Ann stores ends the wait.
      async let change = ask(port, .GET, base + "?session=B&after=\(bot.revision)", as: "bot")
      let offer = #"{"id":"A-1","type":"offer","sdp":"v=0","to":"B"}"#
      #expect(try view(await ask(port, .PUT, base + "/description?session=A", body: offer)).own?.id == "A-1")
      let seen = try view(await change)
      #expect(seen.other?.description?.sdp == "v=0")
      #expect(seen.other?.description?.recipient == "B")
      let more = #"{"id":"A-1","candidates":["candidate:1"]}"#
      #expect(try view(await ask(port, .POST, base + "/candidates?session=A", body: more)).own?.candidates == 1)
      let stale = #"{"id":"A-0","candidates":["candidate:1"]}"#
      #expect(try await ask(port, .POST, base + "/candidates?session=A", body: stale).status == 409)
      #expect(try view(await ask(port, .DELETE, base + "/description?session=A")).own == nil)
      _ = try view(await ask(port, .DELETE, base + "/seat?session=A"))
      #expect(try view(await ask(port, .GET, base + "?session=B&after=0", as: "bot")).other?.hasLeft == true)
    }
  }

  @Test func refusalsSayWhy() async throws {
    try await withServer { port in
      let base = "/mailbox/v1/my%20room"
      let seat = #"{"session":"A"}"#
      #expect(try await ask(port, .PUT, base + "/seat", as: nil, body: seat).status == 401)
      #expect(try await ask(port, .PUT, "/mailbox/v1/other/seat", body: seat).status == 403)
      #expect(try await ask(port, .PUT, base + "/seat", body: "{").status == 400)
      #expect(try await ask(port, .PUT, base + "/seat", body: #"{"session":""}"#).status == 400)
      let unseated = try await ask(port, .GET, base + "?session=A&after=0")
      #expect(unseated.status == 404 && unseated.text.hasPrefix("no seat"))
      _ = try view(await ask(port, .PUT, base + "/seat", body: seat))
      _ = try view(await ask(port, .PUT, base + "/seat", body: #"{"session":"B"}"#))
      #expect(try await ask(port, .GET, base + "?session=A&after=0").status == 410)
      _ = try view(await ask(port, .PUT, base + "/seat", as: "bot", body: seat))
      let third = try await ask(port, .PUT, base + "/seat", as: "carl", body: seat)
      #expect(third.status == 409 && third.text.hasPrefix("occupied"))
      let long = String(repeating: "x", count: MailboxCoding.maximumBody + 1)
      #expect(try await ask(port, .PUT, base + "/description?session=B", body: long).status == 413)
      #expect(try await ask(port, .POST, base + "/seat", body: seat).status == 404)
      #expect(try await ask(port, .GET, "/mailbox/v1/%zz").status == 404)
    }
  }

  @Test func thePageComesWithEverythingThatItNeedsAndNothingElseMayLoad() async throws {
    try await withServer { port in
      let page = try await ask(port, .GET, "/peer/my%20room", as: nil)
      #expect(page.status == 200)
      #expect(page.headers["content-security-policy"].first?.hasPrefix("default-src 'none'") == true)
      #expect(page.headers["referrer-policy"] == ["no-referrer"])
      for (path, type) in [
        ("/peer.css", "text/css"), ("/peer.js", "text/javascript"), ("/peer-flow.js", "text/javascript"),
      ] {
        let part = try await ask(port, .GET, path, as: nil)
        #expect(part.status == 200 && part.headers["content-type"].first?.hasPrefix(type) == true, "\(path)")
        #expect(!part.text.contains("http://") && !part.text.contains("https://"), "\(path) names another place")
      }
      #expect(page.text.contains("../peer.js") && page.text.contains("../peer.css"))
      #expect(try await ask(port, .GET, "/peer/", as: nil).status == 404)
      #expect(try await ask(port, .POST, "/peer/x", as: nil).status == 405)
    }
  }
}

/// One HTTP answer over a connection of its own.
struct WebAnswer: Sendable {
  var status: Int
  var headers: HTTPHeaders
  var text: String

  static func get(_ port: Int, _ head: HTTPRequestHead, _ body: String) async throws -> WebAnswer {
    try await withCheckedThrowingContinuation { continuation in
      ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(Asker(head, body, continuation))
          }
        }
        .connect(host: "127.0.0.1", port: port).whenFailure { continuation.resume(throwing: $0) }
    }
  }

  private final class Asker: ChannelInboundHandler, @unchecked Sendable {
    // Sendable: made before the channel, then touched on its event loop only.
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let body: String
    private var continuation: CheckedContinuation<WebAnswer, any Error>?
    private var answer = WebAnswer(status: 0, headers: [:], text: "")

    init(_ head: HTTPRequestHead, _ body: String, _ continuation: CheckedContinuation<WebAnswer, any Error>) {
      self.head = head
      self.body = body
      self.continuation = continuation
    }

    func channelActive(context: ChannelHandlerContext) {
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      if !body.isEmpty { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil) }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (answer.status, answer.headers) = (Int(head.status.code), head.headers)
      case .body(let bytes): answer.text += String(buffer: bytes)
      case .end:
        continuation?.resume(returning: answer)
        continuation = nil
        context.close(promise: nil)
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      continuation?.resume(throwing: ChannelError.eof)
      continuation = nil
    }
  }
}
