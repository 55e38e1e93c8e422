import MediaCore
import PeerConnection
import Session
import Signaling
import Transport

/// What a LiveKit session publishes, and the second peer connection that carries it, for which the bot makes the offers. It is
/// opened for the first track or message, and after each new join. A pure value.
///
/// A track: `waiting` → (signalling stands: the room is asked) → `asked` → (the room named it) → `offered` → (the offer
/// was answered) → `published`. A new join leads back to `waiting`; `ended` leads out, from everywhere.
///
/// One offer at a time: what changes meanwhile is in the next.
struct Publishing: Sendable {
  typealias Action = LiveKitSession.Action

  /// How a track stands.
  private enum Phase: Hashable {
    case waiting
    /// The room was asked to take it.
    case asked(since: Instant)
    /// The room named it, and it has a sender.
    case offered
    case published
  }

  private struct Entry {
    var description: LocalTrackDescription
    var phase = Phase.waiting
    /// What the room calls it.
    var info = Livekit_TrackInfo()

    /// Whether the room named it.
    var hasSender: Bool { phase == .offered || phase == .published }
  }

  /// Where the exchange of descriptions stands.
  private enum Exchange: Hashable {
    case idle
    /// The peer connection makes an offer.
    case making
    /// The server has it, and owes an answer.
    case offered(since: Instant)
  }

  /// How long the server may take to answer.
  static let patience = Duration.seconds(10)
  /// The most tracks of one bot.
  static let limit = 64

  /// Whether the room is told that what comes is encrypted end to end.
  private let isEncrypted: Bool
  /// The number of the peer connection; 0 before the first.
  private(set) var generation = 0
  private var isOpen = false
  /// Whether messages can be sent.
  private var isSignalOpen = false
  private var entries: [LocalTrackID: Entry] = [:]
  private var exchange = Exchange.idle
  private var needsOffer = false
  private var needsRestart = false
  private var wantsData = false
  private var request: MediaRequest?
  /// Why what is published does not arrive any more; the session must be joined anew.
  private var failure: String?
  /// When what failed counts as failed: a server that sends the bot away closes the way first, and says then why.
  private var failsAt: Instant?

  /// Nothing is published yet.
  init(isEncrypted: Bool = false) { self.isEncrypted = isEncrypted }

  /// When something is due by time; nil for never.
  var nextDeadline: Instant? {
    var since = entries.values.compactMap { if case .asked(let since) = $0.phase { since } else { nil } }
    if case .offered(let at) = exchange { since.append(at) }
    let due = since.min().map { $0 + Self.patience }
    return [due, failsAt].compactMap { $0 }.min()
  }

  /// The reason for which the session must be joined anew, once.
  mutating func takeFailure() -> String? {
    defer { failure = nil }
    return failure
  }

  // MARK: What the bot wants

  /// Publishes a track.
  mutating func publish(_ id: LocalTrackID, _ track: LocalTrackDescription, at now: Instant) -> [Action] {
    guard entries.count < Self.limit else {
      return [.tell(.ended(id, RoomError(.rejected, "a bot publishes at most \(Self.limit) tracks")))]
    }
    entries[id] = Entry(description: track)
    return isSignalOpen ? ask(id, at: now) : []
  }

  /// Withdraws a track.
  mutating func unpublish(_ id: LocalTrackID) -> [Action] {
    guard let entry = entries.removeValue(forKey: id), entry.hasSender else { return [] }
    needsOffer = true
    return [.perform(.removeSender(id))] + offer()
  }

  /// Disables or enables a track.
  mutating func mute(_ id: LocalTrackID, _ isMuted: Bool) -> [Action] {
    guard let entry = entries[id], entry.description.isMuted != isMuted else { return [] }
    entries[id]?.description.isMuted = isMuted
    guard entry.hasSender, isSignalOpen else { return [] }
    return [.send { $0.mute = .with { ($0.sid, $0.muted) = (entry.info.sid, isMuted) } }]
  }

