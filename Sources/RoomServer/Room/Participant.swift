import Logging
import Signaling
import Transport

/// One client in a room, from its join to its end. Confined to the room's loop.
final class Participant {
  /// `PA_…`; new for each join.
  let sid: String
  /// As in the token.
  let identity: String
  /// What it may do: what the token allows, until somebody changes that.
  private(set) var grant: VideoGrant
  /// Signalling version that the client speaks.
  let protocolVersion: Int
  /// Whether tracks come without being asked for.
  let autoSubscribe: Bool
  /// Whether video begins with its smallest layer.
  let adaptiveStream: Bool
  /// Whether video may be paused when bandwidth is short.
  let allowsPause: Bool
  /// When it last spoke, in nanoseconds; 0 for never.
  private(set) var spokenAt: Int64 = 0
  unowned let room: Room
  /// The WebSocket; nil while it is lost.
  private(set) var connection: SignalConnection?
  /// What faults do to it.
  private(set) var condition = Faults.Condition()
  /// The connection on which it publishes; made with its first offer.
  private(set) var publisher: Publisher?
  /// The connection on which it receives; nil without the grant.
  private(set) var subscriber: Subscriber?
  /// What it has published.
  private(set) var publications: [Publication] = []
  /// False before the join and after the end.
  private(set) var isMember = true
  /// Who may receive its tracks, when it has limited that.
  var permission: Livekit_SubscriptionPermission?

  var name: String
  var metadata: String
  var attributes: [String: String]

  private let token: AccessToken
  private let isPublishOnly: Bool
  private let joined = WallClock.milliseconds()
  /// When it joined, in nanoseconds.
  let joinedAt = MediaLoop.now()
  /// Since when a media connection is waited for.
  private var connectingSince = MediaLoop.now()
  private var state = Livekit_ParticipantInfo.State.joined
  private var version: UInt32 = 1
  private var reason: Livekit_DisconnectReason?
  private var signalLostAt: Int64?
  /// Since when it has not heard what happens in the room.
  private var unheardSince: Int64?
  private var mediaFailedAt: Int64?
  private var refreshed: Int64 = 0
  private var speakerLevel: Float = 0
  /// Descriptions that are held back until their time.
  private var delayed: [(message: Livekit_SignalResponse, due: Int64)] = []

  /// How often the token is renewed, in nanoseconds.
  private static let refreshInterval: Int64 = 300_000_000_000
  /// How long a client whose media connection failed may go on without a word, in nanoseconds.
  private static let mediaGrace: Int64 = 2_000_000_000
  /// How long a client is waited for of which neither signalling nor media is heard, in nanoseconds.
  private static let silenceGrace: Int64 = 5_000_000_000
  /// Renewed tokens hold at least so many seconds.
  private static let refreshedLifetime: Int64 = 600

  init(sid: String, request: JoinRequest, connection: SignalConnection, room: Room) throws(Room.JoinError) {
    self.sid = sid
    self.room = room
    self.connection = connection
    token = request.token
    identity = request.token.identity
    grant = request.grant
    protocolVersion = request.query.protocolVersion
    autoSubscribe = request.query.autoSubscribe
    adaptiveStream = request.query.adaptiveStream
    allowsPause = request.query.subscriberAllowPause ?? room.configuration.pausesVideo
    name = request.token.name ?? ""
    metadata = request.token.metadata ?? ""
    attributes = request.attributes
    isPublishOnly = request.query.publish?.isEmpty == false
    if grant.allowsSubscribe, !isPublishOnly { subscriber = try Subscriber(participant: self) }
  }

  var logger: Logger {
    var logger = room.logger
    logger[metadataKey: "identity"] = "\(identity)"
    return logger
  }

  /// Shown to the others.
  var isVisible: Bool { grant.hidden != true }

  /// Doesn't keep the room.
  var isDependent: Bool {
    grant.hidden == true || grant.recorder == true || token.kind == "egress" || token.kind == "agent"
  }

  // MARK: Life

  /// Welcomes the client and begins to offer what the others publish.
  func start(others: [Participant]) {
    var join = Livekit_JoinResponse()
    join.room = room.info
    join.participant = info
    join.otherParticipants = others.map(\.info)
    join.serverVersion = ServerIdentity.version
    join.serverInfo = ServerIdentity.info
    join.iceServers = room.iceServers
    join.subscriberPrimary = subscriber != nil
    join.pingInterval = 5
    join.pingTimeout = 15
    join.enabledPublishCodecs = Room.codecs
    join.fastPublish = grant.allowsPublish
    send(Livekit_SignalResponse(.join(join)))
    refreshToken(now: MediaLoop.now())
    for other in others {
      for publication in other.publications { subscriber?.consider(publication) }
    }
    subscriber?.start()
    var speakers = Livekit_SpeakersChanged()
    speakers.speakers = others.filter { $0.speakerLevel > 0 }.map(\.speakerInfo)
    if !speakers.speakers.isEmpty { send(Livekit_SignalResponse(.speakersChanged(speakers))) }
  }

  // MARK: Telling

