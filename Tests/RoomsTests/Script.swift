import FrameEncryption
import MediaCore
import Session
import Signaling
import TestKit
import Transport

@testable import Rooms

/// A LiveKit session in manual time, whose actions are read as lines of text.
struct Script {
  var session: LiveKitSession
  var now = Instant.seconds(1000)
  /// Media sections that the "peer connection" has, by mid.
  var sections: [MediaSection] = []
  /// Whether packets come, while the transport is connected.
  var mediaFlows = true
  /// Whether the media connection answers when it is asked; nil when that cannot be known.
  var answersProbes: Bool? = true
  /// Whether the server answers pings.
  var answersPings = true
  /// What the session said of itself, newest last.
  var statuses: [RoomStatus] = []
  /// What went into the log.
  var logs: [String] = []

  init(
    tokens: TokenSource = .given("T0"), limit: Duration? = nil, relayOnly: Bool = false,
    receivesMedia: Bool = true, selection: RoomSelection = RoomSelection(), keys: FrameKeys? = nil,
    _ change: (inout ReconnectPolicy.Settings) -> Void = { _ in }
  ) {
    var settings = ReconnectPolicy.Settings()
    settings.limit = limit
    settings.relayOnly = relayOnly
    change(&settings)
    session = LiveKitSession(
      settings: .init(
        tokens: tokens, connectTimeout: .seconds(15), mediaTimeout: .seconds(15), iceServers: [],
        wallClockOffset: 0, receivesMedia: receivesMedia, selection: selection, keys: keys),
      policy: ReconnectPolicy(settings: settings, seed: 1))
  }

  /// Nothing comes any more, over neither connection.
  mutating func cut() { (mediaFlows, answersProbes, answersPings) = (false, false, false) }

  /// Goes on until the session opens a socket, `seconds` at most.
  mutating func passUntilSocket(seconds: Double) -> [String] {
    let end = now + .nanoseconds(Int64(seconds * 1e9))
    var lines: [String] = []
    while now < end, !lines.contains(where: { $0.hasPrefix("socket") }) { lines += passQuietly(seconds: 0.05) }
    return lines
  }

  mutating func handle(_ input: LiveKitSession.Input) -> [String] {
    var lines: [String] = []
    if mediaFlows, session.media.isUp { session.traffic.lastPacketAt = now }
    if let answersProbes {
      if answersProbes || mediaFlows, session.media.isUp { session.traffic.heardAt = now }
      session.traffic.heardAt = session.traffic.heardAt ?? .zero
    } else {
      session.traffic.heardAt = nil
    }
    for action in session.handle(input, at: now) { lines += perform(action) }
    return lines
  }

  mutating func receive(_ build: (inout Livekit_SignalResponse) -> Void) -> [String] {
    handle(.message(attempt: session.signal.attempt, .with(build)))
  }

  /// Goes on to the next deadline, or to `end` if that is earlier, again and again until `end`.
  mutating func pass(seconds: Double) -> [String] {
    let end = now + .nanoseconds(Int64(seconds * 1e9))
    var lines: [String] = []
    while let deadline = session.nextDeadline, deadline <= end {
      now = max(now, deadline)
      let said = handle(.timer)
      lines += said
      if answersPings, session.signal.isOpen, said.contains(where: { $0.hasPrefix("send ping") }) {
        let milliseconds = now.nanoseconds / 1_000_000
        lines += receive { $0.pongResp.lastPingTimestamp = milliseconds }
      }
    }
    now = end
    return lines
  }

  /// The same without the pings.
  mutating func passQuietly(seconds: Double) -> [String] {
    pass(seconds: seconds).filter { !$0.hasPrefix("send ping") }
  }

  /// The way to a session with media: joined, one offer answered, transport connected.
  mutating func joined(_ people: [Livekit_ParticipantInfo] = [], tracks: [String: String] = [:]) {
    _ = handle(.connect)
    _ = receive { $0.join = Script.join(people) }
    _ = offer(tracks)
    _ = handle(.transport(generation: session.media.generation, .connected))
    now += .seconds(1)
    _ = handle(.timer)
  }

