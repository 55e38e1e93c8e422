import MediaCore
import Signaling

/// Whether what the recording is shown is still true: does media flow that should flow, and is the server there? It sees
/// the two connections of a LiveKit session and says when a loss is to be told, when it is over, and when a connection
/// that seems to stand is to be given up. A pure value; times are moments of one monotonic clock.
///
/// ```
///            nothing comes 0.5 s: server and media are asked (`isDoubtful`)
///            nothing comes 1 s, no answer: `isPathSilent`       told
///   good ─────────────────────────────────────────────────────────► lost
///     ▲      something came since it was told: `isOver`              │
///     └──────────────────────────────────────────────────────────────┘
///   a connection is given up: 3 s without the server (`lossBySilence`), 4 s without media, 20 s without tracks though all
///   stands (`lossByWatchdog`), no answer after a change of the network (`lossByNetworkChange`)
/// ```
struct OutageWatch: Sendable {
  /// Why a connection is given up.
  struct Loss: Hashable, Sendable {
    var kind: RoomError.Kind
    /// The error's detail.
    var text = ""
    /// Whether the session can be taken up again; else the room is joined anew.
    var canResume = true
    /// What the server is told.
    var reason: Livekit_ReconnectReason
  }

  /// How often to look while media should flow.
  static let interval = Duration.milliseconds(250)
  /// How often to look while the recording shows an outage: what comes back must be shown at once.
  static let lossInterval = Duration.milliseconds(50)
  /// When no packet has come for so long, the server is asked whether it is there, over both connections.
  static let quietTime = Duration.milliseconds(500)
  /// When no packet has come for so long and no answer either, the recording is told.
  static let lossTime = Duration.seconds(1)
  /// A server that doesn't answer for so long while no packets come is given up, and attempts to come back begin.
  static let deadTime = Duration.seconds(3)
  /// When nothing came through the media connection for so long, and signalling stands, the session is resumed, for
  /// ICE to find another way.
  static let cutTime = Duration.seconds(4)
  /// Nothing came for so long although tracks should flow, and all connections seem to stand: the room is joined anew.
  static let watchdogTime = Duration.seconds(20)
  /// The longest time between two such joins; they help little when the first didn't.
  static let watchdogCap = Duration.seconds(320)

  /// True from when the recording was told of a loss until it was told that it is over.
  private(set) var isTold = false
  /// Why the connection is lost; empty when it isn't.
  private(set) var text = ""
  /// When to look again; nil while there is nothing to look at.
  private(set) var nextDeadline: Instant?
  /// Since when media should flow; nil while none should.
  private var expectsSince: Instant?
  /// How long nothing has come that should.
  private var silence = Duration.zero
  /// When the recording was told of the loss.
  private var toldAt = Instant.distantPast
  /// When the network changed, while it is not known yet what that did to the connections.
  private var changedAt: Instant?
  /// Joins because nothing came, and when the last one was.
  private var forcedRejoins = 0
  private var forcedAt = Instant.distantPast

  /// All is well.
  init() {}

  // MARK: Looking

  /// Takes whether tracks should flow, and when the last packet came.
  mutating func measure(expectsMedia: Bool, lastPacketAt: Instant?, at now: Instant) {
    expectsSince = expectsMedia ? expectsSince ?? now : nil
    silence = expectsSince.map { now - max($0, lastPacketAt ?? .distantPast) } ?? .zero
  }

  /// Whether it is worth to ask if the server and the media connection are there.
  var isDoubtful: Bool { silence >= Self.quietTime || changedAt != nil }

  /// Plans the next look.
  mutating func schedule(at now: Instant) {
    let isWatching = expectsSince != nil || changedAt != nil || isTold
    nextDeadline = isWatching ? now + (isTold ? Self.lossInterval : Self.interval) : nil
  }