  /// Sends a message; nobody hears it while the signal connection is lost.
  func send(_ message: Livekit_SignalResponse) { connection?.send(message) }

  /// Sends news of the room. What isn't heard is told later, all at once.
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

  /// Tells what happened since `unheardSince`: who has gone, how everybody is.
  private func catchUp() {
    guard connection != nil, !condition.isDeaf, let since = unheardSince else { return }
    unheardSince = nil
    let departed = room.departed(since: since)
    if !departed.isEmpty { send(.update(departed)) }
    send(.update(room.participants.filter { $0.isVisible || $0 === self }.map(\.info)))
    var speakers = Livekit_SpeakersChanged()
    speakers.speakers = room.participants.filter { $0.isVisible || $0 === self }.map(\.speakerInfo)
    send(Livekit_SignalResponse(.speakersChanged(speakers)))
    var update = Livekit_RoomUpdate()
    update.room = room.info
    send(Livekit_SignalResponse(.roomUpdate(update)))
  }

  // MARK: Ending and coming back

  /// Ends the session. The client hears why, unless it left by itself.
  func leave(
    _ reason: Livekit_DisconnectReason, action: Livekit_LeaveRequest.Action = .disconnect, isByClient: Bool = false
  ) {
    guard isMember else { return }
    isMember = false
    self.reason = reason
    state = .disconnected
    version &+= 1
    if !isByClient { send(.leave(reason, action)) }
    connection?.close()
    subscriber?.close()
    publisher?.close()
    let gone = publications
    publications = []
    room.remove(self, reason)
    for publication in gone { room.unpublished(publication) }
    connection = nil
  }

  /// Ends everything without a word to anybody, as when the process is killed.
  func vanish() {
    isMember = false
    connection?.abort()
    connection = nil
    subscriber?.setCut(true)
    publisher?.setCut(true)
    // The publications stay as long as somebody may still be subscribed to them.
    subscriber?.close()
    publisher?.close()
  }

  /// The WebSocket is gone. The session goes on for a while, for the client may come back.
  func signalLost(_ lost: SignalConnection) {
    guard isMember, connection === lost else { return }
    connection = nil
    guard state == .active, mediaFailedAt == nil else { return leave(.signalClose) }
    signalLostAt = MediaLoop.now()
    unheardSince = unheardSince ?? signalLostAt
    delayed.removeAll()
    subscriber?.signalLost()
  }

  /// Cuts the signal connection: with a farewell that tells the client to come back, or without a word.
  func loseSignal(_ farewell: Livekit_SignalResponse? = nil) {
    guard let connection else { return }
    room.detached(connection)
    if let farewell {
      send(farewell)
      connection.close()
    } else {
      connection.abort()
    }
    signalLost(connection)
  }

  /// The client came back on another signal connection and goes on with its session.
  func resume(_ fresh: SignalConnection) {
    if let connection {
      // The client knew before us that it was lost; what was sent on it may not have been heard.
      room.detached(connection)
      connection.close()
      unheardSince = unheardSince ?? joinedAt
      delayed.removeAll()
      subscriber?.signalLost()
    }
    connection = fresh
    signalLostAt = nil
    mediaFailedAt = nil
    var response = Livekit_ReconnectResponse()
    response.iceServers = room.iceServers
    response.serverInfo = ServerIdentity.info
    response.lastMessageSeq = publisher?.lastReliableSequence ?? 0
    send(Livekit_SignalResponse(.reconnect(response)))
    catchUp()
    refreshToken(now: MediaLoop.now())
    subscriber?.signalResumed()
    logger.info("participant resumed", metadata: ["sid": "\(sid)"])
  }