  /// An offer whose mids carry these tracks; a name in capitals is video.
  mutating func offer(_ tracks: [String: String], id: UInt32 = 7) -> [String] {
    sections = tracks.sorted { $0.key < $1.key }.map {
      MediaSection(
        mid: MID($0.key), kind: $0.value.hasPrefix("TR_V") ? .video : .audio, streamID: "PA_x|\($0.value)",
        trackID: $0.value, isActive: true)
    }
    return receive {
      $0.offer = .with {
        $0.type = "offer"
        $0.sdp = "v=0"
        $0.id = id
      }
    }
  }

  static func join(_ people: [Livekit_ParticipantInfo], sid: String = "PA_me") -> Livekit_JoinResponse {
    .with {
      $0.room = .with { ($0.sid, $0.name) = ("RM_1", "lobby") }
      $0.participant = .with {
        ($0.sid, $0.identity) = (sid, "bot")
        $0.permission = .with { $0.canSubscribe = true }
      }
      $0.otherParticipants = people
      ($0.pingInterval, $0.pingTimeout) = (5, 15)
    }
  }

  /// A person; tracks whose name begins with `TR_V` are cameras, the others microphones.
  static func person(
    _ identity: String, sid: String? = nil, version: UInt32 = 1, tracks: [String] = [], muted: Set<String> = []
  ) -> Livekit_ParticipantInfo {
    .with {
      ($0.sid, $0.identity, $0.state, $0.version) = (sid ?? "PA_\(identity)", identity, .active, version)
      $0.tracks = tracks.map { name in
        .with {
          $0.sid = name
          $0.type = name.hasPrefix("TR_V") ? .video : .audio
          $0.source = name.hasPrefix("TR_V") ? .camera : .microphone
          $0.muted = muted.contains(name)
        }
      }
    }
  }

  private mutating func perform(_ action: LiveKitSession.Action) -> [String] {
    switch action {
    case .perform(let request): return perform(request)
    case .openMedia(let generation, let request):
      return ["media \(generation) \(request.iceServers.flatMap(\.urls))\(request.relayOnly ? " relay only" : "")"]
    case .updateMedia(let servers, let relayOnly):
      return ["update media \(servers.flatMap(\.urls))\(relayOnly ? " relay only" : "")"]
    case .probeMedia: return []
    case .requestKeyframes: return ["keyframes"]
    case .status(let status):
      statuses.append(status)
      return []
    case .addCandidate(let text): return ["candidate \(text)"]
    case .closeMedia: return ["close media"]
    case .bind(let tracks):
      return ["bind \(tracks.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " "))"]
    case .emit(let event): return ["> \(Self.text(event))"]
    case .joined: return ["joined"]
    case .finished(let end, let error): return ["finished \(end) \(error?.name ?? "-")"]
    case .log(let level, let text):
      logs.append("\(level) \(text)")
      return []
    }
  }

  private mutating func perform(_ request: LiveKitRequest) -> [String] {
    switch request {
    case .openSocket(let attempt, let query, let token):
      return ["socket \(attempt) \(query.text) \(token.wrappedValue)"]
    case .send(let request): return ["send \(Self.text(request))"]
    case .closeSocket: return ["close socket"]
    case .closeSocketGently: return ["close socket gently"]
    case .lookForRoom(let room, _): return ["look for \(room)"]
    case .endLookout: return ["end lookout"]
    case .applyOffer(let generation, let id, let sdp):
      if sdp == "bad" { return handle(.offerFailed(generation: generation, "bad")) }
      return handle(.answered(generation: generation, offer: id, sdp: "answer", sections: sections))
    case .decrypt(let message): return ["decrypt \(message.sealed.count) of \(message.sender)"]
    case .beginEncryption(let identity, let trailer): return ["encryption as \(identity), trailer \(trailer.count)"]
    case .openPublisher(let generation, _): return ["open publisher \(generation)"]
    case .closePublisher: return ["close publisher"]
    case .addSender(let id, let track): return ["add sender \(id.rawValue) \(track.name)"]
    case .removeSender(let id): return ["remove sender \(id.rawValue)"]
    case .makeOffer(let generation, let restartsICE):
      return ["make offer\(restartsICE ? " with new ICE" : "")"]
        + handle(.publishing(.offered(generation: generation, sdp: "offer")))
    case .withdrawOffer: return ["withdraw offer"]
    case .applyPublisherAnswer(let generation, let sdp):
      return handle(.publishing(.applied(generation: generation, error: sdp == "bad" ? "bad" : nil)))
    case .addPublisherCandidate(let text): return ["publisher candidate \(text)"]
    case .tell(let event): return ["! \(Self.text(event))"]
    }
  }

