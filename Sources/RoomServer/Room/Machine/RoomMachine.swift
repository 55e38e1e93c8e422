import Logging
import MediaCore
import Signaling

/// One room: who is in it, what is published and who receives it, who is told what, and when it ends. A pure value: what
/// happens comes as events with their time, what is to be done goes out as actions; names are drawn from the random
/// source that is handed in.
///
/// ```
///               join (somebody who keeps the room)
///  empty ──────────────────────────────────────────► in use
///    │  empty timeout                                 │  ▲
///    ▼                     last one who keeps it gone │  │ join
///  closed ◄────────────────────────────────────────── abandoned
///    ▲           departure timeout
///    └── closed by the server API or the server's end, from every state
/// ```
///
/// | event | who is in the room | what goes out |
/// | --- | --- | --- |
/// | join | an older one of the same identity goes; `joining` | `open`, or `refuse` when it is full |
/// | opened | `connecting` | the join response with the others, their tracks as subscriptions; the others hear of it |
/// | media connected | `connected` | the others hear that it is active |
/// | signalLost | `resuming`, or gone without media | nothing to hear for it |
/// | resume | `connected` | what it has missed, all at once; an offer |
/// | leave, tick | gone | `end`; the others hear of it once, with its tracks' subscriptions ending |
/// | offered, trackEnded | | the track is told, then subscribed to; or the other way round |
/// | close | all gone | `closed` |
///
/// Packets don't come here: what is forwarded by which layer is chosen where packets are (`Forwarding`), between what is
/// decided here: subscribed or not, muted or not, how it is shown.
///
/// Large: its events are all that LiveKit's signalling has; what has a state of its
/// own is a value of its own (`Member`, `MemberTracks`, `MemberSubscriptions`, `DataBacklog`, `DepartureLog`,
/// `ConnectionQualities`).
struct RoomMachine: Sendable {
  /// What can be set for a room of its own.
  struct Settings: Sendable {
    /// Seconds that a room waits for its first one; see `EmbeddedRoomServer.Configuration`.
    var emptyTimeout: Int
    /// Seconds that a room stays after the last one has left; see `EmbeddedRoomServer.Configuration`.
    var departureTimeout: Int
    /// The most participants.
    var maximumParticipants: Int
    /// Free text for the participants to read.
    var metadata = ""
  }

  /// What the server has for all rooms.
  struct Limits: Sendable {
    /// How long a participant is kept whose signal connection is lost while its media flows.
    var resumeTime: Duration
    /// Within this time a client that joined must have a media connection.
    var connectTime: Duration
    /// Whether video may be paused for clients that don't say.
    var pausesVideo: Bool
    /// STUN and TURN servers that clients are told of.
    var iceServers: [Livekit_ICEServer]
  }

  /// Name as in the tokens.
  let name: String
  /// `RM_…`
  let sid: String
  /// Everybody in the room in the order of joining.
  private(set) var members: [Member] = []
  /// When the room closes if nobody comes who keeps it; nil while it is kept.
  private(set) var closesAt: Instant?
  /// True from its end on.
  private(set) var isClosed = false

  /// What the server has for all rooms.
  let limits: Limits
  private let created: Moment
  private var settings: Settings
  /// A limit that holds for now, before that of the settings.
  private var limit: Int?
  /// Whose connections are being made.
  private var joining: [Member] = []
  private var hasBeenUsed = false
  private var announced = Livekit_Room()
  private var departures = DepartureLog()
  private var backlog = DataBacklog()
  private var recentNonces: [[UInt8]] = []
  private var qualities = ConnectionQualities()
  private var trackCount = 0
  /// What is to be done, while an event is dealt with.
  private var actions: [Action] = []

  /// Nonces that are remembered.
  private static let nonceLimit = 100

  /// A room that begins now.
  init(name: String, sid: String, settings: Settings, limit: Int? = nil, limits: Limits, at now: Moment) {
    self.name = name
    self.sid = sid
    self.settings = settings
    self.limit = limit
    self.limits = limits
    created = now
    announced = info
    scheduleClosing(at: now)
  }

  // MARK: What is there

  /// The most participants that it takes.
  var maximumParticipants: Int { limit ?? settings.maximumParticipants }

  /// True when nobody else may join; somebody who is there already takes the own place.
  func isFull(for identity: String) -> Bool {
    members.count { $0.identity != identity } >= maximumParticipants
  }

  /// A participant by its sid.
  func member(_ sid: String) -> Member? { members.first { $0.sid == sid } }

  /// A participant by its name in the token.
  func member(identity: String) -> Member? { members.first { $0.identity == identity } }

