import Logging
import Signaling
import Synchronization
import Transport

// Sendable: everything but the constants is only touched on `loop`; what comes from network threads is posted there.
/// All rooms of a server, and which connection belongs to whom.
final class RoomDirectory: SignalSink, @unchecked Sendable {
  let configuration: RoomServer.Configuration
  let loop = MediaLoop(name: "room-server")
  let logger: Logger
  /// For two-party rooms.
  let mailbox: MailboxService

  private var rooms: [String: Room] = [:]
  private var participants: [ObjectIdentifier: Participant] = [:]
  private var random = SystemRandomNumberGenerator()
  private var isShutDown = false

  init(configuration: RoomServer.Configuration, logger: Logger) {
    self.configuration = configuration
    self.logger = logger
    mailbox = MailboxService(loop: loop, iceServers: configuration.iceServers)
  }

  func opened(_ connection: SignalConnection, _ request: JoinRequest) {
    loop.post { [self] in self.join(connection, request) }
  }

  func received(_ connection: SignalConnection, _ request: Livekit_SignalRequest) {
    loop.post { [self] in self.participants[ObjectIdentifier(connection)]?.handle(request) }
  }

  func closed(_ connection: SignalConnection) {
    loop.post { [self] in self.participants.removeValue(forKey: ObjectIdentifier(connection))?.signalLost(connection) }
  }

  /// Sends everybody away and ends the loop's thread. Not to be called on the loop.
  func shutDown() {
    loop.sync { [self] in
      isShutDown = true
      for room in Array(rooms.values) { room.close(.serverShutdown) }
      participants.removeAll()
      mailbox.close()
    }
    loop.stop()
  }

  private func join(_ connection: SignalConnection, _ request: JoinRequest) {
    if isShutDown { return refuse(connection, .serverShutdown, .disconnect) }
    if request.query.reconnect {
      // Going on with an earlier session: here is the place for it. Refused in the way that makes SDKs join anew.
      return refuse(connection, .stateMismatch, .reconnect)
    }
    let room = rooms[request.room] ?? makeRoom(request.room)
    do throws(Room.JoinError) {
      let participant = try room.join(request, connection)
      participants[ObjectIdentifier(connection)] = participant
    } catch {
      logger.warning("join refused", metadata: ["room": "\(request.room)", "reason": "\(error)"])
      refuse(connection, .joinFailure, .disconnect)
    }
  }

  private func refuse(
    _ connection: SignalConnection, _ reason: Livekit_DisconnectReason, _ action: Livekit_LeaveRequest.Action
  ) {
    connection.send(.leave(reason, action))
    connection.close()
  }

  private func makeRoom(_ name: String) -> Room {
    let room = Room(name: name, sid: SID.room(using: &random), directory: self)
    rooms[name] = room
    logger.info("room opened", metadata: ["room": "\(name)", "sid": "\(room.sid)"])
    return room
  }

  /// Forgets a closed room.
  func removed(_ room: Room) {
    guard rooms[room.name] === room else { return }
    rooms[room.name] = nil
    logger.info("room closed", metadata: ["room": "\(room.name)", "sid": "\(room.sid)"])
  }

  /// Forgets which participant a connection belongs to.
  func detached(_ connection: SignalConnection) { participants[ObjectIdentifier(connection)] = nil }
}
