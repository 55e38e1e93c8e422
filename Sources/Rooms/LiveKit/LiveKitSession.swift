import FrameEncryption
import Logging
import MediaCore
import Session
import Signaling
import Transport

/// All decisions of a LiveKit subscriber in the classic mode (the server offers, we answer), without input and
/// output: what happened goes in, what to do comes out. Times are nanoseconds of one monotonic clock.
///
/// Two connections live side by side: signalling (a WebSocket, one number per attempt) and media (a peer connection,
/// one number per generation). Either can be lost while the other lives on. What the recording was told (`announced`)
/// is kept apart from what is so (`current`); during an outage nothing is told, and afterwards the difference is.
struct LiveKitSession: Sendable {
  /// Something that happened. The numbers say of which connection; what belongs to an older one is ignored.
  enum Input: Sendable {
    case connect
    /// There is nothing to connect to.
    case unusable(RoomError)
    /// TCP stands; TLS, the upgrade and the first message are to follow.
    case reached(attempt: Int)
    case message(attempt: Int, Livekit_SignalResponse)
    case socketFailed(attempt: Int, RoomError)
    case socketClosed(attempt: Int, String)
    case transport(generation: Int, TransportState)
    case gathered(generation: Int, TrickleCandidate)
    case answered(generation: Int, offer: UInt32, sdp: String, sections: [MediaSection])
    case offerFailed(generation: Int, String)
    case subscribe(TrackID)
    /// What is wanted of some tracks.
    case receive([ReceptionWish])
    /// The recording shows these tracks from now on, and no others.
    case view(Set<TrackID>)
    /// A message of a data channel, whole.
    case data(generation: Int, [UInt8], isReliable: Bool)
    /// What a track sends cannot be decrypted, for this reason; nil: it can be again.
    case unreadable(TrackID, String?)
    /// What `decrypt` asked for; nil: it could not be decrypted.
    case decrypted(generation: Int, [UInt8]?, from: ParticipantIdentity)
    /// What came in during the last second; without the server's word.
    case network(generation: Int, NetworkReport)
    /// This machine's addresses or routes changed.
    case networkChanged
    /// What the server's list of rooms says: whether the room that is waited for is there. Nil: it could not be asked.
    case roomListed(Bool?)
    /// Somebody who knows says that the room has begun.
    case roomBegan
    case leave
    /// Everything sent before `closeSocket` is on its way, and the socket is closed.
    case left
    /// `nextDeadline` is reached.
    case timer
  }

  /// Something to do, in order.
  enum Action: Sendable, Equatable {
    case openSocket(attempt: Int, SignalQuery, token: Redacted<String>)
    case send(Livekit_SignalRequest)
    case closeSocket
    /// Close after all that was sent is on its way; `left` follows.
    case closeSocketGently
    /// Ask the server whether there is a room of this name; `roomListed` follows.
    case lookForRoom(String, token: String)
    /// Rooms are not asked for any more.
    case endLookout
    case openMedia(generation: Int, [ICEServer], relayOnly: Bool)
    /// Servers and policy for the next ICE restart.
    case updateMedia([ICEServer], relayOnly: Bool)
    /// Apply and answer; `answered` or `offerFailed` follows.
    case applyOffer(generation: Int, id: UInt32, sdp: String)
    case addCandidate(String)
    case closeMedia
    /// Ask the peer whether it is there, over the media connection.
    case probeMedia
    /// Ask the publishers of all video tracks for keyframes.
    case requestKeyframes
    /// From now on the frames of these m-lines, and only these, belong to these tracks.
    case bind([MID: TrackID])
    case emit(RoomEvent)
    /// `decrypted` follows.
    case decrypt(EncryptedMessage)
    /// What ends the frames that the server makes itself.
    case setServerTrailer([UInt8])
    /// The first join succeeded.
    case joined
    case finished(SessionEnd, RoomError?)
    /// The connection stands otherwise than before, or an error came up.
    case status(RoomStatus)
    case log(Logger.Level, String)
  }

  /// Where signalling stands. When it is tried again is the policy's business.
  enum Phase: Hashable, Sendable {
    case idle
    /// A WebSocket is being opened, or the first message is awaited.
    case connecting(ReconnectPolicy.Attempt)
    case open
    /// No WebSocket, until the policy says so.
    case closed
    /// The farewell is being sent.
    case leaving(until: Int64)
    case ended
  }

