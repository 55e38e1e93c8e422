import Signaling

/// What a peer asks of a mailbox. Every request but `takeSeat` is made under the session of a seat that is taken.
public enum MailboxRequest: Hashable, Sendable {
  /// Takes a seat, or takes it again.
  case takeSeat(SeatRequest)
  /// Answered when the room's revision is no longer this one, or after a while.
  case watch(session: String, after: UInt64)
  /// Stores a description in the place of the one before.
  case put(session: String, MailboxDescription)
  /// Adds candidates to the stored description.
  case add(session: String, MailboxCandidates)
  /// Deletes the description.
  case clear(session: String)
  /// Says goodbye.
  case leave(session: String)
}

/// Why a mailbox did not do what it was asked.
public enum MailboxFault: Error, Hashable, Sendable {
  /// The mailbox knows of no seat (any more): it was restarted, or the peer was silent for too long.
  case noSeat
  /// Another client with the same identity has the seat.
  case replaced
  /// The wanted seat is taken; the text says by whom.
  case occupied(String)
  /// The candidates belong to a description that is not stored.
  case stale
  /// Everything else: not reached, not allowed, not understood.
  case failed(RoomError)
}

/// Where the two peers of a room leave their descriptions and candidates for each other. Whatever can store two small
/// documents atomically and tell of changes can be one; `HTTPMailbox` is that of the embedded room server.
public protocol Mailbox: AnyObject, Sendable {
  /// Asks for something. `completion` is called exactly once, on any thread, with the room as it is then. Requests may
  /// overtake each other: whoever needs an order waits for the answer. Any thread.
  func perform(
    _ request: MailboxRequest, completion: @escaping @Sendable (Result<MailboxView, MailboxFault>) -> Void)
}
