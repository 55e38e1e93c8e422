import Signaling
import SwiftProtobuf
import SystemKit
import Testing

@testable import Rooms

@Suite struct RoomLookoutTests {
  /// What a lookout answers for a server's answers, one a connection.
  private func answers(
    _ texts: [String?], room: String = "lobby", questions: Int? = nil, keepsAlive: Bool = false
  ) async throws -> (answers: [Bool?], heard: [String]) {
    let server = try await CannedServer(texts, keepsAlive: keepsAlive)
    let lookout = RoomLookout(url: try SignalURL("ws://127.0.0.1:\(server.port)/lk"), tlsCAFile: nil)
    var answers: [Bool?] = []
    for _ in 0..<(questions ?? texts.count) {
      answers.append(
        await withCheckedContinuation { continuation in
          lookout.ask(for: room, token: "T0") { continuation.resume(returning: $0) }
        })
    }
    lookout.close()
    await server.stop()
    return (answers, server.heard)
  }

  private func answer(_ status: String, _ body: String) -> String {
    "HTTP/1.1 \(status)\r\nContent-Type: application/protobuf\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private func list(_ rooms: [String]) throws -> String {
    let list = Livekit_ListRoomsResponse.with { $0.rooms = rooms.map { name in .with { $0.name = name } } }
    let bytes: [UInt8] = try list.serializedBytes()
    return answer("200 OK", String(decoding: bytes, as: UTF8.self))
  }

  @Test func aRoomIsThereWhenTheListSaysSo() async throws {
    let (found, heard) = try await answers([list([]), list(["hall"]), list(["hall", "lobby"])])
    #expect(found == [false, false, true])
    #expect(heard.count == 3)
    #expect(heard.allSatisfy { $0.hasPrefix("POST /lk/twirp/livekit.RoomService/ListRooms HTTP/1.1\r\n") })
    #expect(heard.allSatisfy { $0.contains("authorization: Bearer T0\r\n") && $0.contains("lobby") })
  }

  @Test func whatAClosedConnectionHasNotHeardIsAskedOnAnother() async throws {
    let (found, heard) = try await answers([list([]), list(["hall"]), list(["lobby"])], keepsAlive: true)
    #expect(found == [false, false, true])
    #expect(heard.count == 3)
  }

  @Test func aServerThatNeverTellsIsKnown() async throws {
    let (refused, _) = try await answers([
      answer("401 Unauthorized", "no"), answer("404 Not Found", ""), answer("501 Not Implemented", ""),
      answer("200 OK", "\u{7f}\u{7f}\u{7f}"),
    ])
    #expect(refused == [nil, nil, nil, nil])
    let (passing, _) = try await answers([answer("503 Service Unavailable", ""), answer("429 Too Many Requests", "")])
    #expect(passing == [false, false])
  }

  @Test func aBrokenConnectionAndAnEndlessAnswerAreNoAnswer() async throws {
    let endless = "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + String(repeating: "x", count: 200_000)
    let (found, _) = try await answers(["HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nab", endless, "nonsense\r\n\r\n"])
    #expect(found == [false, false, false])
  }
}
