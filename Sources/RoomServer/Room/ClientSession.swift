import Logging
import MediaCore
import Signaling

/// The shell of one client in a room: its signal connection and its two media connections. Confined to the room's loop.
final class ClientSession {
  /// `PA_…`
  let sid: String
  /// As in the token.
  let identity: String
  unowned let room: Room
  let logger: Logger
  /// The WebSocket; nil while it is lost.
  private(set) var connection: (any SignalSender)?
  /// The connection on which it publishes; made when it is first needed.
  private(set) var publisher: Publisher?
  /// The connection on which it receives; nil without the right.
  private(set) var subscriber: Subscriber?
  /// When it last spoke; `distantPast` for never.
  var spokenAt = Instant.distantPast

  init(sid: String, identity: String, connection: any SignalSender, room: Room) {
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
    subscriber = try Subscriber(participant: self, mayPause: mayPause, offerID: offerID)
  }

  /// Makes the connection for publishing.
  func openPublisher() throws(RoomJoinRefusal) {
    publisher = try Publisher(participant: self)
  }

  /// The signal connection is gone.
  func detach() {
    connection = nil
    subscriber?.signalLost()
  }

  /// There is another signal connection.
  func attach(_ fresh: any SignalSender) { connection = fresh }

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
    setCut(true)
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
  func tell(_ news: Livekit_SignalResponse) { connection?.tell(news) }

  /// Sends an offer, an answer or a candidate, in this order and no other.
  func describe(_ message: Livekit_SignalResponse) { connection?.describe(message) }

  /// Sends a data packet on the connection that the client listens to.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    if let subscriber {
      subscriber.sendData(bytes, isReliable: isReliable)
    } else {
      publisher?.sendData(bytes, isReliable: isReliable)
    }
  }

  // MARK: Interposing

  /// Puts something between the room and the client.
  func interpose(_ wrap: (any SignalSender) -> any SignalSender) { connection = connection.map(wrap) }

  /// Cuts the media off in both directions, or lets it through again.
  func setCut(_ isCut: Bool) {
    subscriber?.setCut(isCut)
    publisher?.setCut(isCut)
  }

  // MARK: Quality

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
