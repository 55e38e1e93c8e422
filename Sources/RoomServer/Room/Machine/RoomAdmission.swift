import MediaCore
import Signaling

/// Who is let in to which room, whether a room is opened for that, and what who comes back is told. A pure value.
///
/// ```
///                 checked before the upgrade        arrived after it
///  request ──► shutting down? full? no room? ──► resumes? ──► its session is there ──► resume
///                       │                           │ no         │ no
///                       ▼                           ▼            ▼
///                 HTTP status                join, in a new   refuse: why it was sent away,
///                                            room if need be  or: join anew
/// ```
struct RoomAdmission: Sendable {
  /// What becomes of a client whose connection is open.
  enum Arrival: Hashable, Sendable {
    /// It joins, and a room is opened if there is none.
    case join
    /// It goes on as the participant of this sid.
    case resume(String)
    /// It is told why not, and what to do.
    case refuse(Livekit_DisconnectReason, Livekit_LeaveRequest.Action)
  }

  private struct End: Sendable {
    var reason: Livekit_DisconnectReason
    var at: Instant
  }

  /// How long it is known how a session ended.
  static let endMemory = Duration.seconds(360)

  /// Whether joining makes a room that doesn't exist; otherwise only the grant roomCreate does.
  let createsRooms: Bool
  /// True from the server's end on.
  private(set) var isShutDown = false
  /// How sessions ended whose clients couldn't hear it, by the participants' sids.
  private var ends: [String: End] = [:]

  /// Lets in whom the server's configuration lets in.
  init(createsRooms: Bool) { self.createsRooms = createsRooms }

  /// Why a request is refused; nil lets it in. `room` is the one that it is for, if there is one; `limit` how many
  /// participants may be in one that there isn't yet, nil: as usual.
  func refusal(_ request: JoinRequest, _ room: RoomMachine?, limit: Int? = nil) -> JoinGate.Refusal? {
    if isShutDown { return .shuttingDown }
    guard let room else {
      if let limit, limit <= 0 { return .full }
      return createsRooms || request.grant.roomCreate == true ? nil : .noRoom
    }
    // One that goes on with its session has its place.
    return !request.query.reconnect && room.isFull(for: request.token.identity) ? .full : nil
  }

  /// What becomes of a client that was let in. A session that isn't there any more can't be gone on with.
  func arrival(_ request: JoinRequest, _ room: RoomMachine?, at now: Moment) -> Arrival {
    if isShutDown { return .refuse(.serverShutdown, .disconnect) }
    guard request.query.reconnect else { return .join }
    let wanted = request.query.participantSID
    if let member = room?.member(identity: request.token.identity), (wanted ?? member.sid) == member.sid {
      return .resume(member.sid)
    }
    // One that was sent away, and couldn't hear it, hears it now.
    if let end = ends[wanted ?? ""], now.steady - end.at < Self.endMemory { return .refuse(end.reason, .disconnect) }
    return .refuse(.stateMismatch, .reconnect)
  }

  /// A session was ended by the server while its client couldn't hear that; the client is told when it asks.
  mutating func noteUnheardEnd(of sid: String, _ reason: Livekit_DisconnectReason, at now: Moment) {
    switch reason {
    case .participantRemoved, .roomDeleted, .roomClosed, .duplicateIdentity: break
    default: return
    }
    ends = ends.filter { now.steady - $0.value.at < Self.endMemory }
    ends[sid] = End(reason: reason, at: now.steady)
  }

  /// Nobody is let in any more.
  mutating func shutDown() { isShutDown = true }
}

extension RoomMachine.Settings {
  /// The longest metadata of a room, in bytes.
  static let metadataLimit = 64 << 10

  /// As a request of the server API wants it, with the server's settings for what it leaves open.
  init(_ request: Livekit_CreateRoomRequest, _ usual: RoomMachine.Settings) throws(TwirpError) {
    guard !request.name.isEmpty, request.name.utf8.count <= JoinGate.longestName else {
      throw TwirpError(.invalidArgument, "name must have 1 to \(JoinGate.longestName) bytes")
    }
    guard !request.name.hasControlCharacters else {
      throw TwirpError(.invalidArgument, "name must not have control characters")
    }
    try Self.check(metadata: request.metadata)
    self = usual
    if request.emptyTimeout > 0 { emptyTimeout = Int(request.emptyTimeout) }
    if request.departureTimeout > 0 { departureTimeout = Int(request.departureTimeout) }
    if request.maxParticipants > 0 { maximumParticipants = Int(request.maxParticipants) }
    metadata = request.metadata
  }

  /// Refuses metadata that is too long.
  static func check(metadata: String) throws(TwirpError) {
    guard metadata.utf8.count <= metadataLimit else {
      throw TwirpError(.invalidArgument, "metadata exceeds \(metadataLimit) bytes")
    }
  }
}
