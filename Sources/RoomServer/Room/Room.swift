import Logging
import MediaCore
import PeerConnection
import Signaling
import Transport

/// One room: who is in it, who is told what, and when it ends. Confined to the directory's loop.
final class Room {
  /// Why somebody can't join.
  enum JoinError: Error {
    /// The room has as many participants as it may have.
    case full
    /// The media connection could not be made; the text is the cause.
    case media(String)
  }

  /// What can be set for a room of its own.
  struct Settings {
    /// Seconds; see `RoomServer.Configuration`.
    var emptyTimeout: Int
    /// See `emptyTimeout`.
    var departureTimeout: Int
    /// The most participants.
    var maximumParticipants: Int
    /// Free text for the participants to read.
    var metadata = ""

    /// As the server has it for all rooms.
    init(_ configuration: RoomServer.Configuration) {
      emptyTimeout = configuration.emptyTimeout
      departureTimeout = configuration.departureTimeout
      maximumParticipants = configuration.maximumParticipants
    }
  }

  /// Name as in the tokens.
  let name: String
  /// `RM_…`
  let sid: String
  /// Everybody in the room in the order of joining.
  private(set) var participants: [Participant] = []
  let logger: Logger
  var loop: MediaLoop { directory.loop }
  var configuration: RoomServer.Configuration { directory.configuration }

  private unowned let directory: RoomDirectory
  private let created = WallClock.milliseconds()
  private var random = SystemRandomNumberGenerator()
  private var settings: Settings
  private var isClosed = false
  private var hasBeenUsed = false
  private var closing: LoopTimer?
  private var ticking: LoopTimer?
  private var tick: Int64 = 0
  private var announced = Livekit_Room()
  /// Who has left, for those who could not hear it.
  private var departures: [(info: Livekit_ParticipantInfo, at: Int64)] = []
  private var backlog = DataBacklog()
  private var trackCount = 0
  private var lastBeat: Int64?
  private var lastWarning: Int64 = .min / 2
  private var recentNonces: [[UInt8]] = []
  private var toldQualities: [String: [String: Livekit_ConnectionQuality]] = [:]

  /// The beat of everything that happens by time, in nanoseconds.
  private static let beat: Int64 = 100_000_000
  /// Speakers are told every so many beats.
  static let speakerBeats: Int64 = 3
  /// A time between two beats that is worth a warning, in nanoseconds.
  private static let lateBeat: Int64 = 400_000_000
  /// The least time between two such warnings, in nanoseconds.
  private static let warningInterval: Int64 = 10_000_000_000
  /// Connection qualities are told every so many beats.
  private static let qualityBeats: Int64 = 50

  init(name: String, sid: String, settings: Settings, directory: RoomDirectory) {
    self.settings = settings
    self.name = name
    self.sid = sid
    self.directory = directory
    var logger = directory.logger
    logger[metadataKey: "room"] = "\(name)"
    self.logger = logger
    announced = info
    scheduleClosing()
  }

  /// What the media connections of all clients have in common.
  var mediaConfiguration: PeerConnection.Configuration {
    var media = PeerConnection.Configuration()
    media.localAddresses = configuration.mediaAddresses.isEmpty ? nil : configuration.mediaAddresses
    media.portRange = configuration.mediaPorts
    media.listener = directory.listener
    return media
  }

  /// STUN and TURN servers as clients are told of them.
  var iceServers: [Livekit_ICEServer] {
    configuration.iceServers.map { server in
      var message = Livekit_ICEServer()
      message.urls = server.urls
      message.username = server.username
      message.credential = server.credential
      return message
    }
  }

  /// The most participants that it takes.
  var maximumParticipants: Int { directory.faults.limit(room: name) ?? settings.maximumParticipants }

  /// True when nobody else may join; somebody who is there already takes the own place.
  func isFull(for identity: String) -> Bool {
    participants.count { $0.identity != identity } >= maximumParticipants
  }

