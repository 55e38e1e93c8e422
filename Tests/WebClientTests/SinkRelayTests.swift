import Glibc
import MediaCore
import NIOCore
import NIOPosix
import Platform
import Synchronization
import SystemKit
import Testing

@testable import WebClient

/// What a sink gives, over real sockets, to WebSocket servers that listen, refuse, go, lie and do not read.
@Suite struct SinkRelayTests {
  /// A sink, and what was said of its WebSocket.
  private final class Sink: Sendable {
    /// What the sink writes to: one for each connection.
    let readers = Mutex<[Int32]>([])
    let news = Mutex<[SinkRelay.News]>([])
    let isOver = Mutex(false)
    private let rest = Mutex<[UInt8]>([])

    func relay(
      to url: String, _ form: SinkRelay.Form = .init(bytesPerCount: 1, hasHeads: false), authorities: String? = nil
    ) throws -> SinkRelay {
      SinkRelay(
        to: try WebSocketAddress(url, privateAddresses: .allow), form: form, authorities: authorities,
        give: { descriptor in
          let isOver = self.isOver.withLock { $0 }
          if isOver { close(descriptor) } else { self.readers.withLock { $0.append(descriptor) } }
          return !isOver
        },
        tell: { news in self.news.withLock { $0.append(news) } })
    }

    /// Writes a block to the newest reader, or what it has not taken of the last one; false when it does not take it whole.
    func put(_ count: Int, _ bytes: [UInt8], at position: UInt8 = 0) -> Bool {
      guard let descriptor = readers.withLock({ $0.last }) else { return false }
      return rest.withLock { rest in
        if rest.isEmpty {
          rest = [position, 0, 0, 0, 0, 0, 0, 0]
          for shift in [0, 8, 16, 24] { rest.append(UInt8(truncatingIfNeeded: count >> shift)) }
          rest += [0, 0, 0, 0] + bytes
        }
        let taken = send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
        if taken > 0 { rest.removeFirst(taken) }
        return rest.isEmpty
      }
    }

    /// Nothing more comes.
    func end() {
      isOver.withLock { $0 = true }
      readers.withLock { readers in
        for reader in readers { close(reader) }
        readers = []
      }
    }

    /// Waits until there have been so many readers.
    func connected(_ count: Int) async -> Bool {
      await SinkRelayTests.until { self.readers.withLock { $0.count } >= count }
    }

    /// The first news.
    func firstNews() async -> SinkRelay.News? {
      _ = await SinkRelayTests.until { !self.news.withLock { $0 }.isEmpty }
      return news.withLock { $0.first }
    }
  }

  /// Waits until something is so, at most a minute.
  fileprivate static func until(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<6_000 where !condition() { try? await Task.sleep(for: .milliseconds(10)) }
    return condition()
  }

  private static let patience = Duration.seconds(60)

  @Test(arguments: [false, true])
  func blocksBecomeMessages(hasHeads: Bool) async throws {
    let server = try await TestSocketServer()
    let sink = Sink()
    let relay = try sink.relay(
      to: "ws://127.0.0.1:\(server.port)/listen?key=a", .init(bytesPerCount: 2, hasHeads: hasHeads))
    #expect(await sink.connected(1))
    for number in 0..<5 { #expect(sink.put(3, [UInt8](repeating: UInt8(number), count: 6), at: 9)) }
    sink.end()
    await relay.finish(within: Self.patience)
    #expect(await Self.until { server.all.closes == [1000] })
    let head: [UInt8] = hasHeads ? [9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0] : []
    #expect(server.all.messages == (0..<5).map { head + [UInt8](repeating: UInt8($0), count: 6) })
    #expect(server.all.targets == ["/listen?key=a"])
    #expect(sink.news.withLock { $0 }.isEmpty)
    await server.stop()
  }

  @Test(.timeLimit(.minutes(2))) func largeBlocksComeWhole() async throws {
    let server = try await TestSocketServer()
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await sink.connected(1))
    let picture = (0..<345_600).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    while !sink.put(picture.count, picture) { try await Task.sleep(for: .milliseconds(2)) }
    #expect(await Self.until { server.all.messages.count == 1 })
    let isSame = server.all.messages.first == picture
    #expect(isSame)
    sink.end()
    await relay.finish(within: Self.patience)
    await server.stop()
  }

