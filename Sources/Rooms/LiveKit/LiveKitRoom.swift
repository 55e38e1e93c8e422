import MediaCore
import Session
import Signaling

/// All that a LiveKit session knows of its room, whatever its connections do: who is there and what the recording was
/// told (`RoomReport`), what is asked for (`Subscriptions`), and what is said over data channels (`MessageReceiver`). It
/// takes what the server says of the room, and returns what is to be told and sent. A pure value.
///
/// `tells` in what follows: the recording is told now; false before the join, and while it shows a loss. What is not told
/// then is told later, by `tell` or `tellAll`.
struct LiveKitRoom: Sendable {
  typealias Action = LiveKitSession.Action

  private(set) var report: RoomReport
  private(set) var subscriptions: Subscriptions
  /// How the server rates the bot's connection.
  private(set) var quality = ConnectionQuality.unknown
  /// The id of this life of the room; nil: not told yet.
  private(set) var sid: String?
  private var messages: MessageReceiver
  private let receivesMedia: Bool

  /// A room that is not joined yet.
  init(settings: LiveKitSettings) {
    report = RoomReport(selection: settings.selection, keys: settings.keys)
    subscriptions = Subscriptions(
      receivesMedia: settings.receivesMedia, selection: settings.selection, autoSubscribe: settings.autoSubscribe)
    messages = MessageReceiver(hasKeys: settings.keys != nil)
    receivesMedia = settings.receivesMedia
  }

  /// Who is there, and what they publish.
  var roster: LiveKitRoster { report.roster }

  // MARK: Joining

  /// The server took the bot into a room. When the room is such a crowd that it must be joined in another way, that is
  /// returned, in words for the log.
  mutating func join(_ join: Livekit_JoinResponse) -> String? {
    note(join.room)
    report.reset(own: join.participant, others: join.otherParticipants)
    quality = .unknown
    guard subscriptions.needsAnotherJoin(roster) else { return nil }
    return
      "the room has more tracks than can be received: at most \(SubscriptionBudget.limit) cameras and screens and as "
      + "many microphones at a time, of those who are in view or talk"
  }

  /// The join counts: nothing is negotiated or asked for yet, and the server has heard of no wish.
  mutating func begin() -> [Action] {
    report.unbind()
    subscriptions.begin()
    return [.bind([:])] + sent(subscriptions.update(roster)) + repeatWishes()
  }

  /// The server moved the bot to another room: the same session goes on there.
  mutating func move(_ moved: Livekit_RoomMovedResponse, tells: Bool) -> [Action] {
    note(moved.room)
    report.reset(own: moved.participant, others: moved.otherParticipants)
    return update(tells: tells)
  }

  /// What a resume says: what was negotiated, asked for, published, and received.
  func syncState(_ media: MediaLink, published: [Livekit_TrackPublishedResponse] = []) -> Livekit_SignalRequest {
    .with {
      $0.syncState = .with { state in
        if let answer = media.answer { state.answer = answer }
        if let offer = media.offer { state.offer = offer }
        state.subscription = subscriptions.state
        state.publishTracks = published
        state.trackSidsDisabled = report.wishes.values.filter { $0.reception != .wanted }.map(\.track.rawValue).sorted()
        state.datachannelReceiveStates = messages.receiveStates
      }
    }
  }

  /// After a join or a resume: the server has forgotten, or did not hear of it.
  mutating func repeatWishes() -> [Action] {
    report.forgetEndedWishes()
    return sent(report.wishes.values.sorted { $0.track < $1.track }.map(\.request))
  }

  // MARK: What the server says

  /// Somebody came, left, or is otherwise than before; `update` follows.
  mutating func apply(_ info: Livekit_ParticipantInfo) { report.apply(info) }

  /// Draws the conclusions from what was applied.
  mutating func update(tells: Bool) -> [Action] {
    report.forgetEnded()
    subscriptions.forgetEnded(roster)
    return sent(subscriptions.update(roster)) + tell(tells)
  }

  /// An offer was answered: its sections carry these tracks.
  mutating func bind(_ sections: [MediaSection], trackOfMID: [String: String], tells: Bool) -> [Action] {
    report.bind(sections, trackOfMID: trackOfMID)
    return tell(tells)
  }

