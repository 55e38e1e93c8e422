import Logging
import MediaCore
import PeerConnection
import Platform
import Signaling
import Transport

/// The shell of one room: gives its machine what happens, with the time, and does what the machine says. It owns the
/// clients' connections, the streams that are forwarded, and the timers. Confined to the directory's loop.
final class Room {
  /// Name as in the tokens.
  let name: String
  /// `RM_…`
  let sid: String
  let logger: Logger
  /// Who is there, what is published, who is told what.
  private(set) var machine: RoomMachine
  /// The connections of everybody in the room, by the participants' sids.
  private(set) var participants: [String: ClientSession] = [:]

  private unowned let directory: RoomDirectory
  /// The streams that are forwarded, by the tracks' sids.
  private var tracks: [String: Publication] = [:]
  /// Signal connections about which the machine has not decided.
  private var arrivals: [SignalID: SignalConnection] = [:]
  /// What has happened while something was being done; it comes after that.
  private var events: [RoomMachine.Event] = []
  private var isActing = false
  private var closing: (timer: LoopTimer, at: Instant)?
  private var ticking: LoopTimer?
  private var tickCount: Int64 = 0
  private var monitor = TickMonitor(interval: Room.tickInterval)

  /// The time from one tick to the next.
  private static let tickInterval = Duration.milliseconds(100)
  /// Speakers are told every so many ticks.
  static let speakerTicks: Int64 = 3
  /// What subscribers can take is looked at every so many ticks.
  private static let bandwidthTicks = Int64(BandwidthKeeper.interval / tickInterval)
  /// Connection qualities are told every so many ticks.
  private static let qualityTicks: Int64 = 50

  init(name: String, sid: String, settings: RoomMachine.Settings, directory: RoomDirectory) {
    self.name = name
    self.sid = sid
    self.directory = directory
    var logger = directory.logger
    logger[metadataKey: "room"] = "\(name)"
    self.logger = logger
    machine = RoomMachine(
      name: name, sid: sid, settings: settings, limit: directory.interposer?.limit(room: name),
      limits: RoomMachine.Limits(directory.configuration), at: Self.now())
    setTimers()
  }

  var loop: MediaLoop { directory.loop }
  var configuration: EmbeddedRoomServer.Configuration { directory.configuration }

  /// What the media connections of all clients have in common.
  var mediaConfiguration: RTCPeerConnection.Configuration {
    var media = RTCPeerConnection.Configuration()
    media.localAddresses = configuration.mediaAddresses.isEmpty ? nil : configuration.mediaAddresses
    media.portRange = configuration.mediaPorts
    media.listener = directory.listener
    return media
  }

  /// A participant by its name in the token.
  func participant(identity: String) -> ClientSession? {
    machine.member(identity: identity).flatMap { participants[$0.sid] }
  }

  // MARK: Events

  /// A client with a good token has opened a signal connection.
  func join(_ request: JoinRequest, _ connection: SignalConnection) {
    arrivals[connection.link] = connection
    handle(.join(request, connection.link))
  }

  /// A client goes on with its session on another signal connection.
  func resume(_ sid: String, _ connection: SignalConnection) {
    arrivals[connection.link] = connection
    handle(.resume(sid, connection.link))
  }

  /// Gives the machine what has happened, and does what follows from it.
  func handle(_ event: RoomMachine.Event) {
    events.append(event)
    guard !isActing else { return }
    isActing = true
    while !events.isEmpty {
      let actions = machine.handle(events.removeFirst(), at: Self.now(), using: &directory.random)
      for action in actions { perform(action) }
    }
    isActing = false
    setTimers()
  }

  /// The time by both clocks.
  static func now() -> Moment { Moment(steady: MonotonicClock.now, wall: WallClock.microseconds) }

  // MARK: Actions

