import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import WebClient

/// Names that lead elsewhere as soon as they were checked (DNS rebinding): what was checked is what is asked.
@Suite struct RebindingTests {
  /// Name servers of an attacker: each question is answered with the next of the answers, the last one for ever.
  final class ChangingNames: Sendable {
    private let answers: [[IPAddress]]
    private let count = Atomic<Int>(0)

    init(_ answers: [String]...) { self.answers = answers.map { $0.compactMap { IPAddress($0) } } }

    /// How often they were asked.
    var asked: Int { count.load(ordering: .relaxed) }

    var lookup: NameLookup {
      NameLookup { [self] _ in
        let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
        return answers[min(number, answers.count - 1)]
      }
    }
  }

  /// Stands for the public internet; every other address is private.
  static let open = "127.0.0.1"
  /// Stands for a machine that strangers must not reach.
  static let secret = "127.0.0.2"

  private static func client(_ names: ChangingNames) -> GuardedWebClient {
    GuardedWebClient(policy: .allow, timeLimit: .seconds(5 * 60), names: names.lookup) { $0 == IPAddress(open) }
  }

  /// What is signed for a store must be what the header `Host` says: without the port that the scheme has anyway.
  @Test(arguments: [
    ("https://store.example:443", "store.example"), ("http://store.example:80", "store.example"),
    ("https://store.example:80", "store.example:80"), ("http://store.example:9000", "store.example:9000"),
    ("http://[::1]:80", "[::1]"), ("https://store.example", "store.example"),
  ])
  func theUsualPortIsNotPartOfTheAuthority(url: String, authority: String) throws {
    let exchange = try WebExchange(url, privateAddresses: .allow, silence: 1000)
    #expect(exchange.authority == authority)
  }

  private static func get(_ client: GuardedWebClient, _ url: String) async throws -> String {
    String(decoding: try await client.get(url, accept: "*/*", maximumBytes: 1000), as: UTF8.self)
  }

  @Test func aNameThatChangesAfterTheCheckLeadsNowhereElse() async throws {
    try await withServer { port, reached in
      let names = ChangingNames([Self.open], [Self.secret])
      let client = Self.client(names)
      let url = "http://rebind.example:\(port)/"
      let answer = try await Self.get(client, url)
      #expect(answer == Self.open)
      #expect(names.asked == 1, "the connection asked again")
      // The next request sees where the name leads now.
      let refusal = WebClientError("leads to the private address \(Self.secret)")
      await #expect(throws: refusal) { try await client.post(url, headers: [], body: [1]) }
      await #expect(throws: refusal) { try await Self.get(client, url) }
      #expect(names.asked == 3 && reached() == [Self.open])
    }
  }

  @Test func aWebhookGoesToTheCheckedAddressToo() async throws {
    try await withServer { port, reached in
      let names = ChangingNames([Self.open], [Self.secret])
      let answer = try await Self.client(names).post("http://rebind.example:\(port)/", headers: [], body: [1])
      #expect(answer.status == 200 && names.asked == 1 && reached() == [Self.open])
    }
  }

  @Test func connectionsDoNotAskTheSystemsResolver() async throws {
    try await withServer { port, reached in
      // For the system it is 127.0.0.1, in all its hosts files.
      let names = ChangingNames([Self.secret])
      let client = GuardedWebClient(policy: .allow, timeLimit: .seconds(5 * 60), names: names.lookup) { _ in true }
      let answer = try await Self.get(client, "http://localhost:\(port)/")
      #expect(answer == Self.secret)
      #expect(reached() == [Self.secret])
    }
  }

  @Test func eachRedirectIsLookedUpAndCheckedAnew() async throws {
    try await withServer { port, reached in
      let names = ChangingNames([Self.open], [Self.secret])
      await #expect(throws: WebClientError("leads to the private address \(Self.secret)")) {
        try await Self.get(Self.client(names), "http://rebind.example:\(port)/again")
      }
      #expect(names.asked == 2 && reached() == [Self.open])
    }
  }

  @Test func ofSeveralAddressesOnlyAnAllowedOneIsAsked() async throws {
    try await withServer { port, reached in
      let names = ChangingNames([Self.secret, Self.open, "127.0.0.3"])
      let answer = try await Self.get(Self.client(names), "http://rebind.example:\(port)/")
      #expect(answer == Self.open)
      #expect(reached() == [Self.open])
    }
  }

  @Test func uploadsAreHeldToTheSame() async throws {
    try await withServer { port, reached in
      let names = ChangingNames([Self.secret])
      let exchange = try WebExchange(
        "http://localhost:\(port)", privateAddresses: .allow, silence: 300_000, names: names.lookup)
      let status = try await exchange.perform(.GET, "/") { $0.status.code }
      #expect(status == 200 && names.asked == 1 && reached() == [Self.secret])

      let others = ChangingNames([Self.open, Self.secret])
      let guarded = try WebExchange(
        "https://rebind.example:\(port)", privateAddresses: .refuse, silence: 300_000, names: others.lookup)
      for _ in 0..<2 {
        let error = await #expect(throws: WebExchangeError.self) {
          try await guarded.perform(.GET, "/") { _ in }
        }
        #expect(error?.isRefusal == true)
      }
      #expect(others.asked == 2 && reached() == [Self.secret])
    }
  }

  /// A server on all addresses of this machine, which tells under which one it was reached; `/again` redirects to
  /// itself. `reached` gives the addresses of all requests so far.
  private func withServer(_ body: (_ port: Int, _ reached: () -> [String]) async throws -> Void) async throws {
    let log = Log()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Responder(log: log))
        }
      }
      .bind(host: "0.0.0.0", port: 0).get()
    do {
      try await body(channel.localAddress?.port ?? 0) { log.all.withLock { $0 } }
    } catch {
      try await channel.close()
      throw error
    }
    try await channel.close()
  }

  private final class Log: Sendable {
    let all = Mutex<[String]>([])
  }

  private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    private let log: Log
    private var head: HTTPRequestHead?

    init(log: Log) { self.log = log }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): self.head = head
      case .body: break
      case .end:
        let address = context.localAddress?.ipAddress ?? "?"
        log.all.withLock { $0.append(address) }
        var headers: HTTPHeaders = ["content-length": "\(address.utf8.count)"]
        if head?.uri == "/again" { headers.add(name: "location", value: "/again") }
        let status = head?.uri == "/again" ? HTTPResponseStatus.found : .ok
        context.write(
          wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: address)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      }
    }
  }
}
