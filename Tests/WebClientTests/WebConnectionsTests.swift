import MediaCore
import NIOCore
import SystemKit
import Testing

@testable import WebClient

/// Requests to servers that answer, break off and keep silent as they like.
@Suite struct WebConnectionsTests {
  /// Nobody is late where many tests run at once.
  private static let patience = Duration.seconds(300)
  private static let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

  private func request(_ server: CannedServer, target: String = "/a?b=c", body: String? = nil, tls: Bool = false)
    -> WebRequest
  {
    WebRequest(
      body == nil ? .GET : .POST, isSecure: tls, host: tls ? "localhost" : "127.0.0.1", port: server.port,
      target: target,
      body: body.map { ByteBuffer(string: $0) })
  }

  /// The body of the answer as text.
  private func ask(_ request: WebRequest, _ connections: WebConnections = WebConnections()) async throws(WholeAnswer
    .Fault) -> String
  {
    String(decoding: try await connections.whole(request, within: Self.patience, atMost: 1 << 20).body, as: UTF8.self)
  }

  @Test func aConnectionIsUsedAgainWhereThatIsWanted() async throws {
    let server = try await CannedServer([Self.good], keepsAlive: true, answersAgain: true)
    let kept = WebConnections(.init(keepsOpen: Self.patience))
    for _ in 0..<3 { #expect(try await ask(request(server), kept) == "good") }
    #expect(server.connections == 1 && server.heard.count == 3)
    #expect(
      server.heard.allSatisfy {
        $0.hasPrefix("GET /a?b=c HTTP/1.1\r\n") && $0.contains("host: 127.0.0.1:\(server.port)\r\n")
      })
    #expect(try await ask(request(server)) == "good")
    #expect(server.connections == 2)
    kept.close()
    #expect(await server.allClosed())
    await server.stop()
  }

  @Test func whatAServerHasJustGivenUpIsAskedAnewWhereThatDoesNoHarm() async throws {
    let server = try await CannedServer([Self.good], keepsAlive: true)
    let kept = WebConnections(.init(keepsOpen: Self.patience))
    for _ in 0..<3 { #expect(try await ask(request(server), kept) == "good") }
    #expect(server.connections == 3)
    await #expect(throws: WholeAnswer.Fault.web(.unanswered)) { try await ask(request(server, body: "twice?"), kept) }
    #expect(try await ask(request(server, body: "once"), kept) == "good")
    await server.stop()
  }

  @Test func aConnectionThatEndsWhileItWaitsIsNotUsed() async throws {
    let server = try await CannedServer([Self.good])
    let kept = WebConnections(.init(keepsOpen: Self.patience))
    for _ in 0..<3 {
      #expect(try await ask(request(server, body: "once"), kept) == "good")
      for _ in 0..<3000 where kept.waiting > 0 { try await Task.sleep(for: .milliseconds(10)) }
      #expect(kept.waiting == 0)
    }
    await server.stop()
  }

  @Test func whereAnAnswerEndsIsKnown() async throws {
    let faults: [(String, WebFault)] = [
      ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ngood", .cut),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n", .cut),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\nno number\r\n", .cut),
      ("HTTP/1.1 200 OK\r\nContent-Le", .unanswered), ("", .unanswered),
      ("SSH-2.0-OpenSSH_9.2\r\n", .notHTTP),
      ("HTTP/1.1 200 OK\r\na: \(String(repeating: "x", count: 200_000))", .notHTTP),
    ]
    for (text, fault) in faults {
      let server = try await CannedServer([text])
      let found = await #expect(throws: WholeAnswer.Fault.self) { try await ask(request(server)) }
      #expect(found == .web(fault), "\(text.prefix(80))")
      await server.stop()
    }
    let answers = [
      "HTTP/1.1 200 OK\r\n\r\ngood", "HTTP/1.0 200 OK\r\n\r\ngood",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ngo\r\n2\r\nod\r\n0\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
    ]
    for text in answers {
      let server = try await CannedServer([text])
      #expect(try await ask(request(server)) == "good", "\(text)")
      await server.stop()
    }
  }

