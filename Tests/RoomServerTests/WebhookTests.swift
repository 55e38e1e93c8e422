import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Signaling
import Synchronization
import SwiftProtobuf
import Testing

@testable import RoomServer

/// Takes POSTs and answers with the statuses that it was given, then with 200.
private final class Receiver: Sendable {
  struct Post: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8]
  }

  let port: Int
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let state: Mutex<(statuses: [Int], posts: [Post])>

  /// `location`: where a redirection leads. `isEndless`: answers have bodies that never end.
  init(statuses: [Int] = [], location: String? = nil, isEndless: Bool = false) throws {
    state = Mutex((statuses, []))
    let box = Box()
    let bound = try ServerBootstrap(group: group)
      .childChannelInitializer { child in
        child.eventLoop.makeCompletedFuture {
          try child.pipeline.syncOperations.configureHTTPServerPipeline()
          try child.pipeline.syncOperations.addHandler(Handler(box, location, isEndless))
        }
      }.bind(host: "127.0.0.1", port: 0).wait()
    port = bound.localAddress?.port ?? 0
    box.receiver.withLock { $0 = self }
  }

  /// Holds the receiver for its handlers.
  final class Box: Sendable {
    let receiver = Mutex<Receiver?>(nil)
  }

  func take(_ post: Post) -> Int {
    state.withLock { state in
      state.posts.append(post)
      return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
    }
  }

  var posts: [Post] { state.withLock { $0.posts } }
  var events: [Livekit_WebhookEvent] { posts.compactMap { try? Livekit_WebhookEvent(jsonUTF8Bytes: $0.body) } }

  func stop() { try? group.syncShutdownGracefully() }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let box: Box
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    private let location: String?
    private let isEndless: Bool

    init(_ box: Box, _ location: String?, _ isEndless: Bool) {
      (self.box, self.location, self.isEndless) = (box, location, isEndless)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): self.head = head
      case .body(let bytes): body += bytes.readableBytesView
      case .end:
        guard let head, let receiver = box.receiver.withLock({ $0 }) else { return }
        let status = HTTPResponseStatus(statusCode: receiver.take(Post(head: head, body: body)))
        var headers: HTTPHeaders = isEndless ? ["Transfer-Encoding": "chunked"] : ["Content-Length": "0"]
        if (300..<400).contains(status.code), let location { headers.add(name: "Location", value: location) }
        let response = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        if isEndless {
          context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "more")))), promise: nil)
          return
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
}

@Suite struct WebhookTests {
  @Test func eventsAreToldInOrderSignedAndAgainAfterAFailure() throws {
    let receiver = try Receiver(statuses: [500])
    let url = try WebhookURL("http://127.0.0.1:\(receiver.port)/hook?for=tests")
    // What waits goes out before the server has ended.
    try visit(tellingOf: url)
    let events = receiver.events
    receiver.stop()
    #expect(
      events.map(\.event) == [
        "room_started", "room_started", "participant_joined", "participant_left", "room_finished",
      ])
    #expect(events.first?.id == events.dropFirst().first?.id && events.allSatisfy { $0.id.hasPrefix("EV_") })
    #expect(events.allSatisfy { $0.room.name == "room" && $0.createdAt > 1_700_000_000 })
    #expect(events.filter { $0.event.hasPrefix("participant") }.map(\.participant.identity) == ["alice", "alice"])
    for post in receiver.posts {
      #expect(post.head.method == .POST && post.head.uri == "/hook?for=tests")
      #expect(post.head.headers["content-type"] == ["application/webhook+json"])
      let token = try #require(post.head.headers["authorization"].first)
      let claims = try AccessToken(verifying: token, now: Int64(time(nil))) { $0 == key ? secret : nil }
      #expect(claims.sha256 == AccessToken(vouchingFor: post.body, apiKey: key, now: 0, lifetime: 1).sha256)
    }
  }

  /// A room that somebody joins and leaves: its events, in order.
  private static let visit = ["room_started", "participant_joined", "participant_left", "room_finished"]

  /// Somebody joins a room and leaves it; the server tells that, and ends.
  private func visit(tellingOf url: WebhookURL) throws {
    let server = try TestServer { $0.webhooks = [url] }
    let alice = try server.join("alice")
    _ = alice.next { if case .join = $0 { true } else { nil } }
    var leave = Livekit_SignalRequest()
    leave.leave.reason = .clientInitiated
    try alice.send(leave)
    #expect(alice.waitForEnd())
    server.server.stop()
  }

  @Test func aStatusIsEnoughWhateverFollows() throws {
    let receiver = try Receiver(isEndless: true)
    try visit(tellingOf: try WebhookURL("http://127.0.0.1:\(receiver.port)/"))
    let events = receiver.events
    receiver.stop()
    #expect(events.map(\.event) == Self.visit)
  }

  /// What was meant for one receiver goes to no other. 307 would have the body go along.
  @Test func redirectionsAreNotFollowed() throws {
    let other = try Receiver()
    let receiver = try Receiver(statuses: [307], location: "http://127.0.0.1:\(other.port)/")
    try visit(tellingOf: try WebhookURL("http://127.0.0.1:\(receiver.port)/"))
    let (events, strays) = (receiver.events, other.posts.count)
    receiver.stop()
    other.stop()
    #expect(events.map(\.event) == ["room_started"] + Self.visit && strays == 0)
  }

  @Test func whatIsRefusedIsNotSentAgain() throws {
    let receiver = try Receiver(statuses: [400])
    try visit(tellingOf: try WebhookURL("http://127.0.0.1:\(receiver.port)/"))
    let events = receiver.events
    receiver.stop()
    #expect(events.map(\.event) == Self.visit)
  }

  @Test(arguments: [
    ("http://host", "host", 80, "/", "http://host/"), ("https://host/a?b=c", "host", 443, "/a?b=c", "https://host/a"),
    ("HTTP://h:8080/x", "h", 8080, "/x", "http://h:8080/x"),
    ("http://[::1]:99/x", "::1", 99, "/x", "http://[::1]:99/x"), ("http://h?x=1", "h", 80, "/?x=1", "http://h/"),
  ])
  func urlsAreRead(text: String, host: String, port: Int, target: String, shown: String) throws {
    let url = try WebhookURL(text)
    #expect(url.host == host && url.port == port && url.target == target && url.description == shown)
  }

  @Test(arguments: [
    "", "host", "ftp://host", "http://", "http://user:word@host/", "http://host:0/", "http://host:x/", "http://ho st/",
    "http://host/#x", "http://host:70000", "http://h\u{e9}st/",
  ])
  func otherTextsAreRefused(text: String) {
    #expect(throws: WebhookURL.Fault.self) { try WebhookURL(text) }
  }
}
