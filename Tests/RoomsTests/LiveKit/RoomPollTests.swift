import MediaCore
import TestKit
import Testing

@testable import Rooms

/// The states of the poll by themselves, as drawn at `RoomPoll`.
@Suite struct RoomPollTests {
  static let now = Instant.seconds(1000)

  static func poll(_ tokens: TokenSource) -> RoomPoll {
    var settings = SignalLinkTests.settings
    settings.tokens = tokens
    return RoomPoll(settings: settings)
  }

  static let minted = TokenSource.minted(apiKey: "key", apiSecret: "secret", room: "lobby", identity: "bot", name: "")

  /// Whether a request is a question.
  func isQuestion(_ request: LiveKitRequest?) -> Bool {
    if case .lookForRoom("lobby", _) = request { true } else { false }
  }

  @Test func asksAgainAfterEachAnswerAndEndsWithTheWait() {
    var poll = Self.poll(Self.minted)
    var now = Self.now
    #expect(poll.update(isWaiting: false, isMissing: false, at: now) == nil && poll.nextDeadline == nil)
    for _ in 0..<3 {
      #expect(poll.update(isWaiting: true, isMissing: true, at: now) == nil)
      #expect(poll.nextDeadline == now + RoomPoll.interval)
      now += RoomPoll.interval
      #expect(isQuestion(poll.update(isWaiting: true, isMissing: true, at: now)) && poll.nextDeadline == nil)
      #expect(poll.update(isWaiting: true, isMissing: true, at: now + RoomPoll.interval) == nil, "one at a time")
      poll.answered(false)
    }
    // An attempt under way: there is no error any more, but the room may still be missing.
    #expect(poll.update(isWaiting: true, isMissing: false, at: now) == nil)
    #expect(poll.update(isWaiting: false, isMissing: false, at: now) == .endLookout)
    #expect(poll.update(isWaiting: false, isMissing: false, at: now) == nil && poll.end() == nil)
  }

  @Test func whoDoesNotTellIsAskedNoMore() {
    var poll = Self.poll(Self.minted)
    _ = poll.update(isWaiting: true, isMissing: true, at: Self.now)
    _ = poll.update(isWaiting: true, isMissing: true, at: Self.now + RoomPoll.interval)
    poll.answered(nil)
    #expect(poll.update(isWaiting: true, isMissing: true, at: Self.now) == .endLookout)
    #expect(poll.update(isWaiting: true, isMissing: true, at: Self.now) == nil && poll.nextDeadline == nil)
  }

  @Test func withoutTheSecretNobodyIsAsked() {
    var poll = Self.poll(.given("T0"))
    _ = poll.update(isWaiting: true, isMissing: true, at: Self.now)
    #expect(poll.update(isWaiting: true, isMissing: true, at: Self.now + RoomPoll.interval) == nil)
    #expect(poll.update(isWaiting: true, isMissing: true, at: Self.now) == nil && poll.nextDeadline == nil)
  }
}