  /// A message is to be sent: from now on data channels are there.
  mutating func wantData() -> [Action] {
    wantsData = true
    return isSignalOpen ? open() + offer() : []
  }

  // MARK: The session

  /// The session was joined anew: everything is published again.
  mutating func joined(_ request: MediaRequest, at now: Instant) -> [Action] {
    self.request = request
    var actions: [Action] = isOpen ? [.perform(.closePublisher)] : []
    for (id, entry) in entries.sorted(by: { $0.key < $1.key }) where entry.phase != .waiting {
      if entry.phase == .published { actions.append(.tell(.interrupted(id))) }
      entries[id] = Entry(description: entry.description)
    }
    (isOpen, isSignalOpen, exchange, needsOffer, needsRestart) = (false, true, .idle, false, false)
    failsAt = nil
    if wantsData { actions += open() + offer() }
    for id in entries.keys.sorted() { actions += ask(id, at: now) }
    return actions
  }

  /// Signalling is lost: what was asked has no answer, and the peer connection lives on.
  mutating func lost() -> [Action] {
    (isSignalOpen, failsAt) = (false, nil)
    for (id, entry) in entries { if case .asked = entry.phase { entries[id]?.phase = .waiting } }
    guard case .offered = exchange else { return [] }
    (exchange, needsOffer) = (.idle, true)
    return [.perform(.withdrawOffer)]
  }

  /// Signalling goes on: asks again what was not answered, and restarts ICE (RFC 8445 section 2.4), since the way may be
  /// another one.
  mutating func resumed(at now: Instant) -> [Action] {
    isSignalOpen = true
    var actions: [Action] = []
    for (id, entry) in entries.sorted(by: { $0.key < $1.key }) {
      switch entry.phase {
      case .waiting, .asked: actions += ask(id, at: now)
      case .offered, .published:
        let (sid, isMuted) = (entry.info.sid, entry.description.isMuted)
        actions.append(.send { $0.mute = .with { ($0.sid, $0.muted) = (sid, isMuted) } })
      }
    }
    guard isOpen else { return wantsData ? actions + open() + offer() : actions }
    (needsOffer, needsRestart) = (true, true)
    return actions + offer()
  }

  /// What a resume says of the tracks that the room has.
  var published: [Livekit_TrackPublishedResponse] {
    entries.sorted { $0.key < $1.key }.filter(\.value.hasSender).map { id, entry in
      .with { ($0.cid, $0.track) = (id.cid, entry.info) }
    }
  }

  /// The session is over.
  mutating func end() -> [Action] {
    defer { (isOpen, entries, exchange) = (false, [:], .idle) }
    return isOpen ? [.perform(.closePublisher)] : []
  }

  /// Something is due by time.
  mutating func timer(at now: Instant) -> [Action] {
    if case .offered(let since) = exchange, now >= since + Self.patience {
      exchange = .idle
      failure = "the server does not answer the offer of what is published"
    }
    if let at = failsAt, now >= at {
      failsAt = nil
      failure = "the way to the server of what is published failed"
    }
    return entries.keys.sorted().flatMap { id -> [Action] in
      guard case .asked(let since)? = entries[id]?.phase, now >= since + Self.patience else { return [] }
      return end(id, RoomError(.timeout, "the room did not take the track \(entries[id]?.description.name ?? "")"))
    }
  }

  // MARK: What the server says

  /// Takes a message, if it is about what is published; nil when it is about something else.
  mutating func receive(_ message: Livekit_SignalResponse.OneOf_Message, at now: Instant) -> [Action]? {
    switch message {
    case .trackPublished(let response): named(response)
    case .answer(let answer): answered(answer)
    case .trickle(let trickle) where trickle.target == .publisher: candidate(trickle)
    case .mute(let mute): muted(mute)
    case .trackUnpublished(let response):
      entries.first { $0.value.info.sid == response.trackSid && $0.value.hasSender }
        .map { end($0.key, RoomError(.removed, "the room has taken the track \($0.value.description.name) away")) }
        ?? []
    case .requestResponse(let response): refused(response)
    default: nil
    }
  }