  /// A participant by its name in the token.
  func participant(identity: String) -> Participant? { participants.first { $0.identity == identity } }

  /// Everything that is published.
  var publications: [Publication] { participants.flatMap(\.publications) }

  // MARK: Joining and leaving

  /// Takes a client in. An older participant with the same identity must go.
  func join(_ request: JoinRequest, _ connection: SignalConnection) throws(JoinError) -> Participant {
    if let older = participants.first(where: { $0.identity == request.token.identity }) {
      older.leave(.duplicateIdentity)
    }
    guard participants.count < maximumParticipants else { throw .full }
    let participant = try Participant(
      sid: SID.participant(using: &random), request: request, connection: connection, room: self)
    participant.setCondition(directory.faults.condition(room: name, identity: participant.identity))
    participants.append(participant)
    if !participant.isDependent { hasBeenUsed = true }
    scheduleClosing()
    if ticking == nil {
      ticking = loop.timer(after: Self.beat, repeats: true) { [weak self] in self?.beat() }
    }
    participant.start(others: participants.filter { $0 !== participant && $0.isVisible })
    announce(participant)
    announceRoom()
    directory.report("participant_joined", info, participant.info)
    logger.info(
      "participant joined", metadata: ["identity": "\(participant.identity)", "sid": "\(participant.sid)"])
    return participant
  }

  /// Takes a participant out that has closed its connections; the others hear of it.
  func remove(_ participant: Participant, _ reason: Livekit_DisconnectReason) {
    guard let index = participants.firstIndex(where: { $0 === participant }) else { return }
    participants.remove(at: index)
    if let connection = participant.connection { directory.detached(connection) }
    if participant.connection == nil || participant.condition.isSilent {
      directory.noteUnheardEnd(of: participant.sid, reason)
    }
    if participant.isVisible {
      let info = participant.info
      noteDeparture(info)
      send(.update([info]))
    }
    directory.report("participant_left", self.info, participant.info)
    logger.info("participant left", metadata: ["identity": "\(participant.identity)", "reason": "\(reason)"])
    scheduleClosing()
    announceRoom()
    if participants.isEmpty {
      ticking?.cancel()
      ticking = nil
      lastBeat = nil
    }
  }

  /// Sends everybody away and ends the room.
  func close(_ reason: Livekit_DisconnectReason) {
    guard !isClosed else { return }
    isClosed = true
    for participant in participants { participant.leave(reason) }
    closing?.cancel()
    ticking?.cancel()
    directory.removed(self)
  }

  /// Ends without a word to anybody, as when the process is killed.
  func vanish() {
    isClosed = true
    for participant in participants { participant.vanish() }
    participants = []
    closing?.cancel()
    ticking?.cancel()
  }

  /// The connection belongs to nobody any more.
  func detached(_ connection: SignalConnection) { directory.detached(connection) }

  /// How long it is known who has left, in nanoseconds; longer than any resume can take.
  private static let departureMemory: Int64 = 360_000_000_000

  private func noteDeparture(_ info: Livekit_ParticipantInfo) {
    let now = MediaLoop.now()
    departures.removeAll { now &- $0.at > Self.departureMemory || $0.info.identity == info.identity }
    departures.append((info, now))
  }

  /// Who has left since then and isn't back.
  func departed(since: Int64) -> [Livekit_ParticipantInfo] {
    departures.filter { departure in
      departure.at >= since && participant(identity: departure.info.identity) == nil
    }.map(\.info)
  }

  /// Recorders and the like don't keep a room: it ends some time after the last one who does has gone.
  private func scheduleClosing() {
    guard !isClosed else { return }
    if participants.contains(where: { !$0.isDependent }) {
      closing?.cancel()
      closing = nil
    } else if closing == nil {
      let seconds = hasBeenUsed ? settings.departureTimeout : settings.emptyTimeout
      closing = loop.timer(after: Int64(max(0, seconds)) * 1_000_000_000) { [weak self] in self?.close(.roomClosed) }
    }
  }

