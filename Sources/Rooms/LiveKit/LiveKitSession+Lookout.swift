/// Waiting for a room that does not exist: beside the attempts to join, the server's list of rooms is asked for it
/// several times a second, where the API key's secret is known. What is missed of the beginning is a fraction of that.
extension LiveKitSession {
  /// What is asked of the list of rooms. Times are ns.
  struct Lookout: Sendable {
    /// When to ask next; nil while nothing is to be asked, or an answer is awaited.
    var nextLook: Int64?
    /// Whether an answer is awaited.
    var isAsking = false
    /// Whether anything was asked, so that there is a connection to close.
    var isOpen = false
    /// Whether the server does not tell: it doesn't know the question, or doesn't allow it.
    var isRefused = false
  }

  /// How often the list of rooms is asked.
  static let lookoutInterval: Int64 = 200_000_000

  /// Asks when it is time, and ends when the room is not waited for any more. After every input.
  mutating func lookForRoom(at now: Int64) {
    guard phase != .ended else { return }
    guard policy.state == .waitingForRoom, policy.error?.kind == .roomNotFound, !lookout.isRefused else {
      lookout.nextLook = nil
      // The answer that an attempt under way will get may be that there is still no room.
      guard lookout.isOpen, policy.state != .waitingForRoom || lookout.isRefused else { return }
      endLookout()
      return
    }
    guard !lookout.isAsking else { return }
    let due = lookout.nextLook ?? now &+ Self.lookoutInterval
    lookout.nextLook = due
    guard due <= now else { return }
    guard let (room, token) = settings.tokens.listing(now: (now &+ settings.wallClockOffset) / 1_000_000_000) else {
      lookout.isRefused = true
      lookout.nextLook = nil
      return
    }
    lookout.nextLook = nil
    (lookout.isAsking, lookout.isOpen) = (true, true)
    add(.lookForRoom(room, token: token))
  }

  /// Lets the connection go, if there is one.
  mutating func endLookout() {
    guard lookout.isOpen else { return }
    (lookout.isOpen, lookout.isAsking) = (false, false)
    add(.endLookout)
  }

  /// The list was read. A server that doesn't tell is asked no more: the attempts to join go on.
  mutating func roomListed(_ isThere: Bool?, at now: Int64) {
    lookout.isAsking = false
    guard let isThere else {
      lookout.isRefused = true
      return
    }
    if isThere { follow(policy.handle(.roomSeen, at: now), at: now) }
  }
}
