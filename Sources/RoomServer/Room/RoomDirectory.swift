import Logging
import Platform
import Signaling
import Synchronization
import Transport

// Sendable: everything but the constants is only touched on `loop`; what comes from network threads is posted there.
/// All rooms of a server, and which connection belongs to whom.
final class RoomDirectory: SignalSink, @unchecked Sendable {
  let configuration: EmbeddedRoomServer.Configuration
  let loop = MediaLoop(name: "room-server")
  let logger: Logger
  /// Where clients reach media over TCP; nil: nobody may listen there.
  let listener: ICEListener?
  /// For two-party rooms.
  let mailbox: MailboxService

  /// What stands between the rooms and the outside; nil unless a test has put something there.
  var interposer: (any RoomInterposer)?
  private var rooms: [String: Room] = [:]
  /// Whose signal connections there are.
  private var routes: [SignalID: Route] = [:]
  /// What names are drawn from.
  var random = SystemRandomNumberGenerator()
  private var admission: RoomAdmission

  private struct Route {
    var room: Room
    var sid: String
  }

  private let webhooks: WebhookSender?

  init(configuration: EmbeddedRoomServer.Configuration, webhooks: WebhookSender?, logger: Logger) {
    self.configuration = configuration
    self.webhooks = webhooks
    self.logger = logger
    admission = RoomAdmission(createsRooms: configuration.createsRooms)
    let (address, port) = (configuration.mediaAddress, UInt16(clamping: configuration.mediaTCPPort))
    listener =
      ICEListener(loop: loop, address: address, port: port)
      // A machine without IPv6.
      ?? (address == "::" ? ICEListener(loop: loop, address: "0.0.0.0", port: port) : nil)
    var limits = MailboxState.Limits()
    limits.lease = .seconds(max(1, min(configuration.seatTimeout, 3600)))
    mailbox = MailboxService(loop: loop, iceServers: configuration.iceServers, limits: limits)
  }

  func opened(_ connection: SignalConnection, _ request: JoinRequest) {
    loop.post { [self] in self.join(connection, request) }
  }

  func received(_ connection: SignalConnection, _ request: Livekit_SignalRequest) {
    loop.post { [self] in
      guard let route = self.routes[connection.link] else { return }
      route.room.handle(.received(route.sid, request))
    }
  }

  func closed(_ connection: SignalConnection) {
    loop.post { [self] in
      guard let route = self.routes.removeValue(forKey: connection.link) else { return }
      route.room.handle(.signalLost(route.sid, connection.link))
    }
  }

  /// Sends everybody away and ends the loop's thread. Not to be called on the loop.
  func shutDown() {
    loop.sync { [self] in
      admission.shutDown()
      for room in Array(rooms.values) { room.handle(.close(.serverShutdown)) }
      routes.removeAll()
      mailbox.close()
    }
    listener?.close()
    loop.stop()
    webhooks?.shutDown()
  }

  /// Tells the webhooks of an event of a room.
  func report(
    _ event: String, _ room: Livekit_Room, _ participant: Livekit_ParticipantInfo? = nil,
    track: Livekit_TrackInfo? = nil
  ) {
    guard let webhooks else { return }
    var message = Livekit_WebhookEvent()
    message.event = event
    message.id = SID.event(using: &random)
    message.createdAt = WallClock.seconds
    message.room = room
    if let participant { message.participant = participant }
    if let track { message.track = track }
    webhooks.send(message)
  }

  func admit(_ request: JoinRequest, _ reply: @escaping @Sendable (JoinGate.Refusal?) -> Void) {
    let answer = AdmissionReply(reply)
    loop.post { [self] in answer.give(self.refusal(request)) }
  }

  private func refusal(_ request: JoinRequest) -> JoinGate.Refusal? {
    interposer?.refusal(request)
      ?? admission.refusal(
        request, rooms[request.room]?.machine, limit: interposer?.limit(room: request.room))
  }

  private func join(_ connection: SignalConnection, _ request: JoinRequest) {
    let room = rooms[request.room]
    switch admission.arrival(request, room?.machine, at: Room.now()) {
    case .join: (room ?? makeRoom(request.room, RoomMachine.Settings(configuration))).join(request, connection)
    case .resume(let sid): room?.resume(sid, connection)
    case .refuse(let reason, let action): refuse(connection, reason, action)
    }
  }

  /// Ends all connections without a word; with `wipes` all sessions too. How many participants there were.
  func restart(wipes: Bool) -> Int {
    let all = allRooms
    let count = all.reduce(0) { $0 + $1.participants.count }
    if wipes {
      rooms.removeAll()
      routes.removeAll()
      for room in all { room.abort() }
      mailbox.close()
    } else {
      for room in all {
        for participant in room.participants.values { room.cutSignal(of: participant) }
      }
    }
    return count
  }

  /// All rooms, in no order.
  var allRooms: [Room] { Array(rooms.values) }

  /// A room by its name.
  func room(_ name: String) -> Room? { rooms[name] }

  /// Tells a client why it isn't taken in, and what it shall do.
  func refuse(
    _ connection: any SignalSender, _ reason: Livekit_DisconnectReason, _ action: Livekit_LeaveRequest.Action
  ) {
    connection.send(.leave(reason, action))
    connection.close()
  }

  /// Opens a room.
  func makeRoom(_ name: String, _ settings: RoomMachine.Settings) -> Room {
    let room = Room(name: name, sid: SID.room(using: &random), settings: settings, directory: self)
    rooms[name] = room
    report("room_started", room.machine.info)
    logger.info("room opened", metadata: ["room": "\(name)", "sid": "\(room.sid)"])
    return room
  }

  /// Forgets a closed room.
  func removed(_ room: Room) {
    guard rooms[room.name] === room else { return }
    rooms[room.name] = nil
    report("room_finished", room.machine.info)
    logger.info("room closed", metadata: ["room": "\(room.name)", "sid": "\(room.sid)"])
  }

  /// A session was ended by the server while its client couldn't hear that; the client is told when it asks.
  func noteUnheardEnd(of sid: String, _ reason: Livekit_DisconnectReason) {
    admission.noteUnheardEnd(of: sid, reason, at: Room.now())
  }

  /// A connection is a participant's from now on.
  func attached(_ link: SignalID, to sid: String, in room: Room) {
    routes[link] = Route(room: room, sid: sid)
  }

  /// Forgets which participant a connection belongs to.
  func detached(_ link: SignalID) { routes[link] = nil }
}

/// The answer to a join, given once; also when nobody is left to give it.
private final class AdmissionReply: Sendable {
  private let reply: Mutex<(@Sendable (JoinGate.Refusal?) -> Void)?>

  init(_ reply: @escaping @Sendable (JoinGate.Refusal?) -> Void) { self.reply = Mutex(reply) }

  deinit { give(.shuttingDown) }

  func give(_ refusal: JoinGate.Refusal?) {
    let reply = reply.withLock { reply in
      defer { reply = nil }
      return reply
    }
    reply?(refusal)
  }
}