  /// Whether nothing comes any more through a media connection that is up.
  func isPathSilent(_ signal: SignalLink, _ media: MediaLink, at now: Instant) -> Bool {
    guard silence >= Self.lossTime, media.isFlowing else { return false }
    // Where the media connection cannot be asked, the server's silence must do.
    guard let owed = media.unanswered(at: now) else { return isServerGone(signal, at: now) }
    return owed >= signal.patience
  }

  /// Whether the server doesn't answer.
  func isServerGone(_ signal: SignalLink, at now: Instant) -> Bool {
    !signal.isOpen || signal.unanswered(at: now) >= signal.patience
  }

  /// No packets come that should: is it the media connection, or everything? `isSteady`: nothing is being restored.
  func lossBySilence(_ signal: SignalLink, _ media: MediaLink, isSteady: Bool, at now: Instant) -> Loss? {
    guard signal.isOpen, !media.isExpected else { return nil }
    if signal.unanswered(at: now) >= Self.deadTime, silence >= Self.deadTime {
      return Loss(kind: .serverSilent, text: "nothing comes from it", reason: .rrSignalDisconnected)
    }
    guard media.isSilent, media.unanswered(at: now) != nil, !isServerGone(signal, at: now), silence >= Self.cutTime,
      isSteady
    else { return nil }
    return Loss(kind: .mediaLost, text: "nothing comes through it", reason: .rrSubscriberFailed)
  }

  /// Nothing comes that should, and all seems to stand (`isSteady`): is it time to join anew?
  mutating func lossByWatchdog(isSteady: Bool, lastPacketAt: Instant?, at now: Instant) -> Loss? {
    if let lastPacketAt, lastPacketAt > forcedAt { forcedRejoins = 0 }
    let patience = min(Self.watchdogCap, Self.watchdogTime * (1 << min(forcedRejoins, 10)))
    guard isSteady, silence >= patience else { return nil }
    forcedRejoins += 1
    forcedAt = now
    expectsSince = nil
    return Loss(
      kind: .mediaLost, text: "nothing came for \(patience.components.seconds) s although tracks should flow",
      canResume: false, reason: .rrSubscriberFailed)
  }

  // MARK: Network changes

  /// The machine's addresses changed while all stands.
  mutating func networkChanged(at now: Instant) { changedAt = now }

  /// After a change: when the server doesn't answer, or media stopped, over to the new network.
  mutating func lossByNetworkChange(
    _ signal: SignalLink, _ media: MediaLink, allowsReconnect: Bool, at now: Instant
  ) -> Loss? {
    guard let changed = changedAt, now - changed >= signal.patience else { return nil }
    changedAt = nil
    guard signal.isOpen, allowsReconnect else { return nil }
    let isSignalDead = signal.unanswered(at: now) >= SignalLink.pongTime
    let isMediaDead = expectsSince != nil && (media.traffic.lastPacketAt ?? .distantPast) < changed
    return isSignalDead || isMediaDead ? Loss(kind: .networkChanged, reason: .rrSwitchCandidate) : nil
  }

  // MARK: What the recording is told

  /// This is why the connection is lost.
  mutating func explain(_ text: String) { self.text = text }

  /// The recording is told that pictures and sound are not true any more. False when it knows.
  mutating func tell(at now: Instant) -> Bool {
    guard !isTold else { return false }
    isTold = true
    toldAt = now
    return true
  }

  /// Whether pictures and sound are true again: something came after the loss was told.
  func isOver(_ signal: SignalLink, _ media: MediaLink, at now: Instant) -> Bool {
    guard isTold, media.isUp else { return false }
    if signal.isOpen, let connected = media.connectedAt, connected >= toldAt { return true }
    if let last = media.traffic.lastPacketAt, last > toldAt { return true }
    if let heard = media.traffic.heardAt { return heard > toldAt }
    // Where nothing is known of the media connection: all stands, and nothing is to come.
    guard signal.isOpen, signal.heardAt > toldAt else { return false }
    return expectsSince == nil || now - max(signal.openedAt, toldAt) >= Self.lossTime
  }

  /// The recording is told that it is over.
  mutating func end() {
    isTold = false
    text = ""
  }
}
