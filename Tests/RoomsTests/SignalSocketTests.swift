import Logging
import MediaCore
import NIOCore
import NIOPosix
import Session
import Signaling
import Synchronization
import SystemKit
import Testing
import Transport

@testable import Rooms

/// Keeps what a room connection tells.
final class CollectingSink: SessionSink {
  let events = Mutex<[RoomEvent]>([])
  let frames = Mutex<[TrackID: Int]>([:])

  func put(_ payload: SessionEvent.Payload) {
    switch payload {
    case .room(let event): events.withLock { $0.append(event) }
    case .frame(_, let track): frames.withLock { $0[track, default: 0] += 1 }
    }
  }

  var texts: [String] { events.withLock { $0.map(Script.text) } }

  func frames(of track: String) -> Int { frames.withLock { $0[TrackID(track), default: 0] } }
}

@Suite struct SignalSocketTests {
  /// Joins and returns the error's kind and detail.
  func failure(
    url: String, ca: String? = nil, timeout: Duration = .seconds(5), tokens: TokenSource = .given("T0")
  ) async -> RoomError? {
    let loop = MediaLoop(name: "test")
    defer { loop.stop() }
    var options = RoomOptions(url: url, tokens: tokens)
    options.tlsCAFile = ca
    options.connectTimeout = timeout
    let sink = CollectingSink()
    let client = LiveKitRoomClient(options: options, loop: loop, sink: sink, logger: Logger(label: "test"))
    do {
      try await client.join()
      client.leave()
      return nil
    } catch {
      #expect(sink.texts.count == 1 && sink.texts.first?.hasPrefix("ended") == true)
      return error
    }
  }

  func answer(_ status: String, _ body: String) -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  @Test func badAddressesAreRefusedWithoutANetwork() async {
    #expect(await failure(url: "localhost:7880")?.kind == .invalidURL)
    #expect(await failure(url: "ws://user:secret@host")?.kind == .invalidURL)
    #expect(await failure(url: "ws://user:secret@host")?.description.contains("secret") == false)
  }

  @Test func nobodyThereIsRefused() async throws {
    let held = try LoopbackSocket(.closed)
    defer { withExtendedLifetime(held) {} }
    #expect(await failure(url: "ws://127.0.0.1:\(held.port)")?.kind == .refused)
  }

  @Test func unknownNamesAreNamed() async {
    let error = await failure(url: "ws://no-such-host.invalid")
    #expect(error?.kind == .dnsFailure)
    #expect(error?.detail == "no-such-host.invalid")
  }

  @Test func aSilentServerIsATimeout() async throws {
    let server = try await CannedServer([nil])
    #expect(await failure(url: "ws://127.0.0.1:\(server.port)", timeout: .milliseconds(300))?.kind == .timeout)
    await server.stop()
  }

  @Test func theTokenTravelsInTheHeaderOnly() async throws {
    let server = try await CannedServer([answer("401 Unauthorized", "invalid token")])
    let error = await failure(url: "http://127.0.0.1:\(server.port)/prefix/", tokens: .given("TOKEN"))
    #expect(error?.kind == .unauthorized)
    #expect(error?.detail == "HTTP 401, invalid token")
    let request = server.heard.first ?? ""
    #expect(request.hasPrefix("GET /prefix/rtc?protocol=16&auto_subscribe=1&adaptive_stream=0 HTTP/1.1\r\n"))
    #expect(request.contains("Authorization: Bearer TOKEN\r\n"))
    #expect(request.lowercased().contains("upgrade: websocket\r\n"))
    #expect(request.split(separator: "TOKEN").count == 2)
    await server.stop()
  }

  @Test func aRefusalWithoutTextIsAskedFor() async throws {
    let server = try await CannedServer([
      answer("401 Unauthorized", ""), answer("401 Unauthorized", "token is expired (exp)"),
    ])
    #expect(await failure(url: "ws://127.0.0.1:\(server.port)")?.kind == .tokenExpired)
    #expect(server.heard.count == 2)
    #expect(server.heard.last?.hasPrefix("GET /rtc/validate?") == true)
    await server.stop()
  }

  /// Between two looks of a server that has no such room, and says so without a text, the room begins.
  @Test func aRoomThatBeginsMeanwhileIsAskedForAgain() async throws {
    let (absent, there) = (answer("404 Not Found", ""), answer("200 OK", "success"))
    let begins = try await CannedServer([absent, there, answer("503 Service Unavailable", "soon")])
    #expect(await failure(url: "ws://127.0.0.1:\(begins.port)")?.kind == .busy)
    #expect(begins.heard.map { $0.prefix(9) } == ["GET /rtc?", "GET /rtc/", "GET /rtc?"])
    await begins.stop()
    // Once: something between that lets no upgrade through is not asked for ever.
    let never = try await CannedServer([absent, there, absent, there, absent])
    #expect(await failure(url: "ws://127.0.0.1:\(never.port)")?.kind == .notARoomServer)
    #expect(never.heard.count == 4)
    await never.stop()
  }

  @Test func aRefusalLeavesNoConnectionBehind() async throws {
    for texts in [["", "token is expired (exp)"], ["", ""], ["no"]] {
      let server = try await CannedServer(texts.map { answer("503 Service Unavailable", $0) }, keepsAlive: true)
      #expect(await failure(url: "ws://127.0.0.1:\(server.port)") != nil)
      #expect(await server.allClosed())
      await server.stop()
    }
  }