  private mutating func named(_ response: Livekit_TrackPublishedResponse) -> [Action] {
    guard let id = LocalTrackID(cid: response.cid), var entry = entries[id], !entry.hasSender,
      !response.track.sid.isEmpty
    else { return [] }
    (entry.info, entry.phase) = (response.track, .offered)
    entries[id] = entry
    needsOffer = true
    return open() + [.perform(.addSender(id, entry.description))] + offer()
  }

  private mutating func answered(_ answer: Livekit_SessionDescription) -> [Action] {
    guard case .offered = exchange else { return [] }
    exchange = .idle
    return [.perform(.applyPublisherAnswer(generation: generation, sdp: answer.sdp))]
  }

  private func candidate(_ trickle: Livekit_TrickleRequest) -> [Action] {
    guard isOpen, let candidate = TrickleCandidate(json: trickle.candidateInit) else { return [] }
    return [.perform(.addPublisherCandidate(candidate.candidate))]
  }

  private mutating func muted(_ request: Livekit_MuteTrackRequest) -> [Action] {
    guard let (id, entry) = entries.first(where: { $0.value.info.sid == request.sid && $0.value.hasSender }),
      entry.description.isMuted != request.muted
    else { return [] }
    entries[id]?.description.isMuted = request.muted
    return [.tell(.muted(id, request.muted))]
  }

  private mutating func refused(_ response: Livekit_RequestResponse) -> [Action]? {
    guard response.reason != .ok, response.reason != .queued, case .addTrack(let request)? = response.request,
      let id = LocalTrackID(cid: request.cid), case .asked? = entries[id]?.phase
    else { return nil }
    let kind: RoomError.Kind =
      switch response.reason {
      case .notAllowed: .notPermitted
      case .limitExceeded: .busy
      default: .rejected
      }
    // The advice for all that a token does not permit is about joining.
    let advice = kind == .notPermitted ? "Make a token with canPublish for this room" : nil
    return end(
      id, RoomError(kind, "the track \(entries[id]?.description.name ?? ""): \(response.message)", advice: advice))
  }

  private mutating func end(_ id: LocalTrackID, _ error: RoomError) -> [Action] {
    unpublish(id) + [.tell(.ended(id, error))]
  }

  // MARK: The peer connection

  /// It made an offer.
  mutating func offered(_ number: Int, _ sdp: String, at now: Instant) -> [Action] {
    guard number == generation, exchange == .making else { return [] }
    guard isSignalOpen else {
      // The next session makes another.
      exchange = .idle
      return [.perform(.withdrawOffer)]
    }
    exchange = .offered(since: now)
    return [.send { $0.offer = .with { ($0.type, $0.sdp) = ("offer", sdp) } }]
  }

  /// It took an answer, or could not: what it was about is published.
  mutating func applied(_ number: Int, error: String?) -> [Action] {
    guard number == generation else { return [] }
    if let error {
      failure = "the server's answer could not be used: \(error)"
      return []
    }
    // What was named after the offer is in the next.
    guard !needsOffer else { return offer() }
    return entries.keys.sorted().flatMap { id -> [Action] in
      guard let entry = entries[id], entry.phase == .offered else { return [] }
      entries[id]?.phase = .published
      return [.tell(.published(id, TrackID(entry.info.sid)))]
    }
  }

  /// Something of it failed.
  mutating func failed(_ number: Int, _ text: String) -> [Action] {
    if number == generation { (failure, exchange) = (text, .idle) }
    return []
  }