  /// A published track, and whose it is.
  func track(_ sid: String) -> (owner: Member, track: PublishedTrack)? {
    for member in members {
      if let track = member.tracks.track(sid) { return (member, track) }
    }
    return nil
  }

  /// The room as clients see it.
  var info: Livekit_Room {
    var info = Livekit_Room()
    info.sid = sid
    info.name = name
    info.emptyTimeout = UInt32(clamping: settings.emptyTimeout)
    info.departureTimeout = UInt32(clamping: settings.departureTimeout)
    info.metadata = settings.metadata
    info.maxParticipants = UInt32(clamping: maximumParticipants)
    info.creationTime = created.wall / 1_000_000
    info.creationTimeMs = created.wall / 1000
    info.enabledCodecs = Self.codecs
    let counted = members.filter { !$0.isDependent }
    info.numParticipants = UInt32(clamping: counted.count)
    info.numPublishers = UInt32(clamping: counted.count { !$0.tracks.published.isEmpty })
    info.activeRecording = members.contains { $0.grant.recorder == true }
    return info
  }

  /// What can be published, the preferred first.
  static let codecs: [Livekit_Codec] = CodecTable.codecs.map {
    var codec = Livekit_Codec()
    codec.mime = $0.mimeType
    return codec
  }

  // MARK: Events

  /// Takes what has happened; gives what is to be done.
  mutating func handle(
    _ event: Event, at now: Moment, using random: inout some RandomNumberGenerator
  ) -> [Action] {
    guard !isClosed else { return [] }
    switch event {
    case .join(let request, let link): join(request, link, at: now, using: &random)
    case .opened(let sid): opened(sid, at: now)
    case .openFailed(let sid, let reason): openFailed(sid, reason)
    case .subscriberFailed(let sid): change(sid) { $0.subscriberFailed() }
    case .publisherOpened(let sid, let need):
      change(sid) { $0.publisherOpened() }
      serve(need, of: sid, at: now, using: &random)
    case .publisherFailed(let sid, let need, let reason): publisherFailed(sid, need, reason, at: now)
    case .resume(let sid, let link): resume(sid, link, at: now)
    case .signalLost(let sid, let link): signalLost(sid, link, at: now)
    case .received(let sid, let request): received(request, from: sid, at: now, using: &random)
    case .media(let sid, let leg, let state):
      if change(sid, { $0.note(state, of: leg, at: now) }) == true { changed(sid) }
    case .offered(let sid, let sections): offered(sid, sections)
    case .trackEnded(let sid, let track): unpublish(track, of: sid)
    case .data(let sid, let bytes, let isReliable): take(bytes, from: sid, isReliable, at: now)
    case .missed(let sid, let since):
      change(sid) { $0.missed(since: since) }
      catchUp(sid)
    case .leave(let sid, let reason, let action): end(sid, reason, action, at: now)
    case .setGrant(let sid, let grant): setGrant(sid, grant, at: now)
    case .setProfile(let sid, let name, let metadata, let attributes):
      _ = setProfile(sid, name: name, metadata: metadata, attributes: attributes, at: now)
    case .mute(let sid, let track, let isMuted): muteByServer(sid, track, isMuted)
    case .subscribe(let sid, let tracks, let isWanted): setWanted(sid, tracks, isWanted)
    case .send(let packet, let isReliable, let nonce): send(packet, isReliable, nonce, at: now)
    case .setMetadata(let metadata):
      settings.metadata = metadata
      announceRoom()
    case .limit(let limit): self.limit = limit
    case .levels(let levels): tellSpeakers(levels)
    case .qualities(let facts):
      for (sid, update) in qualities.updates(members, facts) {
        tell(sid, Livekit_SignalResponse(.connectionQuality(update)))
      }
    case .tick: tick(at: now)
    case .close(let reason): close(reason, at: now)
    }
    defer { actions = [] }
    return actions
  }

  // MARK: Joining and leaving

  /// Takes a client in. An older participant with the same identity must go.
  private mutating func join(
    _ request: JoinRequest, _ link: SignalID, at now: Moment, using random: inout some RandomNumberGenerator
  ) {
    if let older = member(identity: request.token.identity) { end(older.sid, .duplicateIdentity, at: now) }
    guard members.count < maximumParticipants else { return act(.refuse(link, nil, .full)) }
    let member = Member(
      sid: SID.participant(using: &random), request, link: link, pausesVideo: limits.pausesVideo, at: now)
    joining.append(member)
    act(
      .open(
        member.sid, identity: member.identity, link, receives: member.receives, mayPause: member.options.allowsPause))
  }

  private mutating func openFailed(_ sid: String, _ reason: RoomJoinRefusal) {
    guard let member = takeJoining(sid), let link = member.link else { return }
    act(.refuse(link, sid, reason))
  }