  @Test func aBadAddressEndsTheSessionOnce() async {
    let loop = MediaLoop(name: "test")
    let sink = CollectingSink()
    let ends = Mutex(0)
    let client = LiveKitRoomClient(
      options: RoomOptions(url: "nonsense", tokens: .given("")), loop: loop, sink: sink, logger: Logger(label: "test"),
      onEnd: { _, _ in ends.withLock { $0 += 1 } })
    await #expect(throws: RoomError.self) { try await client.join() }
    client.leave()
    loop.stop()
    #expect(sink.texts.count == 1 && ends.withLock { $0 } == 1)
  }

  @Test func otherServersAreNotRoomServers() async throws {
    for text in [
      answer("200 OK", "<html>hello</html>"), answer("404 Not Found", "404 page not found"), "SSH-2.0-OpenSSH_9.2\r\n",
      "", answer("101 Switching Protocols", ""),
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: wrong\r\n\r\n",
    ] {
      let server = try await CannedServer([text])
      #expect(await failure(url: "ws://127.0.0.1:\(server.port)")?.kind == .notARoomServer, "\(text)")
      await server.stop()
    }
  }

  @Test func certificatesAreVerified() async throws {
    let certificate = try #require(TestCertificate(), "needs the openssl command")
    defer { certificate.remove() }
    let tls = try #require(certificate.serverContext())
    let server = try await CannedServer([answer("401 Unauthorized", "permissions denied")], tls: tls)
    // The system doesn't know the authority.
    let unknown = await failure(url: "wss://localhost:\(server.port)")
    #expect(unknown?.kind == .tlsFailure && unknown?.exitCode == 14)
    #expect(unknown?.detail == "localhost: no authority that this machine trusts has signed its certificate")
    #expect(unknown?.remedy.contains("--tls-ca FILE") == true)
    // The user says that it is good.
    #expect(
      await failure(url: "wss://localhost:\(server.port)", ca: certificate.certificate)?.kind == .notPermitted)
    // The certificate is for another name.
    let misnamed = await failure(url: "wss://127.0.0.1:\(server.port)", ca: certificate.certificate)
    #expect(misnamed?.kind == .tlsFailure && misnamed?.detail == "127.0.0.1: its certificate is for another host name")
    let lacking = await failure(url: "wss://localhost:\(server.port)", ca: "/nowhere.pem")
    #expect(lacking?.kind == .tlsFailure && lacking?.detail == "no certificates could be read from /nowhere.pem")
    await server.stop()
    // Not TLS at all.
    let plain = try await CannedServer([answer("400 Bad Request", "")])
    let clear = await failure(url: "wss://localhost:\(plain.port)", ca: certificate.certificate)
    #expect(clear?.kind == .tlsFailure && clear?.detail == "localhost: what answers there speaks no TLS")
    #expect(clear?.remedy.contains("ws://") == true)
    await plain.stop()
  }

  /// Certificates whose time is over, or has not begun: both look to the TLS library like an unknown authority.
  @Test func aCertificatesTimeIsTold() async throws {
    for (from, until, words) in [
      ("20200101000000Z", "20200103000000Z", "localhost: its certificate expired on 2020-01-03"),
      ("20990101000000Z", "20990103000000Z", "localhost: its certificate is valid only from 2099-01-01 on"),
    ] {
      let certificate = try #require(TestCertificate(from: from, until: until), "needs the openssl command")
      defer { certificate.remove() }
      let server = try await CannedServer([answer("200 OK", "")], tls: certificate.serverContext())
      for ca in [nil, certificate.certificate] {
        let error = await failure(url: "wss://localhost:\(server.port)", ca: ca)
        #expect(error?.kind == .tlsFailure && error?.detail == words, "\(String(describing: error))")
      }
      await server.stop()
    }
  }

  /// A server that says nothing but an alert, and one that hangs up.
  @Test func aRefusedHandshakeIsTold() async throws {
    let alert = "\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}"
    for (answer, words) in [
      (alert, "it has no TLS version or cipher in common with recbot, which wants TLS 1.2 or later"),
      ("", "it ended the connection during the TLS handshake"),
    ] {
      let server = try await CannedServer([answer])
      let error = await failure(url: "wss://localhost:\(server.port)")
      #expect(error?.kind == .tlsFailure && error?.detail == "localhost: \(words)", "\(String(describing: error))")
      await server.stop()
    }
  }

  /// A body of a megabyte with the token, escape sequences and the reason at its end.
  @Test func aLongRefusalIsReadAndShownShort() async throws {
    let noise = "\u{1b}[2J\u{0}\u{202e}\u{2028}"
    let token =
      "eyJhbGciOiJIUzI1NiJ9." + String(repeating: "a1B2", count: 7000) + ".abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
    let body = "invalid token: \(token)\(noise), error: token is expired (exp)" + String(repeating: "x", count: 1 << 20)
    let server = try await CannedServer([answer("401 Unauthorized", body)])
    let error = await failure(url: "ws://127.0.0.1:\(server.port)")
    #expect(error?.kind == .tokenExpired)
    let text = error?.description ?? ""
    #expect(
      text.unicodeScalars.count < 600 && !text.contains("a1B2")
        && !text.unicodeScalars.contains(where: PeerText.isActive))
    await server.stop()
  }

  @Test func leavingWhileConnectingEndsTheJoin() async throws {
    let server = try await CannedServer([nil])
    let loop = MediaLoop(name: "test")
    let sink = CollectingSink()
    let client = LiveKitRoomClient(
      options: RoomOptions(url: "ws://127.0.0.1:\(server.port)", tokens: .given("")), loop: loop, sink: sink,
      logger: Logger(label: "test"))
    let task = Task { () -> RoomError? in
      do throws(RoomError) {
        try await client.join()
        return nil
      } catch {
        return error
      }
    }
    task.cancel()
    #expect(await task.value != nil)
    #expect(sink.texts == ["ended stopped"])
    loop.stop()
    await server.stop()
  }
}