  // MARK: News

  /// The room as clients see it.
  var info: Livekit_Room {
    var info = Livekit_Room()
    info.sid = sid
    info.name = name
    info.emptyTimeout = UInt32(clamping: settings.emptyTimeout)
    info.departureTimeout = UInt32(clamping: settings.departureTimeout)
    info.metadata = settings.metadata
    info.maxParticipants = UInt32(clamping: maximumParticipants)
    info.creationTime = created / 1000
    info.creationTimeMs = created
    info.enabledCodecs = Room.codecs
    let counted = participants.filter { !$0.isDependent }
    info.numParticipants = UInt32(clamping: counted.count)
    info.numPublishers = UInt32(clamping: counted.count { !$0.publications.isEmpty })
    info.activeRecording = participants.contains { $0.grant.recorder == true }
    return info
  }

  /// What can be published, the preferred first.
  static let codecs: [Livekit_Codec] = CodecTable.codecs.map {
    var codec = Livekit_Codec()
    codec.mime = $0.mimeType
    return codec
  }

  /// Changes the room's metadata; everybody hears of it.
  func setMetadata(_ metadata: String) {
    settings.metadata = metadata
    announceRoom()
  }

  /// Tells everybody who may know of a participant how it is now.
  func announce(_ participant: Participant) {
    guard participant.isVisible else { return participant.tell(.update([participant.info])) }
    send(.update([participant.info]))
  }

  private func announceRoom() {
    let info = info
    guard !isClosed, info != announced else { return }
    announced = info
    var update = Livekit_RoomUpdate()
    update.room = info
    send(Livekit_SignalResponse(.roomUpdate(update)))
  }

  private func send(_ news: Livekit_SignalResponse) {
    for participant in participants { participant.tell(news) }
  }

  // MARK: Tracks

  /// A track was published: everybody hears of it, then gets it.
  func published(_ publication: Publication) {
    announce(publication.owner)
    for participant in participants where participant !== publication.owner {
      participant.subscriber?.consider(publication)
    }
    announceRoom()
    directory.report("track_published", info, publication.owner.info, track: publication.info)
    logger.info(
      "track published",
      metadata: [
        "identity": "\(publication.owner.identity)", "track": "\(publication.sid)", "kind": "\(publication.kind)",
        "source": "\(publication.info.source)", "layers": "\(publication.layers.count)",
      ])
  }

  /// A track is gone.
  func unpublished(_ publication: Publication) {
    for participant in participants { participant.subscriber?.drop(publication) }
    if publication.owner.isMember { announce(publication.owner) }
    announceRoom()
    directory.report("track_unpublished", info, publication.owner.info, track: publication.info)
    logger.info(
      "track unpublished",
      metadata: ["identity": "\(publication.owner.identity)", "track": "\(publication.sid)"])
  }

  /// A published track by its name.
  func publication(_ sid: String) -> Publication? {
    for participant in participants {
      if let found = participant.publications.first(where: { $0.sid == sid }) { return found }
    }
    return nil
  }

  /// The next number in the order of publishing.
  func takeTrackPosition() -> Int {
    trackCount += 1
    return trackCount
  }

  /// A fresh track name.
  func makeTrackSID() -> String { SID.track(using: &random) }

  // MARK: Data

  /// Passes a participant's data packet on to those whom it is for. The sender's names are written by the server.
  func forward(_ packet: Livekit_DataPacket, from sender: Participant, isReliable: Bool) {
    var packet = packet
    packet.participantSid = sender.sid
    packet.participantIdentity = sender.identity
    if case .user(var user) = packet.value {
      user.participantSid = sender.sid
      user.participantIdentity = sender.identity
      packet.value = .user(user)
    }
    deliver(packet, isReliable: isReliable, except: sender)
  }