  @Test func whoKeepsSilentIsGivenUp() async throws {
    for text in [nil, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ngood"] {
      let server = try await CannedServer([text], keepsAlive: true)
      await #expect(throws: WholeAnswer.Fault.web(.late)) {
        try await ask(request(server), WebConnections(.init(silence: .milliseconds(100))))
      }
      #expect(await server.allClosed())
      await server.stop()
    }
  }

  @Test func aServerIsReadNoFasterThanItsAnswerIsTaken() async throws {
    let length = 64 << 20
    let server = try await CannedServer([
      "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: length)
    ])
    // Silence is that of the server: who takes nothing is not late.
    let response = try await WebConnections(.init(silence: .milliseconds(200))).answer(to: request(server))
    for _ in 0..<50 where server.sent == 0 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(server.sent == 0, "64 MiB went somewhere")
    var count = 0
    for try await part in response.body { count += part.readableBytes }
    #expect(count == length)
    await server.stop()
  }

  @Test func whatNobodyWantsAnyMoreEndsItsConnection() async throws {
    let silent = try await CannedServer([nil], keepsAlive: true)
    let asking = Task { try await ask(request(silent)) }
    for _ in 0..<3000 where silent.heard.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    asking.cancel()
    await #expect(throws: (any Error).self) { try await asking.value }
    #expect(await silent.allClosed())
    await silent.stop()

    let half = try await CannedServer(["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ngood"], keepsAlive: true)
    #expect(try await WebConnections().answer(to: request(half)).status == .ok)
    #expect(await half.allClosed())
    await half.stop()
  }

  @Test func whatIsGivenUpBeforeItBeginsIsNotSent() async throws {
    let server = try await CannedServer([Self.good], keepsAlive: true, answersAgain: true)
    let kept = WebConnections(.init(keepsOpen: Self.patience))
    #expect(try await ask(request(server), kept) == "good")
    let asking = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await ask(request(server), kept)
    }
    await #expect(throws: (any Error).self) { try await asking.value }
    #expect(await server.allClosed())
    #expect(server.heard.count == 1)
    await server.stop()
  }

  @Test(arguments: ["/a b", "/a\r\nx: y", "/ HTTP/1.1\r\nHost: other\r\n\r\nGET /", "/ä", "/\u{0}", "/\u{7f}"])
  func aTargetThatWouldBeAnotherRequestIsNotSent(target: String) async throws {
    let server = try await CannedServer([Self.good])
    await #expect(throws: WholeAnswer.Fault.self) { try await ask(request(server, target: target)) }
    #expect(await server.allClosed())
    #expect(server.heard.isEmpty)
    await server.stop()
  }

  @Test func aServerMustBeWhoItSays() async throws {
    let certificate = try #require(TestCertificate(), "needs the openssl command")
    defer { certificate.remove() }
    let tls = try #require(certificate.serverContext())
    let trusting = WebConnections(.init(authorities: certificate.certificate))
    let server = try await CannedServer([Self.good], tls: tls)
    let body = String(repeating: "body", count: 1 << 20)
    #expect(try await trusting.answer(to: request(server, body: body, tls: true), at: "127.0.0.1").status == .ok)
    #expect(server.heard.first?.hasSuffix("\r\n\r\n" + body) == true)

    func fault(_ connections: WebConnections, _ request: WebRequest) async -> WebFault? {
      await #expect(throws: WebFault.self) { try await connections.answer(to: request, at: "127.0.0.1") }
    }
    #expect(await fault(WebConnections(), request(server, tls: true)) == .tls(.untrusted))
    var other = request(server, tls: true)
    other.host = "other.example"
    #expect(await fault(trusting, other) == .tls(.wrongName))
    other.host = "127.0.0.1"
    #expect(await fault(trusting, other) == .tls(.wrongName))
    let nowhere = WebConnections(.init(authorities: "/nowhere"))
    #expect(await fault(nowhere, other) == .tls(.other("no certificates could be read from /nowhere")))
    let plain = try await CannedServer([Self.good])
    #expect(await fault(trusting, request(plain, tls: true)) == .tls(.notTLS))
    await server.stop()
    await plain.stop()
  }

  /// Without a length the end of the connection is that of the answer, and anybody can end a connection.
  @Test(arguments: [true, false]) func anEndThatTheServerDidNotAnnounceIsNone(announcesEnd: Bool) async throws {
    let certificate = try #require(TestCertificate(), "needs the openssl command")
    defer { certificate.remove() }
    let tls = try #require(certificate.serverContext())
    let server = try await CannedServer(["HTTP/1.1 200 OK\r\n\r\ngood"], tls: tls, announcesEnd: announcesEnd)
    let trusting = WebConnections(.init(authorities: certificate.certificate))
    var found = ""
    let response = try await trusting.answer(to: request(server, tls: true), at: "127.0.0.1")
    do {
      for try await part in response.body { found += String(buffer: part) }
      #expect(announcesEnd)
    } catch {
      #expect(error as? WebFault == .cut && !announcesEnd)
    }
    #expect(found == "good")
    await server.stop()
  }
}
