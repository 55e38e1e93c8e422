import Logging
import Signaling
import Transport

/// The shell of one client in a room: its signal connection and its two media connections. Confined to the room's loop.
final class Participant {
  /// `PA_…`
  let sid: String
  /// As in the token.
  let identity: String
  unowned let room: Room
  let logger: Logger
  /// The WebSocket; nil while it is lost.
  private(set) var connection: SignalConnection?
  /// What faults do to it.
  private(set) var condition = Faults.Condition()
  /// The connection on which it publishes; made when it is first needed.
  private(set) var publisher: Publisher?
  /// The connection on which it receives; nil without the right.
  private(set) var subscriber: Subscriber?
  /// When it last spoke, in nanoseconds; 0 for never.
  var spokenAt: Int64 = 0

  /// Since when news have been kept from it by a fault.
  private var deafSince: Int64?
  /// Descriptions that are held back until their time.
  private var delayed: [(message: Livekit_SignalResponse, due: Int64)] = []

  init(sid: String, identity: String, connection: SignalConnection, room: Room) {
    self.sid = sid
    self.identity = identity
    self.connection = connection
    self.room = room
    var logger = room.logger
    logger[metadataKey: "identity"] = "\(identity)"
    self.logger = logger
  }

  // MARK: Connections

  /// Makes the connection for receiving; its offers are numbered from behind `offerID` on.
  func openSubscriber(mayPause: Bool, offerID: UInt32) throws(RoomJoinRefusal) {
    let made = try Subscriber(participant: self, mayPause: mayPause, offerID: offerID)
    made.setCut(condition.isMediaCut)
    subscriber = made
  }

  /// Makes the connection for publishing.
  func openPublisher() throws(RoomJoinRefusal) {
    let made = try Publisher(participant: self)
    made.setCut(condition.isMediaCut)
    publisher = made
  }

  /// The signal connection is gone.
  func detach() {
    connection = nil
    delayed.removeAll()
    subscriber?.signalLost()
  }

  /// There is another signal connection.
  func attach(_ fresh: SignalConnection) { connection = fresh }

  /// Ends all connections, after what was sent.
  func close() {
    connection?.close()
    subscriber?.close()
    publisher?.close()
    connection = nil
  }

  /// Ends all connections without a word, as when the process is killed.
  func abort() {
    connection?.abort()
    subscriber?.setCut(true)
    publisher?.setCut(true)
    subscriber?.close()
    publisher?.close()
    connection = nil
  }

  /// Ends the session: the client is told to come anew. Nothing of it may be used afterwards.
  func leave(_ reason: Livekit_DisconnectReason) { room.handle(.leave(sid, reason, .reconnect)) }

  // MARK: Sending

  /// Sends a message; nobody hears it while the signal connection is lost.
  func send(_ message: Livekit_SignalResponse) { connection?.send(message) }

  /// Sends news of the room.
  func tell(_ news: Livekit_SignalResponse) {
    if !condition.isDeaf { connection?.send(news) }
  }

  /// Sends an offer, an answer or a candidate, in this order and no other.
  func describe(_ message: Livekit_SignalResponse) {
    guard condition.delay > 0 || !delayed.isEmpty else { return send(message) }
    let due = max(MediaLoop.now() &+ condition.delay, delayed.last?.due ?? 0)
    delayed.append((message, due))
    room.loop.timer(after: due &- MediaLoop.now()) { [weak self] in self?.sendDelayed() }
  }

  private func sendDelayed(all: Bool = false) {
    let now = MediaLoop.now()
    while let first = delayed.first, all || first.due <= now {
      delayed.removeFirst()
      send(first.message)
    }
  }

  /// Sends a data packet on the connection that the client listens to.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    if let subscriber {
      subscriber.sendData(bytes, isReliable: isReliable)
    } else {
      publisher?.sendData(bytes, isReliable: isReliable)
    }
  }

  // MARK: Faults and quality

  /// Faults begin or end.
  func setCondition(_ new: Faults.Condition) {
    let old = condition
    condition = new
    if new.isSilent != old.isSilent { connection?.setSilent(new.isSilent) }
    if new.isMediaCut != old.isMediaCut {
      subscriber?.setCut(new.isMediaCut)
      publisher?.setCut(new.isMediaCut)
    }
    if new.delay == 0 { sendDelayed(all: true) }
    if new.isDeaf, !old.isDeaf { deafSince = room.machine.member(sid)?.unheardSince ?? MediaLoop.now() }
    if !new.isDeaf, let deafSince {
      self.deafSince = nil
      room.handle(.missed(sid, since: deafSince))
    }
  }

  /// How well its media connections do, both together.
  var quality: QualityScore.Facts {
    let (down, up) = (subscriber?.quality ?? .init(), publisher?.quality ?? .init())
    var facts = QualityScore.Facts()
    facts.isLost = down.isLost || up.isLost
    facts.loss = max(down.loss, up.loss)
    facts.roundTrip = max(down.roundTrip, up.roundTrip)
    facts.isLimited = down.isLimited
    return facts
  }
}
