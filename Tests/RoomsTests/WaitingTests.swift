import Testing

@testable import Rooms

/// Waiting for a room that does not exist yet, as the session of a LiveKit room does it.
@Suite struct WaitingTests {
  /// Who has the secret asks for the list of rooms beside the attempts to join.
  @Test func aRoomInTheListIsJoinedAtOnce() {
    let tokens = TokenSource.minted(apiKey: "key", apiSecret: "secret", room: "lobby", identity: "bot", name: "")
    var script = Script(tokens: tokens) { $0.waitForRoom = .seconds(600) }
    _ = script.handle(.connect)
    let missing = RoomError(.roomNotFound)
    _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, missing))
    // Later the attempts are as far apart as they get.
    for _ in 0..<5 {
      #expect(script.passUntilSocket(seconds: 1.1).last?.hasPrefix("socket") == true)
      #expect(script.handle(.roomListed(false)) == [])
      _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, missing))
    }
    #expect(script.pass(seconds: 0.21) == ["look for lobby"])
    // One question at a time.
    let attempt = script.session.signal.attempt
    #expect(script.pass(seconds: 0.1) == [])
    let answered = script.handle(.roomListed(true))
    #expect(answered.count == 1 && answered[0].hasPrefix("socket \(attempt + 1) "), "\(answered)")
    #expect(script.receive { $0.join = Script.join([]) }.last == "end lookout")
  }

  @Test func aServerThatDoesNotListRoomsIsAskedOnce() {
    let tokens = TokenSource.minted(apiKey: "key", apiSecret: "secret", room: "lobby", identity: "bot", name: "")
    var script = Script(tokens: tokens) { $0.waitForRoom = .seconds(600) }
    _ = script.handle(.connect)
    _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
    var lines: [String] = []
    while !lines.contains("look for lobby") { lines += script.pass(seconds: 0.05) }
    #expect(script.handle(.roomListed(nil)) == ["end lookout"])
    _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
    for _ in 0..<10 {
      lines = script.passUntilSocket(seconds: 2)
      #expect(lines.count == 1 && lines[0].hasPrefix("socket"))
      _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
    }
  }

  /// With the room's own token only, somebody else's word is needed.
  @Test func aRoomThatIsSaidToHaveBegunIsJoinedAtOnce() {
    var script = Script { $0.waitForRoom = .seconds(600) }
    _ = script.handle(.connect)
    for _ in 0..<5 {
      _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
      #expect(script.passUntilSocket(seconds: 1.1).last?.hasPrefix("socket") == true)
    }
    _ = script.handle(.socketFailed(attempt: script.session.signal.attempt, RoomError(.roomNotFound)))
    #expect(script.pass(seconds: 0.2) == [])
    #expect(script.handle(.roomBegan).last?.hasPrefix("socket") == true)
  }
}