  private mutating func takeJoining(_ sid: String) -> Member? {
    joining.firstIndex { $0.sid == sid }.map { joining.remove(at: $0) }
  }

  private mutating func opened(_ sid: String, at now: Moment) {
    guard var member = takeJoining(sid), let link = member.link else { return }
    if let older = self.member(identity: member.identity) { end(older.sid, .duplicateIdentity, at: now) }
    guard members.count < maximumParticipants else { return act(.refuse(link, sid, .full)) }
    member.opened()
    members.append(member)
    if !member.isDependent { hasBeenUsed = true }
    scheduleClosing(at: now)
    welcome(sid, at: now)
    announce(sid)
    announceRoom()
    act(.report("participant_joined", info, self.member(sid)?.info(), nil))
    log(.info, "participant joined", of: sid, ["sid": sid])
  }

  /// Welcomes the client and begins to offer what the others publish.
  private mutating func welcome(_ sid: String, at now: Moment) {
    guard let member = member(sid) else { return }
    let others = members.filter { $0.sid != sid && $0.isVisible }
    send(sid, joinResponse(to: member, others: others))
    renewToken(of: sid, at: now)
    for other in others {
      for track in other.tracks.published { considerSubscription(of: sid, to: track, of: other) }
    }
    if member.receives { act(.startOffers(sid)) }
    var speakers = Livekit_SpeakersChanged()
    speakers.speakers = others.filter { $0.speakerLevel > 0 }.map(\.speakerInfo)
    if !speakers.speakers.isEmpty { send(sid, Livekit_SignalResponse(.speakersChanged(speakers))) }
  }

  /// Ends a session. The client hears why, unless it left by itself; the others hear that it has gone.
  mutating func end(
    _ sid: String, _ reason: Livekit_DisconnectReason, _ action: Livekit_LeaveRequest.Action = .disconnect,
    isByClient: Bool = false, at now: Moment
  ) {
    guard let index = members.firstIndex(where: { $0.sid == sid }) else { return }
    if !isByClient { send(sid, .leave(reason, action)) }
    var member = members.remove(at: index)
    let gone = member.tracks.removeAll()
    member.touch()
    act(.end(sid, reason, isHeard: member.link != nil))
    let departed = member.info(ended: reason)
    if member.isVisible {
      departures.add(departed, at: now)
      tellAll(.update([departed]))
    }
    act(.report("participant_left", info, departed, nil))
    act(.log(.info, "participant left", ["identity": member.identity, "reason": "\(reason)"]))
    scheduleClosing(at: now)
    announceRoom()
    for track in gone { unpublished(track, of: member, departed) }
  }

  private mutating func signalLost(_ sid: String, _ link: SignalID, at now: Moment) {
    if let index = joining.firstIndex(where: { $0.sid == sid && $0.link == link }) {
      joining.remove(at: index)
      return act(.refuse(link, sid, .over))
    }
    guard member(sid)?.link == link else { return }
    let isKept = change(sid) { $0.lostSignal(at: now) }
    act(.detach(sid))
    if isKept == false { end(sid, .signalClose, at: now) }
  }

  private mutating func resume(_ sid: String, _ link: SignalID, at now: Moment) {
    guard let member = member(sid) else { return }
    if member.link != nil { act(.replaceSignal(sid)) }
    change(sid) { $0.resume(on: link) }
    act(.attach(sid, link))
    var response = Livekit_ReconnectResponse()
    response.iceServers = limits.iceServers
    response.serverInfo = ServerIdentity.info
    response.lastMessageSeq = member.lastReliableSequence
    send(sid, Livekit_SignalResponse(.reconnect(response)))
    catchUp(sid)
    renewToken(of: sid, at: now)
    if member.receives { act(.resumeOffers(sid)) }
    log(.info, "participant resumed", of: sid, ["sid": sid])
  }

  /// Tells what happened since it last heard something: who has gone, how everybody is.
  private mutating func catchUp(_ sid: String) {
    guard let since = change(sid, { $0.takeUnheard() }) ?? nil else { return }
    let departed = departures.departed(since: since).filter { member(identity: $0.identity) == nil }
    if !departed.isEmpty { tell(sid, .update(departed)) }
    let shown = members.filter { $0.isVisible || $0.sid == sid }
    tell(sid, .update(shown.map { $0.info() }))
    var speakers = Livekit_SpeakersChanged()
    speakers.speakers = shown.map(\.speakerInfo)
    tell(sid, Livekit_SignalResponse(.speakersChanged(speakers)))
    var update = Livekit_RoomUpdate()
    update.room = info
    tell(sid, Livekit_SignalResponse(.roomUpdate(update)))
  }

