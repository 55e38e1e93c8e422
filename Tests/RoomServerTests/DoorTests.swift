import Testing

@testable import RoomServer

/// What comes over TCP before anybody has shown a token.
@Suite struct DoorTests {
  private static let attacker = "127.0.0.9"

  @Test func halfOpenConnectionsTakeNobodyElsesPlace() throws {
    let server = try TestServer {
      $0.limits.connections = 30
      $0.limits.connectionsPerAddress = 10
      $0.limits.handshakeTimeout = .seconds(60)
    }
    var held: [WireClient] = []
    for _ in 0..<200 {
      let client = try #require(WireClient(port: server.port, source: Self.attacker))
      client.send(Array("GET /rt".utf8))
      held.append(client)
    }
    // All of the first ones hold their places; who comes from elsewhere joins, and who comes after them is closed.
    let guest = try server.join("guest")
    #expect(guest.next { if case .join = $0 { true } else { nil } } == true)
    #expect(held[199].waitForEnd())
    held.removeAll()
  }

  @Test func whoHasATokenIsToldWhenAllPlacesAreTaken() throws {
    let server = try TestServer { $0.limits.connections = 2 }
    let one = try server.join("one")
    let two = try server.join("two")
    let text = try token("three")
    let refusal = try server.client().request("/rtc/validate?access_token=\(text)")
    #expect(refusal?.status == 503 && refusal?.body == "the server has too many connections\n")
    #expect(try server.client().upgrade("/rtc?protocol=16&access_token=\(text)") == 503)
    #expect(one.next { if case .join = $0 { true } else { nil } } == true)
    #expect(two.next { if case .join = $0 { true } else { nil } } == true)
    // Without a token one is answered all the same.
    #expect(try server.client().request("/")?.status == 200)
  }

  @Test func onlyWhoHasATokenMaySendALongBody() throws {
    let server = try TestServer()
    let long = [UInt8](repeating: 32, count: 200_000)
    let path = "/twirp/livekit.RoomService/ListRooms"
    let type = "Content-Type: application/json"
    let stranger = try server.client()
    // Refused in the middle: the rest is not waited for.
    stranger.send(
      Array("POST \(path) HTTP/1.1\r\nHost: a\r\n\(type)\r\nContent-Length: 900000\r\n\r\n".utf8) + long)
    #expect(stranger.response()?.status == 401)
    let owner = ["Authorization: Bearer \(try adminToken())", type]
    let body = Array("{".utf8) + long + Array("}".utf8)
    #expect(try server.client().request(path, method: "POST", headers: owner, body: body)?.status == 200)
  }

  @Test func anAnsweredRequestGivesItsPlaceBack() throws {
    let server = try TestServer { $0.limits.connections = 1 }
    let client = try server.client()
    for _ in 0..<3 {
      #expect(client.request("/rtc/validate?access_token=\(try token())")?.status == 200)
    }
    // Still open, and the only place is free.
    let other = try server.join("other")
    #expect(other.next { if case .join = $0 { true } else { nil } } == true)
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET /rtc HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  ]) func aHeadWithTwoMeaningsIs400AndNothingBehindItIsRead(head: String) throws {
    let server = try TestServer()
    let client = try server.client()
    client.send(Array((head + "GET / HTTP/1.1\r\nHost: a\r\n\r\n").utf8))
    #expect(client.response()?.status == 400)
    #expect(client.response() == nil)
    let old = try server.client()
    old.send(Array("GET / HTTP/1.0\r\n\r\n".utf8))
    #expect(old.response()?.status == 200)
  }
}
