import Signaling

/// Whom a verb is about: everybody in a room, or one participant of it.
public struct TestTarget: Hashable, Sendable {
  /// Name of the room.
  public var room: String
  /// Identity of the participant; nil for everybody.
  public var identity: String?

  /// Names a room, or one of its participants.
  public init(room: String, identity: String? = nil) {
    self.room = room
    self.identity = identity
  }

  /// True when this is about that participant.
  func covers(room: String, identity: String) -> Bool {
    self.room == room && (self.identity ?? identity) == identity
  }
}

/// How the signal connection is cut.
public enum SignalCut: String, Hashable, Sendable {
  /// The TCP connection ends without a word.
  case close
  /// The connection stays open, but nothing is read or written.
  case silent
}

/// A fault that the embedded room server makes on command, for tests of clients. Durations that are nil last until
/// `restore`.
public enum TestVerb: Hashable, Sendable {
  /// Cuts the signal connection; new ones of the same identity are refused (HTTP 503) while it lasts.
  case cutSignal(TestTarget, mode: SignalCut, lasting: Duration?)
  /// Lets no media packet through in either direction, STUN included. Signalling goes on.
  case cutMedia(TestTarget, lasting: Duration?)
  /// Sends no news of participants, tracks and speakers; afterwards everything at once.
  case dropUpdates(TestTarget, lasting: Duration?)
  /// Holds back the server's offers, answers and candidates by this time.
  case delayAnswers(TestTarget, by: Duration, lasting: Duration?)
  /// All sockets and media end without a word, as if the process had been killed and started again; with
  /// `wipes` false the sessions are kept, so that they can be resumed.
  case restart(wipes: Bool)
  /// Sends the client elsewhere (that is, here again): `leave` with reason MIGRATION.
  case migrate(TestTarget, action: Livekit_LeaveRequest.Action)
  /// Sends participants away for this reason.
  case kick(TestTarget, reason: Livekit_DisconnectReason)
  /// Sends participants away as if their identity had joined again.
  case duplicate(TestTarget)
  /// Ends a room for this reason.
  case endRoom(String, reason: Livekit_DisconnectReason)
  /// Limits the number of participants of a room, recorders included; nil lifts the limit.
  case fill(String, limit: Int?)
  /// Refuses new joins with this HTTP status; of one room or of all.
  case busy(status: Int, room: String?, lasting: Duration?)
  /// Takes tokens that were issued up to now for expired when somebody joins with them.
  case expireToken(TestTarget)
  /// Pauses or resumes streams toward a subscriber, and tells it so; without tracks, all its video.
  case pauseStreams(TestTarget, tracks: [String], paused: Bool)
  /// Gives or takes the right to subscribe.
  case permit(TestTarget, canSubscribe: Bool)
  /// Treats a subscriber as if so many bits per second reached it; nil ends that.
  case limitBandwidth(TestTarget, bitsPerSecond: Int?, lasting: Duration?)
  /// Ends all faults.
  case restore
}

/// Why a verb could not be carried out.
public enum TestVerbError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no verb of this name.
  case unknownVerb(String)
  /// The body is not what the verb needs.
  case badRequest(String)
  /// The room or participant isn't there.
  case notFound(String)
  /// The server doesn't run.
  case notRunning

  /// One line.
  public var description: String {
    switch self {
    case .unknownVerb(let name): "there is no verb '\(name)'"
    case .badRequest(let text), .notFound(let text): text
    case .notRunning: "the room server does not run"
    }
  }
}