  /// What doesn't change.
  struct Settings: Sendable {
    var tokens: TokenSource
    var connectTimeout: Int64
    var mediaTimeout: Int64
    var iceServers: [ICEServer]
    /// Wall-clock nanoseconds since 1970 minus monotonic nanoseconds.
    var wallClockOffset: Int64
    /// Whether tracks are subscribed; without, only data comes.
    var receivesMedia = true
    /// What is received and shown.
    var selection = RoomSelection()
    /// Of a room that is encrypted end to end.
    var keys: FrameKeys?
  }

  /// How long the transport may be without answer before the session is resumed; the transport itself says so only
  /// after 10 s.
  static let disconnectedTime: Int64 = 1_000_000_000
  /// How long the server has to say why it closed the media, before the session is resumed.
  static let farewellTime: Int64 = 700_000_000
  /// Asking again for a track is not useful more often: the server looks every 3 s.
  static let subscribeInterval: Int64 = 3_000_000_000
  /// How long the farewell may take.
  static let leaveTime: Int64 = 500_000_000
  /// When coming back: the longest time until the server is reached by TCP, ns. In it the system asks twice (after 0
  /// and 1 s), so that an outage that ends is noticed within a second.
  static let reachTime: Int64 = 2_000_000_000
  /// When coming back: the longest time from there to the first message, ns.
  static let answerWait: Int64 = 8_000_000_000
  /// When coming back: the time for media. Every fourth attempt gets the long time of the first join, for slow
  /// networks; the short one makes sure that checks never pause for long.
  static let returnMediaTime: Int64 = 4_000_000_000

  let settings: Settings
  var policy: ReconnectPolicy
  var phase = Phase.idle
  var attempt = 0
  @Redacted var refreshedToken: String? = nil
  var reconnectReason = Livekit_ReconnectReason.rrUnknown
  var participantSID = ""
  var hasJoined = false

  var roster: LiveKitRoster { didSet { expectation = nil } }
  var bindings = TrackBindings()
  var paused: Set<TrackID> = [] { didSet { expectation = nil } }
  var refused: Set<TrackID> = []
  /// Why tracks are not received, as it was told in the log.
  var toldLacks: [TrackID: String] = [:]
  var announced = RoomState()
  var bound: [MID: TrackID] = [:] { didSet { expectation = nil } }
  /// Whether tracks should flow, as long as nothing has changed that it depends on.
  var expectation: Bool?
  /// Which pictures and which sound are received.
  var pictures = SubscriptionBudget(isAutomatic: true)
  /// See `pictures`.
  var sounds = SubscriptionBudget(isAutomatic: true)
  /// Whether the room had more tracks than can be received: then the server must not send them all by itself.
  var isCrowd = false
  var lastSubscribe: [TrackID: Int64] = [:]
  var wishes: [TrackID: ReceptionWish] = [:] { didSet { expectation = nil } }
  var data = DataReceiver()
  var encryption = EncryptionState()
  /// How the server rates our connection.
  var quality = ConnectionQuality.unknown

  /// The room's name and the other people, while the bot is in the room but nothing may be received.
  var heldRoom: String?
  /// Whether a held bot is alone.
  var isAlone = true

  var generation = 0
  /// Whether the transport says that it is connected.
  var isTransportUp = false
  /// Whether nothing came through it although it was asked; the transport notices that much later.
  var isPathDead = false
  var lastOffer: Livekit_SessionDescription?
  var lastAnswer: Livekit_SessionDescription?
  var waitingCandidates: [TrickleCandidate] = []

  /// True when the recording was told of a loss.
  var isLossTold = false
  var lossText = ""
  var watch = Watch()
  /// When the last RTP or RTCP packet came, ns; the caller sets it before each input. Nil before the first.
  var lastPacketAt: Int64?
  /// When the last datagram of any kind came, ns; set like `lastPacketAt`. Nil when that cannot be known.
  var mediaHeardAt: Int64?
  /// Whether no ICE restart can bring media back; set like `lastPacketAt`.
  var isMediaBeyondRestart = false
  private var toldStatus = RoomStatus()
  /// The id of this life of the room; nil: not told yet.
  var roomSID: String?
  private var toldAttemptAt: Int64?

  var pingInterval: Int64 = 5_000_000_000
  var pingTimeout: Int64 = 15_000_000_000
  var roundTripMilliseconds: Int64 = 0
  var lookout = Lookout()
  var connectDeadline: Int64?
  var pingAt: Int64?
  var silenceDeadline: Int64?
  var mediaDeadline: Int64?
  var disconnectedDeadline: Int64?