  private func perform(_ action: RoomMachine.Action) {
    switch action {
    case .open(let sid, let identity, let link, let receives, let mayPause):
      open(sid, identity, link, receives: receives, mayPause: mayPause)
    case .openSubscriber(let sid, let mayPause):
      do throws(RoomJoinRefusal) {
        try participants[sid]?.openSubscriber(mayPause: mayPause, offerID: firstOffer())
        interposeMedia(sid)
      } catch {
        handle(.subscriberFailed(sid))
      }
    case .startOffers(let sid): participants[sid]?.subscriber?.start()
    case .openPublisher(let sid, let need):
      do throws(RoomJoinRefusal) {
        try participants[sid]?.openPublisher()
        interposeMedia(sid)
        handle(.publisherOpened(sid, need))
      } catch {
        handle(.publisherFailed(sid, need, reason: error.description))
      }
    case .refuse(let link, let sid, let reason): refuse(link, sid, reason)
    case .send(let sid, let message): participants[sid]?.send(message)
    case .tell(let sid, let news): participants[sid]?.tell(news)
    case .renewToken(let sid, let token):
      guard let secret = configuration.apiKeys[token.apiKey], let text = try? token.signed(secret: secret) else {
        return
      }
      participants[sid]?.send(Livekit_SignalResponse(.refreshToken(text)))
    case .detach(let sid): participants[sid]?.detach()
    case .replaceSignal(let sid):
      guard let connection = participants[sid]?.connection else { return }
      directory.detached(connection.link)
      connection.close()
      participants[sid]?.detach()
    case .attach(let sid, let link):
      guard let connection = arrivals.removeValue(forKey: link) else { return }
      participants[sid]?.attach(connection)
      interposeSignal(sid)
      directory.attached(link, to: sid, in: self)
    case .resumeOffers(let sid): participants[sid]?.subscriber?.signalResumed()
    case .end(let sid, let reason, let isHeard): end(sid, reason, isHeard: isHeard)
    case .takeOffer(let sid, let offer): participants[sid]?.publisher?.handle(offer)
    case .answer(let sid, let tracks): participants[sid]?.publisher?.sendAnswer(tracks: tracks)
    case .takeAnswer(let sid, let answer): participants[sid]?.subscriber?.handle(answer)
    case .addCandidate(let sid, .publisher, let candidate): participants[sid]?.publisher?.addCandidate(candidate)
    case .addCandidate(let sid, .subscriber, let candidate): participants[sid]?.subscriber?.addCandidate(candidate)
    case .startTrack(let sid, let mid, let route):
      tracks[route.info.sid] = participants[sid]?.publisher?.start(mid, route)
    case .stopTrack(let sid, let track):
      tracks[track] = nil
      participants[sid]?.publisher?.stop(track)
    case .setMuted(let track, let isMuted): tracks[track]?.setMuted(isMuted, now: Self.now().steady)
    case .subscribe(let sid, let track, let wish):
      if let track = tracks[track] { participants[sid]?.subscriber?.subscribe(to: track, wish) }
    case .unsubscribe(let sid, let track): participants[sid]?.subscriber?.unsubscribe(from: track)
    case .setVideo(let sid, let track, let wish): participants[sid]?.subscriber?.setVideo(track, wish)
    case .simulateBandwidth(let sid, let bits): participants[sid]?.subscriber?.simulatedBandwidth = bits
    case .deliver(let bytes, let isReliable, let sids):
      for sid in sids { participants[sid]?.sendData(bytes, isReliable: isReliable) }
    case .report(let event, let room, let participant, let track):
      directory.report(event, room, participant, track: track)
    case .log(let level, let text, let details):
      logger.log(level: level, "\(text)", metadata: details.mapValues { .string($0) })
    case .closed:
      closing?.timer.cancel()
      ticking?.cancel()
      directory.removed(self)
    }
  }

  private func open(_ sid: String, _ identity: String, _ link: SignalID, receives: Bool, mayPause: Bool) {
    guard let connection = arrivals[link] else { return }
    let participant = ClientSession(sid: sid, identity: identity, connection: connection, room: self)
    do throws(RoomJoinRefusal) {
      if receives { try participant.openSubscriber(mayPause: mayPause, offerID: firstOffer()) }
    } catch {
      return handle(.openFailed(sid, error))
    }
    arrivals[link] = nil
    participants[sid] = participant
    interposeSignal(sid)
    interposeMedia(sid)
    directory.attached(link, to: sid, in: self)
    handle(.opened(sid))
  }

  private func interposeSignal(_ sid: String) {
    if let participant = participants[sid] { directory.interposer?.signalOpened(participant) }
  }

  private func interposeMedia(_ sid: String) {
    if let participant = participants[sid] { directory.interposer?.mediaOpened(participant) }
  }

  private func firstOffer() -> UInt32 { UInt32.random(in: 1...256, using: &directory.random) }