  /// Takes a message about the room. `own`: the bot's session id.
  mutating func receive(
    _ message: Livekit_SignalResponse.OneOf_Message, own: String, tells: Bool, at now: Instant
  ) -> [Action] {
    switch message {
    case .speakersChanged(let change):
      let requests = sent(subscriptions.hear(change.speakers, in: roster, at: now))
      let known = tells ? speakers(change.speakers) : []
      return known.isEmpty ? requests : requests + [.emit(.speakers(known))]
    case .streamStateUpdate(let update):
      report.apply(update.streamStates)
      return tell(tells)
    case .subscriptionPermissionUpdate(let update):
      // The offer that follows takes the track away or brings it back; the server does this by itself.
      let track = TrackID(update.trackSid)
      guard !update.allowed else {
        report.forgetLack(of: track)
        return []
      }
      return lack(report.lack(of: track, "its publisher does not allow it to the bot"))
    case .subscriptionResponse(let response):
      return lack(report.refuse(TrackID(response.trackSid), response.err.text)) + tell(tells)
    case .connectionQuality(let update):
      for info in update.updates where info.participantSid == own { quality = ConnectionQuality(info.quality) }
      return []
    case .roomUpdate(let update):
      // Newer servers tell the id only now.
      note(update.room)
      return []
    default:
      // About publishing, about the other mode, or of no interest to a recording.
      return []
    }
  }

  private mutating func note(_ room: Livekit_Room) {
    if !room.sid.isEmpty { sid = RoomError.oneLine(room.sid) }
  }

  private func speakers(_ infos: [Livekit_SpeakerInfo]) -> [Speaker] {
    infos.compactMap { info in
      guard let identity = roster.identity(ofSession: info.sid) else { return nil }
      // Not a number compares false with everything: then the level is 0.
      let level = info.level > 0 ? Int(min(info.level, 1) * 1000) : 0
      return Speaker(participant: identity, level: level, isActive: info.active)
    }
  }

  // MARK: What people and applications send

  /// A message came on one of the two data channels.
  mutating func receive(_ bytes: [UInt8], isReliable: Bool, at now: Instant) -> [Action] {
    messages.receive(bytes, isReliable: isReliable, roster: roster, at: now)
  }

  /// What an encrypted message holds; nil when it could not be decrypted.
  mutating func decrypted(_ content: [UInt8]?, from sender: ParticipantIdentity, at now: Instant) -> [Action] {
    messages.decrypted(content, from: sender, roster: roster, at: now)
  }

  /// What comes of a track can be decrypted (nil), or cannot for this reason.
  mutating func setUnreadable(_ track: TrackID, _ reason: String?, tells: Bool) -> [Action] {
    report.setUnreadable(track, reason) ? tell(tells) : []
  }

  // MARK: What the recording wants

  /// Takes a wish about a track, tells the server when that can be (`isOpen`), and the recording what is asked for.
  mutating func receive(_ wish: ReceptionWish, isOpen: Bool) -> [Action] {
    guard let isNews = report.keep(wish) else { return [] }
    let requests = wish.reception == .wanted ? subscriptions.wish(for: wish.track, in: roster) : []
    return (isOpen ? sent(requests + [wish.request]) : [])
      + (isNews ? [.emit(.trackReception(wish.track, wish.reception))] : [])
  }

  /// The recording shows these tracks from now on. Without signalling (`isOpen`) only the choice is kept.
  mutating func view(_ tracks: Set<TrackID>, isOpen: Bool, at now: Instant) -> [Action] {
    let requests = subscriptions.view(tracks, in: roster, at: now)
    return isOpen ? sent(requests) : []
  }

  /// The recording asks for a track that does not come.
  mutating func subscribe(_ id: TrackID, at now: Instant) -> [Action] {
    guard receivesMedia, let track = roster.track(id) else { return [] }
    let (requests, isRepeated) = subscriptions.ask(for: track, in: roster, at: now)
    guard isRepeated, !report.hasToldLack(of: id) else { return sent(requests) }
    let why = "the server sends nothing of it and gives no reason; it is asked again"
    return lack(report.lack(of: id, why)) + sent(requests)
  }

  /// Whether tracks should flow.
  mutating func expectsMedia() -> Bool { report.expectsMedia() }

  // MARK: What the recording is told

  /// Tells what has changed, if the recording is told now.
  mutating func tell(_ tells: Bool) -> [Action] { tells ? report.announce() : [] }

  /// Tells what has changed during a loss, with everybody and everything that is there.
  mutating func tellAll() -> [Action] { report.announceAll() }

  private func lack(_ line: String?) -> [Action] { line.map { [.log(.warning, $0)] } ?? [] }

  private func sent(_ requests: [Livekit_SignalRequest]) -> [Action] { requests.map { .perform(.send($0)) } }
}

extension ConnectionQuality {
  /// The server's rating.
  fileprivate init(_ quality: Livekit_ConnectionQuality) {
    self =
      switch quality {
      case .poor: .poor
      case .good: .good
      case .excellent: .excellent
      case .lost: .lost
      case .UNRECOGNIZED: .unknown
      }
  }
}

extension Livekit_SubscriptionError {
  /// The error in words.
  fileprivate var text: String {
    switch self {
    case .seCodecUnsupported: "the server says that its codec is not supported"
    case .seTrackNotfound: "the server says that it does not find it"
    case .seUnknown: "the server refuses it without a reason"
    case .UNRECOGNIZED(let code): "the server refuses it (error \(code))"
    }
  }
}
