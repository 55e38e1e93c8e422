import MediaCore

/// What was told of where a LiveKit connection stands: only news are told. A pure value.
struct StatusReport: Sendable {
  private var told = RoomStatus()
  private var toldAttemptAt: Instant?

  /// Nothing is told yet.
  init() {}

  /// Where the connection stands at `now`, when that is news.
  mutating func news(of policy: ReconnectPolicy, in room: LiveKitRoom, at now: Instant) -> RoomStatus? {
    var status = RoomStatus(state: policy.state)
    (status.attempts, status.error, status.action) = (policy.attempts, policy.error, policy.action)
    if policy.state == .waitingForAdmission { status.waitingFor = room.roster.isEmpty ? .waitForModerator : .knock }
    status.roomSID = room.sid
    guard status != told || policy.nextAttemptAt != toldAttemptAt else { return nil }
    (told, toldAttemptAt) = (status, policy.nextAttemptAt)
    status.nextAttemptIn = policy.nextAttemptAt.map { max(.zero, $0 - now) }
    return status
  }
}