  private func refuse(_ link: SignalID, _ sid: String?, _ reason: RoomJoinRefusal) {
    let participant = sid.flatMap { participants.removeValue(forKey: $0) }
    guard let connection = participant?.connection ?? arrivals.removeValue(forKey: link) else { return }
    logger.warning("join refused", metadata: ["reason": "\(reason)"])
    directory.detached(link)
    directory.refuse(connection, .joinFailure, .disconnect)
    participant?.close()
  }

  private func end(_ sid: String, _ reason: Livekit_DisconnectReason, isHeard: Bool) {
    guard let participant = participants.removeValue(forKey: sid) else { return }
    if let connection = participant.connection { directory.detached(connection.link) }
    if !isHeard || participant.connection?.isHeard != true { directory.noteUnheardEnd(of: sid, reason) }
    participant.close()
  }

  /// Cuts a signal connection: with a farewell that tells the client to come back, or without a word.
  func cutSignal(of participant: ClientSession, _ farewell: Livekit_SignalResponse? = nil) {
    guard let connection = participant.connection else { return }
    directory.detached(connection.link)
    if let farewell {
      connection.send(farewell)
      connection.close()
    } else {
      connection.abort()
    }
    handle(.signalLost(participant.sid, connection.link))
  }

  /// Ends without a word to anybody, as when the process is killed.
  func abort() {
    for participant in participants.values { participant.abort() }
    participants = [:]
    closing?.timer.cancel()
    ticking?.cancel()
  }

  // MARK: Time

  /// Sets the timers that the machine's state asks for.
  private func setTimers() {
    if closing?.at != machine.closesAt {
      closing?.timer.cancel()
      closing = machine.closesAt.map { at in
        let timer = loop.timer(after: max(.zero, at - MonotonicClock.now)) { [weak self] in
          self?.closing = nil
          self?.handle(.tick)
        }
        return (timer, at)
      }
    }
    let isUsed = !machine.members.isEmpty
    if isUsed, ticking == nil {
      ticking = loop.timer(after: Self.tickInterval, repeats: true) { [weak self] in self?.tick() }
    } else if !isUsed, ticking != nil {
      ticking?.cancel()
      ticking = nil
      monitor.pause()
    }
  }

  private func tick() {
    tickCount &+= 1
    let now = MonotonicClock.now
    if let lateness = monitor.note(now) {
      logger.warning(
        "the room server has too much to do",
        metadata: ["late": "\(lateness.milliseconds) ms", "participants": "\(participants.count)"])
    }
    for track in tracks.values { track.tick(now: now) }
    if tickCount % Self.bandwidthTicks == 0 {
      for participant in participants.values { participant.subscriber?.keepBandwidth(now: now) }
    }
    handle(.tick)
    if tickCount % Self.speakerTicks == 0 { endSpeakerInterval(now: now) }
    if tickCount % Self.qualityTicks == 0 { handle(.qualities(participants.mapValues(\.quality))) }
  }

  private func endSpeakerInterval(now: Instant) {
    var levels: [String: Float] = [:]
    for track in tracks.values {
      track.endSpeakerInterval(Self.tickInterval * Self.speakerTicks)
      levels[track.owner, default: 0] = max(levels[track.owner] ?? 0, track.speakerLevel)
    }
    for (sid, level) in levels where level > 0 { participants[sid]?.spokenAt = now }
    for track in tracks.values { track.ownerSpokenAt = participants[track.owner]?.spokenAt ?? .distantPast }
    handle(.levels(levels))
  }
}

extension RoomMachine.Settings {
  /// As the server has it for all rooms.
  init(_ configuration: EmbeddedRoomServer.Configuration) {
    emptyTimeout = configuration.emptyTimeout
    departureTimeout = configuration.departureTimeout
    maximumParticipants = configuration.maximumParticipants
  }
}

extension RoomMachine.Limits {
  /// As the server has it.
  init(_ configuration: EmbeddedRoomServer.Configuration) {
    resumeTime = .seconds(configuration.resumeTimeout)
    connectTime = .seconds(configuration.connectTimeout)
    pausesVideo = configuration.pausesVideo
    iceServers = configuration.iceServers.map { server in
      var message = Livekit_ICEServer()
      message.urls = server.urls
      message.username = server.username
      message.credential = server.credential
      return message
    }
  }
}