  private var actions: [Action] = []

  /// Makes a session that waits for `connect`.
  init(settings: Settings, policy: ReconnectPolicy) {
    roster = LiveKitRoster(selection: settings.selection)
    self.settings = settings
    self.policy = policy
    self.policy.canRenewToken = settings.tokens.canRenew
  }

  /// When `timer` must be handled; nil for never.
  var nextDeadline: Int64? {
    switch phase {
    case .ended: nil
    case .leaving(let until): until
    default:
      [
        connectDeadline, pingAt, silenceDeadline, mediaDeadline, disconnectedDeadline, watch.nextLook,
        policy.nextDeadline, lookout.nextLook,
      ].compactMap { $0 }.min()
    }
  }

  /// Takes an input and returns what is to be done, in order.
  mutating func handle(_ input: Input, at now: Int64) -> [Action] {
    actions.removeAll(keepingCapacity: true)
    switch phase {
    case .ended: break
    case .leaving(let until):
      switch input {
      case .left: finish(.stopped, nil)
      case .timer where until <= now: finish(.stopped, nil)
      default: break
      }
    default:
      policy.mediaHeardAt = [lastPacketAt, mediaHeardAt].compactMap { $0 }.max()
      dispatch(input, at: now)
      lookForRoom(at: now)
      look(at: now)
      tellStatus(at: now)
    }
    return actions
  }

  private mutating func dispatch(_ input: Input, at now: Int64) {
    switch input {
    case .connect:
      if phase == .idle { follow(policy.handle(.start, at: now), at: now) }
    case .unusable(let error):
      if phase == .idle { finish(.connectionLost(error.summary), error) }
    case .reached(let number):
      if number == attempt, case .connecting = phase, hasJoined { connectDeadline = now &+ Self.answerWait }
    case .message(let number, let message):
      if number == attempt { receive(message, at: now) }
    case .socketFailed(let number, let error):
      if number == attempt, case .connecting = phase { attemptFailed(error, at: now) }
    case .socketClosed(let number, let text):
      if number == attempt { socketClosed(text, at: now) }
    case .transport(let number, let state):
      if number == generation { transportChanged(state, at: now) }
    case .gathered(let number, let candidate):
      if number == generation { sendCandidate(candidate) }
    case .answered(let number, let offer, let sdp, let sections):
      if number == generation { answered(offer, sdp, sections) }
    case .offerFailed(let number, let text):
      if number == generation {
        mediaFailed("the server's offer could not be used: \(text)", at: now)
      }
    case .subscribe(let track): subscribe(track, at: now)
    case .receive(let wishes): receive(wishes)
    case .view(let tracks): view(tracks, at: now)
    case .data(let number, let bytes, let isReliable):
      if number == generation { receiveData(bytes, isReliable: isReliable, at: now) }
    case .unreadable(let track, let reason): setUnreadable(track, reason)
    case .decrypted(let number, let content, let sender):
      if number == generation { decrypted(content, from: sender, at: now) }
    case .network(let number, var report):
      guard number == generation, hasMedia, hasJoined, !isLossTold else { return }
      report.quality = quality
      add(.emit(.network(report)))
    case .networkChanged: networkChanged(at: now)
    case .roomListed(let isThere): roomListed(isThere, at: now)
    case .roomBegan: follow(policy.handle(.roomSeen, at: now), at: now)
    case .leave: leave(at: now)
    case .left: break
    case .timer: timer(at: now)
    }
  }

  private mutating func timer(at now: Int64) {
    if let deadline = connectDeadline, deadline <= now {
      add(.closeSocket)
      attemptFailed(RoomError(.timeout), at: now)
    }
    if let deadline = silenceDeadline, deadline <= now {
      lost(.serverSilent, "", canResume: true, reason: .rrSignalDisconnected, at: now)
    }
    if let deadline = disconnectedDeadline, deadline <= now {
      disconnectedDeadline = nil
      if phase == .open {
        lost(.mediaLost, lossText, canResume: !isMediaBeyondRestart, reason: .rrSubscriberFailed, at: now)
      }
    }
    if let deadline = mediaDeadline, deadline <= now {
      mediaFailed("nothing was connected in time", at: now)
    }
    if let deadline = pingAt, deadline <= now, phase == .open { ping(at: now) }
    if let deadline = policy.nextDeadline, deadline <= now {
      follow(policy.handle(.timer, at: now), at: now)
    }
  }

