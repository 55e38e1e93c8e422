import Foundation
import JobsAPI
import NIOCore
import NIOPosix
import Testing

@testable import Backend

/// What is too large, too slow or no HTTP at all: it is refused, and nobody else notices.
@Suite struct LimitTests {
  /// Sends bytes over a connection of its own, piece by piece, and gives everything that came back until the other
  /// side closed.
  static func talk(
    _ port: Int, _ pieces: [String], pause: Duration = .zero, closesAfter: Bool = false, source: String = "127.0.0.1"
  ) async throws -> String {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(to: SocketAddress(ipAddress: source, port: 0))
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          // The other side may close in the middle: that is what is looked for.
          for piece in pieces {
            guard (try? await outbound.write(ByteBuffer(string: piece))) != nil else { return }
            if pause > .zero { try await Task.sleep(for: pause) }
          }
          if closesAfter { outbound.finish() }
        }
        var answer = ""
        do {
          for try await bytes in inbound { answer += String(buffer: bytes) }
        } catch {
          // Reset: the end as well.
        }
        group.cancelAll()
        return answer
      }
    }
  }

  static func head(_ length: Int, _ path: String = "/v1/jobs", type: String = "application/json") -> String {
    "POST \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(TestToken.caller())\r\nContent-Type: \(type)\r\n"
      + "Content-Length: \(length)\r\n\r\n"
  }

  @Test func aSlowHeadOrBodyIsAnsweredWith408AndClosed() async throws {
    try await TestBackend.run {
      $0.limits.request.headerTime = .seconds(2)
      $0.limits.request.requestTime = .seconds(3)
      $0.limits.request.idleTime = .milliseconds(2500)
    } _: { api in
      // A slow loris: a header a moment, for ever.
      let loris = (0..<1000).map { "X-\($0): y\r\n" }
      let slowHead = try await Self.talk(
        api.port, ["GET /healthz HTTP/1.1\r\nHost: a\r\n"] + loris, pause: .milliseconds(60))
      #expect(slowHead.hasPrefix("HTTP/1.1 408"), "\(slowHead.prefix(60))")
      let slowBody = try await Self.talk(
        api.port, [Self.head(5000)] + (0..<5000).map { _ in "a" }, pause: .milliseconds(20))
      #expect(slowBody.hasPrefix("HTTP/1.1 408"), "\(slowBody.prefix(60))")
      let silent = try await Self.talk(api.port, [])
      #expect(silent.isEmpty)
      // What comes slowly, but in time, is served; then the connection is idle for too long.
      let inTime = try await Self.talk(
        api.port, ["GET /heal", "thz HTTP/1.1\r\nHo", "st: a\r\n\r\n"], pause: .milliseconds(20))
      #expect(inTime.hasPrefix("HTTP/1.1 200"), "\(inTime.prefix(60))")
      #expect(try await api.backend.queue.jobs.list().isEmpty)
    }
  }

  @Test func whatIsTooLargeIsRefusedUnread() async throws {
    try await TestBackend.run { api in
      // More than the limit is said: refused before it comes.
      let declared = try await Self.talk(api.port, [Self.head(100_000_000)])
      #expect(declared.hasPrefix("HTTP/1.1 413"), "\(declared.prefix(60))")
      // In chunks, without saying: refused when the limit is reached, and the connection goes.
      let chunked =
        "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(TestToken.caller())\r\n"
        + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      let chunk = "4000\r\n" + String(repeating: " ", count: 0x4000) + "\r\n"
      let endless = try await Self.talk(api.port, [chunked] + (0..<2000).map { _ in chunk })
      #expect(endless.hasPrefix("HTTP/1.1 413"), "\(endless.prefix(60))")
      let longHeader = try await Self.talk(
        api.port, ["GET /healthz HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 300_000))\r\n\r\n"],
        closesAfter: true)
      #expect(longHeader.hasPrefix("HTTP/1.1 4"), "\(longHeader.prefix(60))")
      let many = (0..<500).map { "X\($0): y\r\n" }.joined()
      let manyHeaders = try await Self.talk(
        api.port, ["GET /healthz HTTP/1.1\r\nHost: a\r\n\(many)\r\n"], closesAfter: true)
      #expect(manyHeaders.hasPrefix("HTTP/1.1 4"), "\(manyHeaders.prefix(60))")
      // Without a credential nothing of the body is wanted.
      let stranger = try await Self.talk(
        api.port, ["POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"])
      #expect(stranger.hasPrefix("HTTP/1.1 401"), "\(stranger.prefix(60))")
      #expect(try await api.backend.queue.jobs.list().isEmpty)
    }
  }

  @Test(arguments: [
    "\r\n\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\r\n\r\n",
    "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "GET /%zz%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /v1/jobs?limit=%ff%fe&after=%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  ]) func whatIsNoRequestIsRefused(bytes: String) async throws {
    try await TestBackend.run {
      $0.limits.request.headerTime = .milliseconds(500)
    } _: { api in
      let answer = try await Self.talk(api.port, [bytes], closesAfter: true)
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer.prefix(80))")
      #expect(try await api.ask("GET", "/healthz", nil).status == 200)
    }
  }

  @Test func halfOpenConnectionsTakeNobodyElsesPlace() async throws {
    try await TestBackend.run {
      $0.limits.request.headerTime = .seconds(60)
      $0.limits.perAddress = 10
      $0.limits.waiting = 20
      $0.limits.connections = 5
    } _: { api in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask { _ = try? await Self.talk(api.port, ["GET /heal"], source: "127.0.0.9") }
        }
        let end = ContinuousClock.now + .seconds(20)
        while api.backend.core.door.counts.refused < 90, .now < end { await Task.yield() }
        let counts = api.backend.core.door.counts
        #expect(counts.waiting == 10 && counts.refused >= 90, "\(counts)")
        for number in 0..<10 { _ = try await api.submit("room-\(number)", TestToken.caller()) }
        group.cancelAll()
      }
    }
  }

  @Test func whoSaysNothingIsNotWaitedForAsLongAsWhoHasAsked() async throws {
    try await TestBackend.run {
      $0.limits.request.headerTime = .milliseconds(300)
      $0.limits.request.idleTime = .seconds(300)
    } _: { api in
      let silent = try await Self.talk(api.port, [])
      #expect(silent.isEmpty)
    }
  }

  @Test(arguments: [
    ("GET /healthz HTTP/1.1\r\n\r\n", 400), ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("GET /healthz HTTP/1.0\r\nConnection: close\r\n\r\n", 200),
  ]) func aHeadHasOneMeaning(head: String, status: Int) async throws {
    try await TestBackend.run { api in
      let good = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
      let answer = try await Self.talk(api.port, [head + (status == 200 ? "" : good)])
      #expect(answer.contains("HTTP/1.") && answer.contains(" \(status) "), "\(answer.prefix(80))")
      #expect(answer.ranges(of: "HTTP/1.").count == 1, "\(answer)")
      guard status != 200 else { return }
      // Behind a good one it is refused after the answer to that.
      let pair = try await Self.talk(api.port, [good + head + good])
      let found = pair.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
      #expect(found == ["200", "\(status)"], "\(pair)")
    }
  }

  @Test func metricsCanAskForACredential() async throws {
    let secret = "the secret of Prometheus"
    try await TestBackend.run {
      $0.metricsSecret = secret
    } _: { api in
      for credential in [nil, "", "another one of that length", TestToken.caller(), TestBackend.workerSecret] {
        #expect(try await api.ask("GET", "/metrics", credential).status == 401, "\(credential ?? "none")")
      }
      let answer = try await api.ask("GET", "/metrics", secret)
      #expect(answer.status == 200 && answer.text.contains("recbot_http_requests_total"))
      // It opens nothing else.
      #expect(try await api.ask("GET", "/v1/jobs", secret).status == 401)
      #expect(try await api.ask("GET", "/healthz", nil).status == 200)
    }
    var configuration = BackendConfiguration(roomService: TestBackend.service)
    configuration.metricsSecret = "short"
    #expect(configuration.problems == ["RECBOT_METRICS_SECRET: at least 16 bytes"])
  }

  @Test func attackersDoNotHoldUpOthers() async throws {
    try await TestBackend.run {
      $0.limits.request.headerTime = .seconds(30)
      $0.limits.request.requestTime = .seconds(30)
      // Attackers and caller have one address here.
      $0.limits.perAddress = 500
    } _: { api in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask { _ = try? await Self.talk(api.port, [Self.head(1000), "{"]) }
          group.addTask { _ = try? await Self.talk(api.port, ["GET /healthz HTTP/1.1\r\nX:"]) }
        }
        for _ in 0..<20 {
          group.addTask {
            let junk = String(repeating: "[", count: 60_000)
            _ = try? await api.ask("POST", "/v1/jobs", TestToken.caller(), json: junk)
          }
        }
        let ann = TestToken.caller()
        let end = ContinuousClock.now + .seconds(20)
        while api.backend.core.connections.count < 200, .now < end { await Task.yield() }
        #expect(api.backend.core.connections.count >= 200)
        var slowest = Duration.zero
        for number in 0..<50 {
          let started = ContinuousClock.now
          _ = try await api.submit("room-\(number)", ann)
          slowest = max(slowest, .now - started)
        }
        // They would wait for half a minute if they waited for the slow ones.
        #expect(slowest < .seconds(10), "\(slowest)")
        group.cancelAll()
      }
    }
  }
}
