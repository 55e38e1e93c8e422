import MediaCore

/// What was told of where the connection to a two-party room stands: only news are told. A pure value.
///
/// | `RoomStatus.state` | when |
/// | --- | --- |
/// | `connecting`, `waitingForRoom` | the first seat is asked for; it is not to be had yet |
/// | `joined` | nobody is opposite, or is being connected to |
/// | `connected` | media flows |
/// | `resuming` | it is lost, and an ICE restart is under way |
/// | `rejoining`, `relaying` | it is lost, and a new connection is needed, directly or over relays |
struct PeerStatus: Sendable {
  private var told = RoomStatus()

  /// Nothing is told yet.
  init() {}

  /// Where the connection stands at `now`, when that is news. An attempt that is put off is none.
  mutating func news(
    _ phase: PeerFlow.Phase, _ mailbox: MailboxLink, _ negotiation: PeerNegotiation, _ media: PeerMedia,
    _ recovery: PeerRecovery, at now: Instant
  ) -> RoomStatus? {
    var status = RoomStatus()
    var due: Instant?
    var hasJoined = true
    let exchange = negotiation.exchange
    switch phase {
    case .idle, .leaving, .ended: return nil
    case .joining:
      hasJoined = false
      status.state = recovery.error?.action(hasJoined: false) == .wait ? .waitingForRoom : .connecting
      (status.attempts, due) = (mailbox.failures, mailbox.retryAt)
    case .running where media.isUp: status.state = .connected
    case .running where recovery.lostAt != nil:
      status.state = exchange?.continues != nil ? .resuming : recovery.prefersRelay ? .relaying : .rejoining
      status.attempts = recovery.attempts
      due = mailbox.isReachable ? (exchange == nil ? recovery.retryAt : nil) : mailbox.retryAt
    case .running where recovery.prefersRelay && exchange != nil:
      (status.state, status.attempts) = (.relaying, recovery.resets)
    case .running: status.state = .joined
    }
    if status.state != .connected, status.state != .joined, let error = recovery.error {
      (status.error, status.action) = (error, error.action(hasJoined: hasJoined))
    }
    guard status != told else { return nil }
    told = status
    status.nextAttemptIn = due.flatMap { $0 > now ? $0 - now : nil }
    return status
  }

  /// The session is over, and this ended it when that was a fault.
  static func end(_ error: RoomError?) -> RoomStatus {
    var status = RoomStatus(state: .ended)
    status.error = error
    if error != nil { status.action = .fail }
    return status
  }
}