  private mutating func close(_ reason: Livekit_DisconnectReason, at now: Moment) {
    isClosed = true
    closesAt = nil
    for member in joining { if let link = member.link { act(.refuse(link, member.sid, .over)) } }
    joining = []
    for member in members { end(member.sid, reason, at: now) }
    act(.closed)
  }

  // MARK: Time

  private mutating func tick(at now: Moment) {
    for member in members {
      switch member.due(at: now, limits) {
      case .leave(let reason, let action): end(member.sid, reason, action, at: now)
      case .renewToken: renewToken(of: member.sid, at: now)
      case nil: break
      }
    }
    if let closesAt, closesAt <= now.steady { close(.roomClosed, at: now) }
  }

  /// Recorders and the like don't keep a room: it ends some time after the last one who does has gone.
  private mutating func scheduleClosing(at now: Moment) {
    guard !isClosed else { return }
    if members.contains(where: { !$0.isDependent }) {
      closesAt = nil
    } else if closesAt == nil {
      let seconds = hasBeenUsed ? settings.departureTimeout : settings.emptyTimeout
      closesAt = now.steady + .seconds(min(max(0, seconds), Int(UInt32.max)))
    }
  }

  // MARK: Data

  /// Passes a participant's data packet on to those whom it is for. The sender's names are written by the server.
  private mutating func take(_ bytes: [UInt8], from sid: String, _ isReliable: Bool, at now: Moment) {
    guard let sender = member(sid), sender.grant.allowsData, var packet = SignalCoding.packet(bytes) else { return }
    // Speakers are told by the server alone.
    if case .speaker = packet.value { return }
    if isReliable, packet.sequence > 0 {
      // Sent again after a resume: it had come.
      guard change(sid, { $0.takeSequence(packet.sequence) }) == true else { return }
    }
    packet.participantSid = sid
    packet.participantIdentity = sender.identity
    if case .user(var user) = packet.value {
      user.participantSid = sid
      user.participantIdentity = sender.identity
      packet.value = .user(user)
    }
    deliver(packet, isReliable, from: sid, at: now)
  }

  private mutating func send(_ packet: Livekit_DataPacket, _ isReliable: Bool, _ nonce: [UInt8], at now: Moment) {
    if !nonce.isEmpty {
      guard !recentNonces.contains(nonce) else { return }
      recentNonces.append(nonce)
      if recentNonces.count > Self.nonceLimit { recentNonces.removeFirst() }
    }
    deliver(packet, isReliable, from: nil, at: now)
  }

  /// Sends a data packet to those whom it is for.
  private mutating func deliver(
    _ packet: Livekit_DataPacket, _ isReliable: Bool, from sender: String?, at now: Moment
  ) {
    var audience = DataBacklog.Audience(identities: packet.destinationIdentities, sids: [])
    if case .user(let user) = packet.value {
      audience.identities += user.destinationIdentities
      audience.sids = user.destinationSids
    }
    guard let bytes: [UInt8] = try? packet.serializedBytes() else { return }
    let receivers = members.filter { $0.sid != sender && audience.includes($0) }
    if !receivers.isEmpty { act(.deliver(bytes, isReliable: isReliable, to: receivers.map(\.sid))) }
    if isReliable, packet.sequence > 0, let sender {
      backlog.add(bytes, sender: sender, sequence: packet.sequence, audience: audience, now: now.steady)
    }
  }

  /// Sends a participant again what it may have missed of a sender's reliable packets.
  mutating func repeatData(of sender: String, after sequence: UInt32, to sid: String) {
    guard let member = member(sid) else { return }
    for bytes in backlog.packets(of: sender, after: sequence, for: member) {
      act(.deliver(bytes, isReliable: true, to: [sid]))
    }
  }

  // MARK: Parts

  /// Tells everybody of the room as it is now, if that has changed.
  mutating func announceRoom() {
    let info = info
    guard !isClosed, info != announced else { return }
    announced = info
    var update = Livekit_RoomUpdate()
    update.room = info
    tellAll(Livekit_SignalResponse(.roomUpdate(update)))
  }

  /// The next number in the order of publishing.
  mutating func takeTrackPosition() -> Int {
    trackCount += 1
    return trackCount
  }

  /// Changes a participant; nil when it isn't there.
  @discardableResult
  mutating func change<T>(_ sid: String, _ change: (inout Member) -> T) -> T? {
    guard let index = members.firstIndex(where: { $0.sid == sid }) else { return nil }
    return change(&members[index])
  }

  /// Has something done.
  mutating func act(_ action: Action) { actions.append(action) }
}