  mutating func ping(at now: Int64) {
    pingAt = now &+ pingInterval
    let milliseconds = (now &+ settings.wallClockOffset) / 1_000_000
    let rtt = roundTripMilliseconds
    send { $0.pingReq = .with { ($0.timestamp, $0.rtt) = (milliseconds, rtt) } }
  }

  /// Tells where the connection stands, when that is news.
  mutating func tellStatus(at now: Int64) {
    var status = RoomStatus(state: policy.state)
    (status.attempts, status.error, status.action) = (policy.attempts, policy.error, policy.action)
    if policy.state == .waitingForAdmission { status.waitingFor = isAlone ? .waitForModerator : .knock }
    status.roomSID = roomSID
    guard status != toldStatus || policy.nextAttemptAt != toldAttemptAt else { return }
    (toldStatus, toldAttemptAt) = (status, policy.nextAttemptAt)
    status.nextAttemptIn = policy.nextAttemptAt.map { max(0, $0 &- now) }
    add(.status(status))
  }

  // MARK: What the parts in the other files use

  /// Whether media is connected, and something comes.
  var hasMedia: Bool { isTransportUp && !isPathDead }

  mutating func add(_ action: Action) { actions.append(action) }

  mutating func send(_ build: (inout Livekit_SignalRequest) -> Void) {
    actions.append(.send(.with(build)))
  }

  mutating func log(_ level: Logger.Level, _ text: String) { actions.append(.log(level, text)) }

  /// What is so now, as the recording should see it. Costs as much as there is.
  var current: RoomState {
    var state = roster.state
    for track in bindings.kindsOfTracks.keys where isSubscribed(track) { state.subscribed.insert(track) }
    for track in roster.encrypted { state.tracks[track] = described(track) }
    state.paused = paused.filter { state.tracks[$0] != nil }
    return state
  }

  private func isSubscribed(_ track: TrackID) -> Bool {
    guard let known = roster.track(track), bindings.kindsOfTracks[track]?.contains(known.kind) ?? false else {
      return false
    }
    return !refused.contains(track)
  }

  /// Tells the recording what has changed and brings the frames' bindings up to date. During a loss nothing is told.
  mutating func tell() {
    guard hasJoined, !isLossTold, !roster.changes.isEmpty else { return }
    let changes = roster.changes
    roster.changes.clear()
    guard !changes.isEverything else {
      let state = current
      for event in state.events(since: announced) { add(.emit(event)) }
      announced = state
      rebind(state.subscribed)
      tellLocked(roster.encrypted)
      return
    }
    // Only the part of the room that has changed, with those to whom it belongs.
    let (people, tracks) = (changes.people, changes.tracks)
    var (old, new) = (RoomState(), RoomState())
    for id in tracks {
      new.tracks[id] = described(id)
      if isSubscribed(id) { new.subscribed.insert(id) }
      if paused.contains(id), new.tracks[id] != nil { new.paused.insert(id) }
    }
    let owners = tracks.compactMap { (new.tracks[$0] ?? announced.tracks[$0])?.participant }
    for identity in people.union(owners) { new.participants[identity] = roster.participant(identity) }
    old.replace(people: people.union(owners), tracks: tracks, by: announced)
    for event in new.events(since: old) { add(.emit(event)) }
    announced.replace(people: people, tracks: tracks, by: new)
    if tracks.contains(where: { bindings.kindsOfTracks[$0] != nil }) { rebind(announced.subscribed) }
    tellLocked(tracks)
  }

  private mutating func tellLocked(_ tracks: Set<TrackID>) {
    for id in tracks { if let reason = lockReason(of: id) { tellLack(of: id, reason) } }
  }

  /// Passes frames of known, subscribed tracks only: so a track is announced before its first frame.
  mutating func rebind(_ subscribed: Set<TrackID>) {
    let wanted = bindings.tracks.filter { subscribed.contains($0.value) }
    if wanted != bound {
      bound = wanted
      add(.bind(wanted))
    }
  }

  mutating func finish(_ end: SessionEnd, _ error: RoomError?) {
    phase = .ended
    watch.nextLook = nil
    endLookout()
    add(.closeMedia)
    add(.closeSocket)
    add(.emit(.ended(end)))
    add(.finished(end, error))
  }
}
