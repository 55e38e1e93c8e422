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
  /// Where clients reach media over TCP; nil: nobody may listen there.
  let listener: ICEListener?
  /// For two-party rooms.
  let mailbox: MailboxService

  /// The faults in force, of the test API.
  var faults = Faults()
  private var rooms: [String: Room] = [:]
  /// Whose signal connections there are.
  private var routes: [SignalLink: Route] = [:]
  /// What names are drawn from.
  var random = SystemRandomNumberGenerator()
  private var isShutDown = false

  private struct Route {
    var room: Room
    var sid: String
  }

  private let webhooks: WebhookSender?
  /// How sessions ended whose clients couldn't hear it.
  private var ends: [String: Livekit_DisconnectReason] = [:]

  /// How long that is known, in nanoseconds.
  private static let endMemory: Int64 = 360_000_000_000

  init(configuration: RoomServer.Configuration, webhooks: WebhookSender?, logger: Logger) {
    self.configuration = configuration
    self.webhooks = webhooks
    self.logger = logger
    let (address, port) = (configuration.mediaAddress, UInt16(clamping: configuration.mediaTCPPort))
    listener =
      ICEListener(loop: loop, address: address, port: port)
      // A machine without IPv6.
      ?? (address == "::" ? ICEListener(loop: loop, address: "0.0.0.0", port: port) : nil)
    var limits = MailboxState.Limits()
    limits.lease = Int64(max(1, min(configuration.seatTimeout, 3600))) * 1_000_000_000
    mailbox = MailboxService(loop: loop, iceServers: configuration.iceServers, limits: limits)
  }

  func opened(_ connection: SignalConnection, _ request: JoinRequest) {
    loop.post { [self] in self.join(connection, request) }
  }

  func received(_ connection: SignalConnection, _ request: Livekit_SignalRequest) {
    loop.post { [self] in
      guard let route = self.routes[SignalLink(connection)] else { return }
      route.room.handle(.received(route.sid, request))
    }
  }

  func closed(_ connection: SignalConnection) {
    loop.post { [self] in
      guard let route = self.routes.removeValue(forKey: SignalLink(connection)) else { return }
      route.room.handle(.signalLost(route.sid, SignalLink(connection)))
    }
  }

  /// Sends everybody away and ends the loop's thread. Not to be called on the loop.
  func shutDown() {
    loop.sync { [self] in
      isShutDown = true
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
    message.createdAt = WallClock.seconds()
    message.room = room
    if let participant { message.participant = participant }
    if let track { message.track = track }
    webhooks.send(message)
  }

  func admit(_ request: JoinRequest, _ reply: @escaping @Sendable (JoinGate.Refusal?) -> Void) {
    let answer = Admission(reply)
    loop.post { [self] in answer.give(self.refusal(request)) }
  }

  private func refusal(_ request: JoinRequest) -> JoinGate.Refusal? {
    if isShutDown { return .shuttingDown }
    let identity = request.token.identity
    if let refusal = faults.refusal(room: request.room, identity: identity, issued: request.token.notBefore) {
      return refusal
    }
    guard let room = rooms[request.room] else {
      if let limit = faults.limit(room: request.room), limit <= 0 { return .full }
      return configuration.createsRooms || request.grant.roomCreate == true ? nil : .noRoom
    }
    // One that goes on with its session has its place.
    return !request.query.reconnect && room.machine.isFull(for: identity) ? .full : nil
  }

  private func join(_ connection: SignalConnection, _ request: JoinRequest) {
    if isShutDown { return refuse(connection, .serverShutdown, .disconnect) }
    if request.query.reconnect { return resume(connection, request) }
    let room = rooms[request.room] ?? makeRoom(request.room, RoomMachine.Settings(configuration))
    room.join(request, connection)
  }

  /// Goes on with an earlier session; when there is none any more, the client is told to join anew.
  private func resume(_ connection: SignalConnection, _ request: JoinRequest) {
    guard let room = rooms[request.room], let member = room.machine.member(identity: request.token.identity),
      (request.query.participantSID ?? member.sid) == member.sid
    else {
      // One that was sent away, and couldn't hear it, hears it now.
      if let reason = ends[request.query.participantSID ?? ""] { return refuse(connection, reason, .disconnect) }
      return refuse(connection, .stateMismatch, .reconnect)
    }
    room.resume(member.sid, connection)
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
    _ connection: SignalConnection, _ reason: Livekit_DisconnectReason, _ action: Livekit_LeaveRequest.Action
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
    switch reason {
    case .participantRemoved, .roomDeleted, .roomClosed, .duplicateIdentity: break
    default: return
    }
    ends[sid] = reason
    loop.timer(after: Self.endMemory) { [weak self] in self?.ends[sid] = nil }
  }

  /// A connection is a participant's from now on.
  func attached(_ connection: SignalConnection, to sid: String, in room: Room) {
    routes[SignalLink(connection)] = Route(room: room, sid: sid)
  }

  /// Forgets which participant a connection belongs to.
  func detached(_ connection: SignalConnection) { routes[SignalLink(connection)] = nil }
}

/// The answer to a join, given once; also when nobody is left to give it.
private final class Admission: Sendable {
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
