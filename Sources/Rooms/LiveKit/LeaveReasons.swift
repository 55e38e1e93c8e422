import Session
import Signaling

extension Livekit_LeaveRequest {
  /// `action`, or for old servers what `can_reconnect` says.
  var effectiveAction: Livekit_LeaveRequest.Action {
    action == .disconnect && canReconnect ? .reconnect : action
  }

  /// Whether the session is over for good.
  var isFinal: Bool {
    switch reason {
    case .roomClosed, .roomDeleted, .duplicateIdentity, .participantRemoved: true
    default: false
    }
  }

  /// The row of the table that the reason belongs to.
  var error: RoomError {
    switch reason {
    case .roomClosed, .roomDeleted: RoomError(.roomEnded, reason.text)
    case .duplicateIdentity: RoomError(.evicted)
    case .participantRemoved: RoomError(.removed)
    case .serverShutdown, .migration: RoomError(.serverLeaves, reason.text)
    case .stateMismatch: RoomError(.sessionUnknown)
    case .connectionTimeout, .mediaFailure: RoomError(.mediaLost, reason.text)
    case .joinFailure: RoomError(.mediaFailed, reason.text)
    case .signalClose: RoomError(.signalLost, reason.text)
    default: RoomError(.serverLeaves, reason.text)
    }
  }
}

extension ReconnectPolicy.Attempt {
  /// Whether only relayed candidates are used.
  var isRelayOnly: Bool {
    switch self {
    case .resume: false
    case .join(let relayOnly): relayOnly
    }
  }
}

extension Livekit_DisconnectReason {
  /// The reason in words.
  var text: String {
    switch self {
    case .clientInitiated: "asked by the client"
    case .duplicateIdentity: "the same identity joined again"
    case .serverShutdown: "the server shuts down"
    case .participantRemoved: "removed from the room"
    case .roomDeleted: "the room was deleted"
    case .stateMismatch: "the server no longer knows the bot"
    case .joinFailure: "the join was not completed"
    case .migration: "the session moves to another server"
    case .signalClose: "the signal connection was closed"
    case .roomClosed: "the room was closed"
    case .connectionTimeout: "media was cut off for too long"
    case .mediaFailure: "media failed"
    case .unknownReason: "no reason given"
    default: "reason \(rawValue)"
    }
  }
}

extension RoomError {
  /// How a session ends that this error ends.
  func end(_ action: RoomError.Action) -> SessionEnd {
    if action == .complete { return .roomEnded }
    return switch kind {
    case .evicted: .evicted
    case .removed: .removed
    default: .connectionLost(summary)
    }
  }
}