  /// Sends a data packet to those whom it is for. A nonce that came already means that it is done.
  func deliver(
    _ packet: Livekit_DataPacket, isReliable: Bool, nonce: [UInt8] = [], except sender: Participant? = nil
  ) {
    if !nonce.isEmpty {
      guard !recentNonces.contains(nonce) else { return }
      recentNonces.append(nonce)
      if recentNonces.count > Self.nonceLimit { recentNonces.removeFirst() }
    }
    var audience = DataBacklog.Audience(identities: packet.destinationIdentities, sids: [])
    if case .user(let user) = packet.value {
      audience.identities += user.destinationIdentities
      audience.sids = user.destinationSids
    }
    guard let bytes: [UInt8] = try? packet.serializedBytes() else { return }
    for participant in participants where participant !== sender && audience.includes(participant) {
      participant.sendData(bytes, isReliable: isReliable)
    }
    if isReliable, packet.sequence > 0, let sender {
      backlog.add(bytes, sender: sender.sid, sequence: packet.sequence, audience: audience, now: MediaLoop.now())
    }
  }

  /// Nonces that are remembered.
  private static let nonceLimit = 100

  /// Sends a participant again what it may have missed of a sender's reliable packets.
  func repeatData(of sender: String, after sequence: UInt32, to participant: Participant) {
    for bytes in backlog.packets(of: sender, after: sequence, for: participant) {
      participant.sendData(bytes, isReliable: true)
    }
  }

  // MARK: Time

  private func beat() {
    tick &+= 1
    let now = MediaLoop.now()
    noteLateness(now)
    // A copy: somebody may be sent away.
    let isBandwidthDue = tick % (BandwidthKeeper.interval / Self.beat) == 0
    for participant in participants {
      for publication in participant.publications { publication.beat(now: now) }
      if isBandwidthDue { participant.subscriber?.keepBandwidth(now: now) }
      participant.beat(now: now)
    }
    if tick % Self.speakerBeats == 0 { tellSpeakers() }
    if tick % Self.qualityBeats == 0 { tellQualities() }
  }

  /// A loop that comes late to its beat has too much to do: everything is late then, and somebody should know.
  private func noteLateness(_ now: Int64) {
    defer { lastBeat = now }
    guard let lastBeat, now &- lastBeat > Self.lateBeat, now &- lastWarning > Self.warningInterval else { return }
    lastWarning = now
    logger.warning(
      "the room server has too much to do",
      metadata: [
        "late": "\((now &- lastBeat &- Self.beat) / 1_000_000) ms", "participants": "\(participants.count)",
      ])
  }

  /// Tells everybody how well the others' connections do, when that has changed since it was told.
  private func tellQualities() {
    var told: [String: [String: Livekit_ConnectionQuality]] = [:]
    let qualities = participants.map { (participant: $0, info: $0.quality) }
    for participant in participants {
      let before = toldQualities[participant.sid] ?? [:]
      var now: [String: Livekit_ConnectionQuality] = [:]
      var update = Livekit_ConnectionQualityUpdate()
      for (other, info) in qualities where other.isVisible || other === participant {
        now[other.sid] = info.quality
        if before[other.sid] != info.quality { update.updates.append(info) }
      }
      // Nobody hears it while the connection is lost: all again afterwards.
      told[participant.sid] = participant.connection == nil ? [:] : now
      if !update.updates.isEmpty { participant.tell(Livekit_SignalResponse(.connectionQuality(update))) }
    }
    toldQualities = told
  }

  private func tellSpeakers() {
    var changes: [(participant: Participant, info: Livekit_SpeakerInfo)] = []
    for participant in participants where participant.endSpeakerInterval(Self.speakerBeats &* Self.beat) {
      changes.append((participant, participant.speakerInfo))
    }
    guard !changes.isEmpty else { return }
    for participant in participants {
      var message = Livekit_SpeakersChanged()
      message.speakers = changes.compactMap { change in
        change.participant.isVisible || change.participant === participant ? change.info : nil
      }
      guard !message.speakers.isEmpty else { continue }
      participant.tell(Livekit_SignalResponse(.speakersChanged(message)))
    }
  }
}