  @Test func whoGoesIsDialledAgainAndGetsWhatComesThen() async throws {
    let server = try await TestSocketServer()
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await sink.connected(1))
    #expect(sink.put(1, [1]))
    #expect(await Self.until { server.all.messages == [[1]] })
    server.say(.ping, "there?")
    #expect(await Self.until { server.all.pongs == ["there?"] })
    server.cut()
    #expect(await sink.connected(2))
    #expect(sink.put(1, [2]))
    #expect(await Self.until { server.all.messages == [[1], [2]] })
    #expect(sink.news.withLock { $0 } == [.lost("the connection ended"), .connected])
    sink.end()
    await relay.finish(within: Self.patience)
    await server.stop()
  }

  @Test func whoClosesIsToldWithTheCode() async throws {
    let server = try await TestSocketServer()
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await sink.connected(1))
    server.say(.text, "what is this?")
    server.say(.connectionClose, "\u{3}\u{69}")
    #expect(await sink.firstNews() == .lost("it closed the WebSocket (873)"))
    await relay.finish(within: Self.patience)
    await server.stop()
  }

  @Test(arguments: [
    ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "it answers 403 instead of a WebSocket"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "it answers 200 instead of a WebSocket"),
    ("SSH-2.0-OpenSSH_9.2\r\n", "what answers there speaks no WebSocket"),
    (
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
      "what answers there speaks no WebSocket"
    ),
  ])
  func whoIsNoWebSocketIsTold(_ answer: String, _ reason: String) async throws {
    let server = try await CannedServer([answer])
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await sink.firstNews() == .lost(reason))
    #expect(sink.readers.withLock { $0 }.isEmpty)
    await relay.finish(within: Self.patience)
    await server.stop()
  }

  @Test func whoSaysNothingDoesNotHoldUpTheEnd() async throws {
    let server = try await CannedServer([nil], keepsAlive: true)
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await Self.until { server.connections == 1 })
    let begin = MonotonicClock.now
    await relay.finish(within: Self.patience)
    #expect(MonotonicClock.now - begin < Self.patience / 2)
    #expect(await server.allClosed())
    await server.stop()
  }

  @Test func whoDoesNotReadMakesTheSinkWaitAndNotTheMemoryGrow() async throws {
    let server = try await TestSocketServer(reads: false)
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await sink.connected(1))
    let block = [UInt8](repeating: 7, count: 60_000)
    var taken = 0
    var refusals = 0
    while taken < 4_000, refusals < 200 {
      if sink.put(block.count, block) {
        taken += 1
      } else {
        refusals += 1
        try await Task.sleep(for: .milliseconds(10))
      }
    }
    // 240 MB are not taken: what the kernel has room for, and little more.
    #expect(taken < 400, "\(taken)")
    await relay.finish(within: .milliseconds(200))
    await server.stop()
  }

  @Test func nobodyThereIsTold() async throws {
    let server = try await CannedServer([nil])
    let port = server.port
    await server.stop()
    let sink = Sink()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(port)")
    #expect(await sink.firstNews() == .lost("Connection refused"))
    await relay.finish(within: Self.patience)
  }

  @Test func aSinkThatIsOverIsTheEnd() async throws {
    let server = try await TestSocketServer()
    let sink = Sink()
    sink.end()
    let relay = try sink.relay(to: "ws://127.0.0.1:\(server.port)")
    #expect(await Self.until { server.all.closes == [1000] })
    await relay.finish(within: Self.patience)
    await server.stop()
  }

  @Test func inTLSTheServerMustBeTrusted() async throws {
    let certificate = try #require(TestCertificate(), "needs the openssl command")
    defer { certificate.remove() }
    let server = try await TestSocketServer(tls: certificate.serverContext())
    let url = "wss://localhost:\(server.port)/x"
    let sink = Sink()
    let trusting = try sink.relay(to: url, authorities: certificate.certificate)
    #expect(await sink.connected(1))
    #expect(sink.put(2, [1, 2]))
    #expect(await Self.until { server.all.messages == [[1, 2]] })
    await trusting.finish(within: .milliseconds(1))
    let stranger = Sink()
    let other = try stranger.relay(to: url)
    guard case .lost(let reason) = await stranger.firstNews() else {
      Issue.record("nothing was said")
      return
    }
    #expect(!reason.isEmpty && !reason.contains("\n"), "\(reason)")
    #expect(stranger.readers.withLock { $0 }.isEmpty)
    await other.finish(within: Self.patience)
    await server.stop()
  }

  @Test(arguments: [
    ("ws://example.com", "ws://example.com", "/"), ("wss://example.com/a?b=c", "wss://example.com", "/a?b=c"),
    ("ws://[::1]:80/x", "ws://[::1]", "/x"), ("wss://example.com:8443", "wss://example.com:8443", "/"),
  ])
  func addresses(_ text: String, _ shown: String, _ target: String) throws {
    let address = try WebSocketAddress(text, privateAddresses: .allow)
    #expect("\(address)" == shown && address.target == target)
  }

  @Test(arguments: ["", "http://a", "ws:/a", "ws://", "wss://u:p@a", "ws://a:99999", "ws://a b"])
  func whatIsNoAddressIsRefused(_ text: String) {
    #expect(throws: WebClientError.self) { try WebSocketAddress(text, privateAddresses: .allow) }
  }

  @Test(arguments: [
    ("ws://example.com", "only wss: is allowed"), ("wss://127.0.0.1/x", "the private address 127.0.0.1"),
    ("wss://[::ffff:10.0.0.1]", "the private address"), ("wss://169.254.169.254", "the private address"),
    ("https://example.com", "does not begin with ws:// or wss://"),
  ])
  func anAddressThatLeadsNowhereElseIsRefusedAtOnce(url: String, says: String) {
    let error = #expect(throws: WebClientError.self) { try WebSocketAddress(url, privateAddresses: .refuse) }
    #expect(error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  @Test func aNameThatLeadsIntoAPrivateNetworkIsNotDialled() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    func resolver(_ addresses: [String]) -> GuardedResolver {
      let found = addresses.compactMap { IPAddress($0) }
      return GuardedResolver("sink.example", names: NameLookup { _ in found }, on: loop)
    }
    // Of several only the public ones.
    let mixed = resolver(["10.0.0.1", "93.184.216.34", "::1", "2606:2800:220:1::1"])
    let four = try await mixed.initiateAQuery(host: "sink.example", port: 443).get()
    let six = try await mixed.initiateAAAAQuery(host: "sink.example", port: 443).get()
    #expect(four.map(\.ipAddress) == ["93.184.216.34"] && four.first?.port == 443)
    #expect(six.map(\.ipAddress) == ["2606:2800:220:1::1"])
    let inside = resolver(["127.0.0.1", "::1"])
    await #expect(throws: WebClientError("leads to the private address 127.0.0.1")) {
      _ = try await inside.initiateAQuery(host: "sink.example", port: 443).get()
    }
    #expect(try await resolver([]).initiateAQuery(host: "sink.example", port: 443).get().isEmpty)
  }

  @Test func whyNothingIsGivenOnCanBeAsked() async throws {
    let sink = Sink()
    let relay = SinkRelay(
      to: try WebSocketAddress("wss://localhost:1", privateAddresses: .refuse),
      form: .init(bytesPerCount: 1, hasHeads: false), give: { _ in true },
      tell: { news in sink.news.withLock { $0.append(news) } })
    #expect(relay.trouble == nil)
    guard case .lost(let reason) = await sink.firstNews() else {
      Issue.record("nothing was said")
      return
    }
    #expect(reason.contains("the private address") && relay.trouble == reason)
    await relay.finish(within: .seconds(1))
  }
}
