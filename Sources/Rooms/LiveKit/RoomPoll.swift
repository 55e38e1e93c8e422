import MediaCore

/// Waiting for a room that does not exist: beside the attempts to join, the server's list of rooms is asked for it
/// several times a second, where the API key's secret is known. What is missed of the beginning is a fraction of that. A
/// pure value; times are moments of one monotonic clock.
///
/// ```
///                wanted             due, with a token
///     idle ────────────────► waiting ─────────────► asking
///      ▲                     │  ▲ └─ no token ─┐       │ │
///      │      not wanted     │  └── answered ──┼───────┘ │ the server does not tell
///      └─────────────────────┘                 ▼         ▼
///                                              refused ◄─┘   for good
/// ```
struct RoomPoll: Sendable {
  /// How often the list of rooms is asked.
  static let interval = Duration.milliseconds(200)

  /// When to ask next; nil while nothing is to be asked, or an answer is awaited.
  private(set) var nextDeadline: Instant?
  private var isAsking = false
  /// Whether anything was asked, so that there is a connection to close.
  private var isOpen = false
  /// Whether the server does not tell: it doesn't know the question, or doesn't allow it.
  private var isRefused = false
  private let settings: LiveKitSettings

  /// Nothing is asked yet.
  init(settings: LiveKitSettings) { self.settings = settings }

  /// Asks when it is time, and ends when the room is not waited for any more. After every input. `isWaiting`: there is
  /// no room, or no place in it; `isMissing`: it is the room that is missing.
  mutating func update(isWaiting: Bool, isMissing: Bool, at now: Instant) -> LiveKitRequest? {
    guard isWaiting, isMissing, !isRefused else {
      nextDeadline = nil
      // The answer that an attempt under way will get may be that there is still no room.
      return isOpen && (!isWaiting || isRefused) ? end() : nil
    }
    guard !isAsking else { return nil }
    let due = nextDeadline ?? now + Self.interval
    nextDeadline = due
    guard due <= now else { return nil }
    nextDeadline = nil
    let wallSeconds = (now.nanoseconds &+ settings.wallClockOffset) / 1_000_000_000
    guard let (room, token) = settings.tokens.listing(now: wallSeconds) else {
      isRefused = true
      return nil
    }
    (isAsking, isOpen) = (true, true)
    return .lookForRoom(room, token: token)
  }

  /// The list was read: whether the room is there. A server that doesn't tell (nil) is asked no more: the attempts to join
  /// go on.
  mutating func answered(_ isThere: Bool?) {
    isAsking = false
    if isThere == nil { isRefused = true }
  }

  /// Lets the connection go, if there is one.
  mutating func end() -> LiveKitRequest? {
    guard isOpen else { return nil }
    (isOpen, isAsking) = (false, false)
    return .endLookout
  }
}
