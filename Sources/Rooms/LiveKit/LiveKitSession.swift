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
    /// A message of a data channel, whole.
    case data(generation: Int, [UInt8], isReliable: Bool)
    /// What came in during the last second; without the server's word.
    case network(generation: Int, NetworkReport)
    case leave
    /// Everything sent before `closeSocket` is on its way, and the socket is closed.
    case left
    /// `nextDeadline` is reached.
    case timer
  }

  /// Something to do, in order.
  enum Action: Sendable, Equatable {
    case openSocket(attempt: Int, SignalQuery, token: String)
    case send(Livekit_SignalRequest)
    case closeSocket
    /// Close after all that was sent is on its way; `left` follows.
    case closeSocketGently
    case openMedia(generation: Int, [ICEServer], relayOnly: Bool)
    /// Apply and answer; `answered` or `offerFailed` follows.
    case applyOffer(generation: Int, id: UInt32, sdp: String)
    case addCandidate(String)
    case closeMedia
    /// From now on the frames of these m-lines, and only these, belong to these tracks.
    case bind([MID: TrackID])
    case emit(RoomEvent)
    /// The first join succeeded.
    case joined
    case finished(SessionEnd, RoomError?)
    case log(Logger.Level, String)
  }

  /// How an attempt joins.
  enum Attempt: Hashable, Sendable {
    case first
    case resume
    case rejoin
  }

  /// Where signalling stands.
  enum Phase: Hashable, Sendable {
    case idle
    /// A WebSocket is being opened, or the first message is awaited.
    case connecting(Attempt)
    case open
    /// Waiting for the next attempt.
    case waiting(until: Int64, resumes: Bool)
    /// The farewell is being sent.
    case leaving(until: Int64)
    case ended
  }

  /// What doesn't change.
  struct Settings: Sendable {
    var tokens: TokenSource
    var connectTimeout: Int64
    var mediaTimeout: Int64
    var relayOnly: Bool
    var iceServers: [ICEServer]
    /// Wall-clock nanoseconds since 1970 minus monotonic nanoseconds.
    var wallClockOffset: Int64
    /// Whether tracks are subscribed; without, only data comes.
    var receivesMedia = true
  }

  /// How long media may do without signalling before the recording is told of a loss: pictures and sound are still
  /// true, only mutes may be missed. A WebSocket that is back within it leaves no trace.
  static let signalQuietTime: Int64 = 5_000_000_000
  /// How long the transport may be without answer before the recording is told.
  static let mediaQuietTime: Int64 = 2_000_000_000
  /// How long the transport may be without answer before the session is resumed.
  static let disconnectedTime: Int64 = 5_000_000_000
  /// How long the server has to say why it closed the media, before the session is resumed.
  static let farewellTime: Int64 = 700_000_000
  /// Asking again for a track is not useful more often: the server looks every 3 s.
  static let subscribeInterval: Int64 = 3_000_000_000
  /// How long the farewell may take.
  static let leaveTime: Int64 = 1_000_000_000
  /// How many joins without any media are tried before giving up, when media never worked.
  static let mediaAttempts = 2

  let settings: Settings
  var policy: ReconnectPolicy
  var phase = Phase.idle
  var attempt = 0
  var refreshedToken: String?
  var reconnectReason = Livekit_ReconnectReason.rrUnknown
  var participantSID = ""
  var hasJoined = false

  var roster = LiveKitRoster()
  var bindings = TrackBindings()
  var paused: Set<TrackID> = []
  var refused: Set<TrackID> = []
  var announced = RoomState()
  var bound: [MID: TrackID] = [:]
  var lastSubscribe: [TrackID: Int64] = [:]
  var wishes: [TrackID: ReceptionWish] = [:]
  var data = DataReceiver()
  /// How the server rates our connection.
  var quality = ConnectionQuality.unknown

  var generation = 0
  var hasMedia = false
  var everHadMedia = false
  var mediaFailures = 0
  var lastOffer: Livekit_SessionDescription?
  var lastAnswer: Livekit_SessionDescription?
  var waitingCandidates: [TrickleCandidate] = []

  /// True from the loss of either connection until both are there again.
  var isLost = false
  /// True when the recording was told of the loss.
  var isLossTold = false
  var lossText = ""
  /// What the last attempt to come back failed with.
  var lastFailure = ""

  var pingInterval: Int64 = 5_000_000_000
  var pingTimeout: Int64 = 15_000_000_000
  var roundTripMilliseconds: Int64 = 0
  var connectDeadline: Int64?
  var pingAt: Int64?
  var silenceDeadline: Int64?
  var mediaDeadline: Int64?
  var disconnectedDeadline: Int64?
  var tellLossAt: Int64?

  private var actions: [Action] = []

  /// Makes a session that waits for `connect`.
  init(settings: Settings, policy: ReconnectPolicy) {
    self.settings = settings
    self.policy = policy
  }

  /// When `timer` is wanted; nil for never.
  var nextDeadline: Int64? {
    var deadline = [
      connectDeadline, pingAt, silenceDeadline, mediaDeadline, disconnectedDeadline, tellLossAt,
    ]
    .compactMap { $0 }.min()
    if case .waiting(let until, _) = phase { deadline = min(deadline ?? until, until) }
    if case .leaving(let until) = phase { deadline = until }
    return phase == .ended ? nil : deadline
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
    default: dispatch(input, at: now)
    }
    return actions
  }

  private mutating func dispatch(_ input: Input, at now: Int64) {
    switch input {
    case .connect:
      if phase == .idle { begin(.first, at: now) }
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
    case .data(let number, let bytes, let isReliable):
      if number == generation { receiveData(bytes, isReliable: isReliable, at: now) }
    case .network(let number, var report):
      guard number == generation, hasMedia, hasJoined, !isLossTold else { return }
      report.quality = quality
      add(.emit(.network(report)))
    case .leave: leave(at: now)
    case .left: break
    case .timer: timer(at: now)
    }
  }

  private mutating func timer(at now: Int64) {
    if let deadline = tellLossAt, deadline <= now { tellLoss() }
    if let deadline = connectDeadline, deadline <= now {
      add(.closeSocket)
      attemptFailed(RoomError(.timeout), at: now)
    }
    if let deadline = silenceDeadline, deadline <= now {
      lost("the server is silent", resumable: true, reason: .rrSignalDisconnected, at: now)
    }
    if let deadline = disconnectedDeadline, deadline <= now {
      disconnectedDeadline = nil
      if phase == .open {
        lost(lossText.isEmpty ? "media is cut off" : lossText, resumable: true, reason: .rrSubscriberFailed, at: now)
      }
    }
    if let deadline = mediaDeadline, deadline <= now {
      mediaFailed("no media connection in time", at: now)
    }
    if let deadline = pingAt, deadline <= now, phase == .open {
      pingAt = now &+ pingInterval
      let milliseconds = (now &+ settings.wallClockOffset) / 1_000_000
      let rtt = roundTripMilliseconds
      send { $0.pingReq = .with { ($0.timestamp, $0.rtt) = (milliseconds, rtt) } }
    }
    if case .waiting(let until, let resumes) = phase, until <= now {
      begin(resumes ? .resume : .rejoin, at: now)
    }
  }

  // MARK: What the parts in the other files use

  mutating func add(_ action: Action) { actions.append(action) }

  mutating func send(_ build: (inout Livekit_SignalRequest) -> Void) {
    actions.append(.send(.with(build)))
  }

  mutating func log(_ level: Logger.Level, _ text: String) { actions.append(.log(level, text)) }

  /// What is so now, as the recording should see it.
  var current: RoomState {
    var state = roster.state
    for (mid, track) in bindings.tracks {
      guard let known = state.tracks[track], known.kind == bindings.kinds[mid],
        !refused.contains(track),
        !roster.encrypted.contains(track)
      else { continue }
      state.subscribed.insert(track)
    }
    state.paused = paused.filter { state.tracks[$0] != nil }
    return state
  }

  /// Tells the recording what has changed and brings the frames' bindings up to date. During a loss nothing is told.
  mutating func tell() {
    guard hasJoined, !isLossTold else { return }
    let state = current
    for event in state.events(since: announced) { add(.emit(event)) }
    announced = state
    rebind(state)
  }

  /// Passes frames of known, subscribed tracks only: so a track is announced before its first frame.
  mutating func rebind(_ state: RoomState) {
    let wanted = bindings.tracks.filter { state.subscribed.contains($0.value) }
    if wanted != bound {
      bound = wanted
      add(.bind(wanted))
    }
  }

  mutating func finish(_ end: SessionEnd, _ error: RoomError?) {
    phase = .ended
    add(.closeMedia)
    add(.closeSocket)
    add(.emit(.ended(end)))
    add(.finished(end, error))
  }
}
