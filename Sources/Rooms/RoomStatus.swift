/// Where a room connection stands, for progress and logs; a snapshot.
public struct RoomStatus: Hashable, Sendable {
  /// What a bot that is in the room without being let in waits for (EnableX's `event_type`).
  public enum Waiting: String, Hashable, Sendable {
    /// Somebody in the room has to let it in.
    case knock
    /// Nobody is there yet who could.
    case waitForModerator = "wait_for_moderator"
  }

  /// The state of the reconnect policy.
  public var state: ReconnectPolicy.State
  /// Attempts since the loss, or since the start.
  public var attempts = 0
  /// The last error; nil when all is well.
  public var error: RoomError?
  /// What is done about the error.
  public var action = RoomError.Action.none
  /// How long until the next attempt; nil when none is planned.
  public var nextAttemptIn: Duration?
  /// In the state `waitingForAdmission`, what for.
  public var waitingFor: Waiting?
  /// The id of this life of the room, as the service gives it (`RM_…`); nil: not known, or the service has none.
  public var roomSID: String?

  /// A status without an error.
  public init(state: ReconnectPolicy.State = .idle) { self.state = state }
}