  private static func text(_ event: PublishingEvent) -> String {
    switch event {
    case .published(let id, let sid): "published \(id.rawValue) as \(sid)"
    case .interrupted(let id): "interrupted \(id.rawValue)"
    case .muted(let id, let isMuted): "muted \(id.rawValue) \(isMuted)"
    case .keyframeWanted(let id, let layer): "keyframe \(id.rawValue) \(layer.map { "\($0)" } ?? "all")"
    case .ended(let id, let error): "ended \(id.rawValue) \(error.name)"
    }
  }

  static func text(_ event: RoomEvent) -> String {
    switch event {
    case .joined(let room): "joined \(room)"
    case .participant(let value): "participant \(value.displayName)"
    case .participantLeft(let value): "left \(value)"
    case .track(let value):
      "track \(value.id) \(value.participant)\(value.isMuted ? " muted" : "")"
        + (value.obstacle.map { " \($0)" } ?? "")
    case .trackUnpublished(let value): "unpublished \(value)"
    case .trackSubscribed(let track, let isOn): "subscribed \(track) \(isOn)"
    case .trackPaused(let track, let isOn): "paused \(track) \(isOn)"
    case .speakers(let values): "speakers " + values.map { "\($0.participant)=\($0.level)" }.joined(separator: " ")
    case .connectionLost(let text): "lost \(text)"
    case .connectionRestored: "restored"
    case .synchronized: "synchronized"
    case .setLayout(let layout): "layout \(layout.name)"
    case .pin, .unpin, .spotlight, .process, .title, .pause, .resume, .marker: "command"
    case .trackReception(let track, let reception): "reception \(track) \(reception)"
    case .network(let report): "network \(report.incoming) \(report.quality)"
    case .data(let message): "data \(message.topic) \(message.payload.count)"
    case .chat(let message): "chat \(message.participant?.rawValue ?? "-"): \(message.text)"
    case .caption(let caption): "caption \(caption.text)"
    case .ended(let end): "ended \(end)"
    }
  }

  private static func text(_ request: Livekit_SignalRequest) -> String {
    switch request.message {
    case .answer(let value): "answer \(value.id)"
    case .trickle(let value): "trickle \(value.target) \(value.candidateInit)"
    case .pingReq(let value): "ping rtt=\(value.rtt)"
    case .syncState(let value): "sync answer=\(value.answer.id) offer=\(value.offer.id)"
    case .subscription(let value):
      "subscribe \(value.trackSids) \(value.participantTracks.map(\.participantSid)) \(value.subscribe)"
    case .trackSetting(let value):
      "setting \(value.trackSids.joined()) \(value.disabled ? "off" : "\(value.width)x\(value.height)") \(value.priority)"
    case .leave(let value): "leave \(value.reason) \(value.action)"
    case .addTrack(let value):
      "add track \(value.cid) \(value.name) \(value.layers.map { "\($0.width)x\($0.height)" }.joined(separator: ","))"
    case .offer: "offer"
    case .mute(let value): "mute \(value.sid) \(value.muted)"
    default: "other"
    }
  }
}