  private var isMediaConnected: Bool {
    (subscriber?.isConnected ?? true) && (publisher?.isConnected ?? true)
      && (subscriber != nil || publisher != nil)
  }

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
    if new.isDeaf, !old.isDeaf { unheardSince = unheardSince ?? MediaLoop.now() }
    if !new.isDeaf, old.isDeaf { catchUp() }
  }

  /// The state of one of the two media connections changed.
  func mediaStateChanged(_ state: TransportState, isPrimary: Bool) {
    guard isMember else { return }
    switch state {
    case .connected:
      if isPrimary, self.state == .joined {
        self.state = .active
        changed()
      }
    case .failed, .closed:
      // A client that leaves closes its media first; its word may be on the way.
      if mediaFailedAt == nil { mediaFailedAt = MediaLoop.now() }
    default: break
    }
  }

  /// Looks at what is due.
  func beat(now: Int64) {
    guard isMember else { return }
    if let signalLostAt {
      let waited = now &- signalLostAt
      // A client that closes both of its connections has gone; one that falls silent may be behind a broken network.
      let isGone = mediaFailedAt != nil || !isMediaConnected && waited > Self.silenceGrace
      if isGone || waited > Int64(room.configuration.resumeTimeout) * 1_000_000_000 { return leave(.signalClose) }
    }
    if let mediaFailedAt, now &- mediaFailedAt > Self.mediaGrace {
      // The client is told to come anew; if it is dead, nobody hears that.
      return leave(.connectionTimeout, action: .reconnect)
    }
    let mustConnect = state == .joined && (subscriber != nil || publisher != nil || grant.allowsPublish)
    if mustConnect, now &- connectingSince > Int64(room.configuration.connectTimeout) * 1_000_000_000 {
      return leave(.joinFailure)
    }
    if now &- refreshed > Self.refreshInterval { refreshToken(now: now) }
  }

  private func refreshToken(now: Int64) {
    refreshed = now
    guard let secret = room.configuration.apiKeys[token.apiKey] else { return }
    var fresh = token
    let seconds = WallClock.seconds()
    fresh.notBefore = seconds
    fresh.expires = max(token.expires, seconds &+ Self.refreshedLifetime)
    fresh.name = name
    fresh.metadata = metadata
    fresh.attributes = attributes
    fresh.video = grant
    guard let text = try? fresh.signed(secret: secret) else { return }
    send(Livekit_SignalResponse(.refreshToken(text)))
  }

  // MARK: Rights

  /// Changes what the participant may do: subscriptions begin or end, tracks that may not be published go.
  func setGrant(_ new: VideoGrant) {
    let old = grant
    guard new != old else { return }
    grant = new
    if new.allowsSubscribe, !isPublishOnly, subscriber == nil, let made = try? Subscriber(participant: self) {
      subscriber = made
      made.setCut(condition.isMediaCut)
      connectingSince = MediaLoop.now()
      made.start()
    }
    if new.allowsSubscribe != old.allowsSubscribe {
      for publication in room.publications { subscriber?.consider(publication) }
    }
    for publication in publications where !new.allowsPublishing(publication.info.source) {
      withdraw(publication)
    }
    identityChanged()
  }

  /// Ends a track that its publisher may not publish any more, and tells it.
  private func withdraw(_ publication: Publication) {
    remove(publication)
    publisher?.forget(publication)
    var message = Livekit_TrackUnpublishedResponse()
    message.trackSid = publication.sid
    send(Livekit_SignalResponse(.trackUnpublished(message)))
  }

  // MARK: News

  /// The participant as clients see it.
  var info: Livekit_ParticipantInfo {
    var info = Livekit_ParticipantInfo()
    info.sid = sid
    info.identity = identity
    info.name = name
    info.metadata = metadata
    info.attributes = attributes
    info.state = state
    info.version = version
    info.joinedAt = joined / 1000
    info.joinedAtMs = joined
    info.tracks = publications.map(\.info)
    info.isPublisher = grant.allowsPublish
    info.kind = ServerIdentity.kind(token.kind)
    info.permission = ServerIdentity.permission(grant)
    if let reason { info.disconnectReason = reason }
    return info
  }

  /// Something of `info` changed: the others hear of it.
  func changed() {
    guard isMember else { return }
    version &+= 1
    room.announce(self)
  }

  /// Changes of name, metadata or attributes renew the token, which carries them.
  func identityChanged() {
    changed()
    refreshToken(now: MediaLoop.now())
  }

  /// How well its connections do, both together.
  var quality: Livekit_ConnectionQualityInfo {
    let (down, up) = (subscriber?.quality ?? .init(), publisher?.quality ?? .init())
    var facts = QualityScore.Facts()
    facts.isLost = connection == nil || down.isLost || up.isLost
    facts.loss = max(down.loss, up.loss)
    facts.roundTrip = max(down.roundTrip, up.roundTrip)
    facts.isLimited = down.isLimited
    var info = Livekit_ConnectionQualityInfo()
    info.participantSid = sid
    (info.quality, info.score) = QualityScore.rate(facts)
    return info
  }

  // MARK: Publishing

  /// The connection for publishing; made when it is first needed.
  func makePublisher() throws(Room.JoinError) -> Publisher {
    if let publisher { return publisher }
    let made = try Publisher(participant: self)
    made.setCut(condition.isMediaCut)
    publisher = made
    return made
  }

  func add(_ publication: Publication) {
    publications.append(publication)
    version &+= 1
    room.published(publication)
  }

  func remove(_ publication: Publication) {
    guard let index = publications.firstIndex(where: { $0 === publication }) else { return }
    publications.remove(at: index)
    version &+= 1
    room.unpublished(publication)
  }

  /// Sends a data packet on the connection that the client listens to.
  func sendData(_ bytes: [UInt8], isReliable: Bool) {
    if let subscriber {
      subscriber.sendData(bytes, isReliable: isReliable)
    } else {
      publisher?.sendData(bytes, isReliable: isReliable)
    }
  }

  // MARK: Speaking

  /// Ends an interval of the speaker detection; true when something changed.
  func endSpeakerInterval(_ interval: Int64) -> Bool {
    var level: Float = 0
    for publication in publications {
      publication.endSpeakerInterval(interval)
      level = max(level, publication.speakerLevel)
    }
    if level > 0 { spokenAt = MediaLoop.now() }
    defer { speakerLevel = level }
    return level != speakerLevel
  }

  var speakerInfo: Livekit_SpeakerInfo {
    var info = Livekit_SpeakerInfo()
    info.sid = sid
    info.level = speakerLevel
    info.active = speakerLevel > 0
    return info
  }
}