  /// It stands otherwise than before. What was sent before it was connected is lost: keyframes are needed.
  mutating func changed(_ number: Int, _ state: TransportState, at now: Instant) -> [Action] {
    guard number == generation, isOpen else { return [] }
    switch state {
    case .connected:
      return entries.filter { $0.value.hasSender && $0.value.description.codec.kind == .video }.keys.sorted().map {
        .tell(.keyframeWanted($0, layer: nil))
      }
    case .failed:
      failsAt = now + MediaLink.farewellTime
      return []
    case .new, .connecting, .disconnected, .closed: return []
    }
  }

  /// It gathered a candidate.
  func gathered(_ number: Int, _ candidate: TrickleCandidate) -> [Action] {
    guard number == generation, isSignalOpen else { return [] }
    return [.send { $0.trickle = .with { ($0.candidateInit, $0.target) = (candidate.json, .publisher) } }]
  }

  private mutating func open() -> [Action] {
    guard !isOpen, let request else { return [] }
    generation += 1
    (isOpen, exchange, needsOffer) = (true, .idle, true)
    return [.perform(.openPublisher(generation: generation, request))]
  }

  private mutating func offer() -> [Action] {
    guard needsOffer, exchange == .idle, isOpen, isSignalOpen else { return [] }
    let restarts = needsRestart
    (exchange, needsOffer, needsRestart) = (.making, false, false)
    return [.perform(.makeOffer(generation: generation, restartsICE: restarts))]
  }

  private mutating func ask(_ id: LocalTrackID, at now: Instant) -> [Action] {
    guard let track = entries[id]?.description else { return [] }
    entries[id]?.phase = .asked(since: now)
    return [.send { $0.addTrack = track.request(cid: id.cid, isEncrypted: isEncrypted) }]
  }
}

extension LocalTrackID {
  /// The name by which offers and the server's answers mean the track.
  var cid: String { "recbot-\(rawValue)" }

  fileprivate init?(cid: String) {
    guard cid.hasPrefix("recbot-"), let number = Int(cid.dropFirst(7)) else { return nil }
    self.init(number)
  }
}

extension LocalTrackDescription {
  /// What the room is asked.
  fileprivate func request(cid: String, isEncrypted: Bool) -> Livekit_AddTrackRequest {
    .with {
      ($0.cid, $0.name, $0.type) = (cid, name, codec.kind == .audio ? .audio : .video)
      ($0.source, $0.muted, $0.disableRed) = (source.wire, isMuted, true)
      if isEncrypted { $0.encryption = .gcm }
      // Newer servers read the feature, older ones the flag.
      if !isDiscontinuous { ($0.disableDtx, $0.audioFeatures) = (true, [.tfNoDtx]) }
      guard let largest = layers.last else { return }
      ($0.width, $0.height) = (UInt32(clamping: largest.width), UInt32(clamping: largest.height))
      let qualities: [Livekit_VideoQuality] = layers.count == 1 ? [.high] : [.low, .medium, .high]
      $0.layers = zip(layers, qualities).enumerated().map { index, pair in
        .with {
          ($0.width, $0.height) = (UInt32(clamping: pair.0.width), UInt32(clamping: pair.0.height))
          ($0.quality, $0.bitrate) = (pair.1, UInt32(clamping: pair.0.bitrate))
          $0.rid = rids.isEmpty ? "" : rids[index].rawValue
        }
      }
    }
  }
}

extension TrackSource {
  /// The wire's name for it.
  fileprivate var wire: Livekit_TrackSource {
    switch self {
    case .unknown: .unknown
    case .camera: .camera
    case .microphone: .microphone
    case .screenShare: .screenShare
    case .screenShareAudio: .screenShareAudio
    }
  }
}

extension RoomAction<LiveKitRequest> {
  fileprivate static func tell(_ event: PublishingEvent) -> Self { .perform(.tell(event)) }

  fileprivate static func send(_ build: (inout Livekit_SignalRequest) -> Void) -> Self { .perform(.send(.with(build))) }
}
