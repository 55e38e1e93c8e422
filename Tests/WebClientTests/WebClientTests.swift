import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import SystemKit
import Testing

@testable import WebClient

@Suite struct WebClientTests {
  @Test(arguments: [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
    "172.31.255.1",
    "192.0.0.8", "192.0.2.1", "192.168.0.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1",
    "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:93.184.216.34", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1",
    "ff02::1",
  ])
  func addressesThatArePrivateAreKnown(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(!address.isPublic)
  }

  @Test(arguments: [
    "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
    "198.17.1.1",
    "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101",
  ])
  func addressesThatArePublicAreKnown(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(address.isPublic)
    #expect(IPAddress(address.description) == address)
  }

  @Test(arguments: [
    "http://example.org/a.png", "ftp://example.org/a.png", "file:///etc/passwd", "javascript:alert(1)", "", "https://",
    "https:///a.png", "//example.org/a", "https://user:secret@example.org/", "https://user@example.org/",
    "https://exa mple.org/", "https://example.org:0/", "https://example.org:99999/", "https://ex\u{0}ample.org/",
    "https://[::1%25eth0]/", "https://example.org\\@127.0.0.1/", "data:image/png;base64,AAAA",
  ])
  func whatIsNoSafeAddressIsRefused(url: String) {
    #expect(throws: WebClientError.self) { try OutgoingAddress(url, policy: .refuse) }
  }

  @Test func addressesAreTakenApartAndPutTogetherAgain() throws {
    let address = try OutgoingAddress("HTTPS://Example.ORG:8443/a%20b/c.png?x=1&y=%2F#part", policy: .refuse)
    #expect(address.text == "https://example.org:8443/a%20b/c.png?x=1&y=%2F")
    #expect(try OutgoingAddress("https://example.org", policy: .refuse).text == "https://example.org/")
    #expect(try OutgoingAddress("https://[2606:4700::1111]/x", policy: .refuse).text == "https://[2606:4700::1111]/x")
    #expect(try OutgoingAddress("/b?c", relativeTo: address, policy: .refuse).text == "https://example.org:8443/b?c")
    #expect(throws: WebClientError.self) {
      try OutgoingAddress("http://example.org/", relativeTo: address, policy: .refuse)
    }
  }

  @Test(arguments: [
    "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://0/", "https://2130706433/",
    "https://0x7f.1/",
    "https://127.1/", "https://169.254.169.254/latest/meta-data/", "https://[::ffff:127.0.0.1]/",
  ])
  func namesAndNumbersOfThisMachineAreRefused(url: String) async {
    await #expect(throws: WebClientError.self) {
      try await GuardedWebClient(privateAddresses: .refuse).get(url, accept: "*/*", maximumBytes: 1000)
    }
  }

  @Test func aBodyIsFetched() async throws {
    try await withServer { head in
      .init(body: [UInt8]("\(head.uri) \(head.headers["cookie"]) \(head.headers["accept"])".utf8))
    } _: { port in
      let client = GuardedWebClient.patient
      let bytes = try await client.get("http://127.0.0.1:\(port)/a?b=c", accept: "image/png", maximumBytes: 1000)
      #expect(String(decoding: bytes, as: UTF8.self) == #"/a?b=c [] ["image/png"]"#)
    }
  }

  @Test(arguments: [true, false]) func largeBodiesAreRefused(saysLength: Bool) async throws {
    try await withServer { _ in
      .init(body: [UInt8](repeating: 7, count: 100_000), saysLength: saysLength)
    } _: { port in
      let client = GuardedWebClient.patient
      await #expect(throws: WebClientError("is larger than 48 KiB")) {
        try await client.get("http://127.0.0.1:\(port)/", accept: "*/*", maximumBytes: 50_000)
      }
      let whole = try await client.get("http://127.0.0.1:\(port)/", accept: "*/*", maximumBytes: 100_000)
      #expect(whole.count == 100_000)
    }
  }

  @Test func redirectsAreFollowedAndCheckedEachTime() async throws {
    try await withServer { head in
      switch head.uri {
      case "/1": .init(status: .found, location: "/2")
      case "/2": .init(body: [42])
      case "/away": .init(status: .movedPermanently, location: "http://127.0.0.2/secret")
      case "/round": .init(status: .temporaryRedirect, location: "/round")
      case "/file": .init(status: .found, location: "file:///etc/passwd")
      default: .init(status: .found)
      }
    } _: { port in
      let client = GuardedWebClient(policy: .allow, timeLimit: .seconds(300)) { $0 == IPAddress("127.0.0.1") }
      func get(_ path: String) async throws -> [UInt8] {
        try await client.get("http://127.0.0.1:\(port)\(path)", accept: "*/*", maximumBytes: 1000)
      }
      let followed = try await get("/1")
      #expect(followed == [42])
      await #expect(throws: WebClientError("leads to the private address 127.0.0.2")) { try await get("/away") }
      await #expect(throws: WebClientError("redirects more than 4 times")) { try await get("/round") }
      await #expect(throws: WebClientError.self) { try await get("/file") }
      await #expect(throws: WebClientError("redirects to nowhere")) { try await get("/nowhere") }
    }
  }

  @Test func anAnswerThatNeverEndsIsGivenUp() async throws {
    try await withServer { _ in
      .init(body: [UInt8](repeating: 7, count: 50_000), drips: true)
    } _: { port in
      let url = "http://127.0.0.1:\(port)/"
      let client = GuardedWebClient(policy: .allow, timeLimit: .milliseconds(600)) { _ in true }
      let start = ContinuousClock.now
      await #expect(throws: WebClientError("takes too long to answer")) {
        try await client.get(url, accept: "*/*", maximumBytes: 100_000)
      }
      await #expect(throws: WebClientError("takes too long to answer")) {
        try await client.post(url, headers: [], body: [1])
      }
      let request = WebRequest(isSecure: false, host: "127.0.0.1", port: port, target: "/")
      await #expect(throws: WholeAnswer.Fault.web(.late)) {
        try await WebConnections().whole(request, within: .milliseconds(600), atMost: 100_000)
      }
      #expect(start.duration(to: .now) < .seconds(60), "50 ms a byte would be 40 minutes")
    }
  }

  @Test func aWholeAnswerIsReadUpToItsLimit() async throws {
    try await withServer { head in
      .init(status: head.method == .PUT ? .conflict : .ok, body: [UInt8](repeating: 7, count: 1000))
    } _: { port in
      let request = WebRequest(.PUT, isSecure: false, host: "127.0.0.1", port: port, target: "/")
      let answer = try await WebConnections().whole(request, within: .seconds(300), atMost: 1000)
      #expect(answer == WholeAnswer(status: 409, body: [UInt8](repeating: 7, count: 1000)))
      await #expect(throws: WholeAnswer.Fault.tooLong) {
        try await WebConnections().whole(request, within: .seconds(300), atMost: 999)
      }
    }
  }

  @Test func errorsOfTheServerAreErrors() async throws {
    try await withServer { _ in
      .init(status: .notFound)
    } _: { port in
      await #expect(throws: WebClientError("the server answers 404")) {
        try await GuardedWebClient.patient.get("http://127.0.0.1:\(port)/", accept: "*/*", maximumBytes: 9)
      }
    }
  }

  @Test func aPortWithoutServerIsAnError() async throws {
    let held = try LoopbackSocket(.closed)
    defer { withExtendedLifetime(held) {} }
    // At once: not after all the time that there is.
    await #expect(throws: WebClientError("cannot be reached: Connection refused")) {
      try await GuardedWebClient.patient.get("http://127.0.0.1:\(held.port)/", accept: "*/*", maximumBytes: 9)
    }
  }

  struct Reply: Sendable {
    var status = HTTPResponseStatus.ok
    var body: [UInt8] = []
    var location: String?
    var saysLength = true
    /// A byte each 50 ms.
    var drips = false
  }

  /// Runs `body` with the port of a server on this machine.
  private func withServer(
    _ reply: @escaping @Sendable (HTTPRequestHead) -> Reply, _ body: (Int) async throws -> Void
  ) async throws {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Responder(reply: reply))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    do {
      try await body(channel.localAddress?.port ?? 0)
    } catch {
      try await channel.close()
      throw error
    }
    try await channel.close()
  }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let reply: @Sendable (HTTPRequestHead) -> Reply

    init(reply: @escaping @Sendable (HTTPRequestHead) -> Reply) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .head(let head) = unwrapInboundIn(data) else { return }
      let reply = reply(head)
      var headers: HTTPHeaders = reply.saysLength ? ["content-length": "\(reply.body.count)"] : [:]
      if let location = reply.location { headers.add(name: "location", value: location) }
      context.write(
        wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers))),
        promise: nil)
      if reply.drips {
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.flush()
        context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(50)) { task in
          guard loopBound.value.channel.isActive else { return task.cancel() }
          let byte = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: [7])))
          loopBound.value.writeAndFlush(NIOAny(byte), promise: nil)
        }
        return
      }
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }
}

extension GuardedWebClient {
  /// Asks every address, and waits: when many tests run at once, nobody reads for seconds.
  fileprivate static let patient = GuardedWebClient(policy: .allow, timeLimit: .seconds(300)) { _ in true }
}
