import MediaCore
import Session
import Signaling

/// Whether what the recording is shown is still true: is media flowing that should flow, and is the server there?
extension LiveKitSession {
  /// What the look at the connections remembers. Times are ns.
  struct Watch: Sendable {
    /// When to look again; nil while there is nothing to look at.
    var nextLook: Int64?
    /// Since when media should flow; nil while none should.
    var expectsSince: Int64?
    /// When the server was last heard.
    var heardAt: Int64 = 0
    /// When the server was last asked whether it is there.
    var askedAt: Int64?
    /// When the first request that is not answered yet went out over the media connection.
    var probedAt: Int64?
    /// When the last one went out.
    var lastProbeAt: Int64 = .min
    /// When signalling was last opened.
    var openedAt: Int64 = 0
    /// When media was last connected.
    var connectedAt: Int64?
    /// When the recording was told of the loss.
    var toldAt: Int64 = 0
    /// When the network changed, while it is not known yet what that did to the connections.
    var changedAt: Int64?
    /// Joins because nothing came, and when the last one was.
    var forcedRejoins = 0
    /// See `forcedRejoins`.
    var forcedAt: Int64 = 0
  }

  /// How often to look while media should flow.
  static let lookInterval: Int64 = 250_000_000
  /// How often to look while the recording shows an outage: what comes back must be shown at once.
  static let lossLookInterval: Int64 = 50_000_000
  /// When no packet has come for so long, the server is asked whether it is there, over both connections.
  static let quietTime: Int64 = 500_000_000
  /// The least time between two such requests over the media connection.
  static let probeInterval: Int64 = 200_000_000
  /// When no packet has come for so long and no answer either, the recording is told.
  static let lossTime: Int64 = 1_000_000_000
  /// How long the server may take to answer; on long ways more.
  static let pongTime: Int64 = 500_000_000
  /// A server that doesn't answer for so long while no packets come is given up, and attempts to come back begin.
  static let deadTime: Int64 = 3_000_000_000
  /// When nothing came through the media connection for so long, and signalling stands, the session is resumed, for
  /// ICE to find another way.
  static let cutTime: Int64 = 4_000_000_000
  /// Nothing came for so long although tracks should flow, and all connections seem to stand: the room is joined anew.
  static let watchdogTime: Int64 = 20_000_000_000
  /// The longest time between two such joins; they help little when the first didn't.
  static let watchdogCap: Int64 = 320_000_000_000

  /// Tracks should flow: some track is subscribed, enabled, wanted, and not held back by the server.
  private mutating func expectsMedia() -> Bool {
    if let expectation { return expectation }
    let isExpected = bound.values.contains { id in
      guard let track = roster.track(id), !track.isMuted, !paused.contains(id) else { return false }
      return wishes[id]?.reception ?? .wanted == .wanted
    }
    expectation = isExpected
    return isExpected
  }

  /// A message came.
  mutating func heard(at now: Int64) {
    silenceDeadline = now &+ pingTimeout
    watch.heardAt = now
  }

  /// How long the server has owed an answer; 0 when it owes none.
  private func unanswered(at now: Int64) -> Int64 {
    guard phase == .open, let asked = watch.askedAt, watch.heardAt < asked else { return 0 }
    return now &- asked
  }

  /// How long to wait for an answer.
  private var patience: Int64 { Self.pongTime &+ 2 &* roundTripMilliseconds &* 1_000_000 }

  /// How long the media connection has owed an answer; 0 when it owes none. Nil when that cannot be known.
  private func unansweredMedia(at now: Int64) -> Int64? {
    guard let heard = mediaHeardAt else { return isTransportUp ? nil : 0 }
    guard let probed = watch.probedAt, heard < probed else { return 0 }
    return now &- probed
  }

  /// Looks at media and signalling, and draws the conclusions. After every input.
  mutating func look(at now: Int64) {
    guard phase != .ended, hasJoined, generation > 0 else { return }
    if case .leaving = phase { return }
    if isLossTold, isMediaBack(at: now) { tellReturn(at: now) }
    watch.expectsSince = expectsMedia() ? watch.expectsSince ?? now : nil
    let silence = watch.expectsSince.map { now &- max($0, lastPacketAt ?? 0) } ?? 0
    if silence >= Self.quietTime || watch.changedAt != nil { ask(at: now) }
    if silence >= Self.quietTime || watch.changedAt != nil || isPathDead { probe(at: now) }
    judgeNetworkChange(silence: silence, at: now)
    judgeSilence(silence, at: now)
    watchdog(silence: silence, at: now)
    guard phase != .ended else { return }
    let isWatching = watch.expectsSince != nil || watch.changedAt != nil || isLossTold
    watch.nextLook = isWatching ? now &+ (isLossTold ? Self.lossLookInterval : Self.lookInterval) : nil
  }

  /// No packets come that should: is it the publishers, the media connection, or everything?
  private mutating func judgeSilence(_ silence: Int64, at now: Int64) {
    let owed = unanswered(at: now)
    let owedByMedia = unansweredMedia(at: now)
    let isServerGone = phase != .open || owed >= patience
    // Where the media connection cannot be asked, the server's silence must do.
    let isMediaGone = owedByMedia.map { $0 >= patience } ?? isServerGone
    if silence >= Self.lossTime, isMediaGone, isTransportUp, !isPathDead {
      isPathDead = true
      if phase == .open { lossText = RoomError(isServerGone ? .serverSilent : .mediaLost).summary }
      tellLoss(at: now)
    }
    // A transport that has ended is no question any more, once the server had its time to say why.
    if !isTransportUp, watch.connectedAt != nil || policy.isLost, disconnectedDeadline == nil { tellLoss(at: now) }
    guard phase == .open, mediaDeadline == nil else { return }
    if owed >= Self.deadTime, silence >= Self.deadTime {
      lost(.serverSilent, "nothing comes from it", canResume: true, reason: .rrSignalDisconnected, at: now)
    } else if isPathDead, owedByMedia != nil, !isServerGone, silence >= Self.cutTime, policy.state == .connected {
      lost(.mediaLost, "nothing comes through it", canResume: true, reason: .rrSubscriberFailed, at: now)
    }
  }

  private mutating func probe(at now: Int64) {
    guard isTransportUp, now &- watch.lastProbeAt >= Self.probeInterval || watch.lastProbeAt == .min else { return }
    if unansweredMedia(at: now) == 0 { watch.probedAt = now }
    watch.lastProbeAt = now
    add(.probeMedia)
  }

  private mutating func ask(at now: Int64) {
    guard phase == .open, unanswered(at: now) == 0 else { return }
    if let asked = watch.askedAt, now &- asked < Self.lossTime { return }
    watch.askedAt = now
    ping(at: now)
  }

  private mutating func watchdog(silence: Int64, at now: Int64) {
    if let last = lastPacketAt, last > watch.forcedAt { watch.forcedRejoins = 0 }
    guard policy.state == .connected, policy.allowsReconnect, phase == .open, hasMedia else { return }
    let patience = min(Self.watchdogCap, Self.watchdogTime << Int64(min(watch.forcedRejoins, 10)))
    guard silence >= patience else { return }
    watch.forcedRejoins += 1
    watch.forcedAt = now
    watch.expectsSince = nil
    lost(
      .mediaLost, "nothing came for \(patience / 1_000_000_000) s although tracks should flow", canResume: false,
      reason: .rrSubscriberFailed, at: now)
  }

  // MARK: Network changes

  /// The machine's addresses changed: what is waiting is tried at once; what stands is looked at.
  mutating func networkChanged(at now: Int64) {
    log(.info, RoomError(.networkChanged).summary)
    if phase == .open, !policy.isLost {
      watch.changedAt = now
      watch.askedAt = nil
    } else {
      follow(policy.handle(.networkChanged, at: now), at: now)
    }
  }

  /// After a change: when the server doesn't answer, or media stopped, over to the new network.
  private mutating func judgeNetworkChange(silence: Int64, at now: Int64) {
    guard let changed = watch.changedAt, now &- changed >= patience else { return }
    watch.changedAt = nil
    guard phase == .open, policy.allowsReconnect else { return }
    let isSignalDead = unanswered(at: now) >= Self.pongTime
    let isMediaDead = watch.expectsSince != nil && (lastPacketAt ?? 0) < changed
    if isSignalDead || isMediaDead {
      lost(.networkChanged, "", canResume: true, reason: .rrSwitchCandidate, at: now)
    }
  }

  // MARK: What the recording is told

  /// Pictures and sound are not true any more.
  mutating func tellLoss(at now: Int64) {
    guard !isLossTold, hasJoined, phase != .ended else { return }
    isLossTold = true
    watch.toldAt = now
    add(.emit(.connectionLost(lossText)))
  }

  /// Whether pictures and sound are true again: something came after the loss was told.
  private func isMediaBack(at now: Int64) -> Bool {
    guard isTransportUp else { return false }
    if phase == .open, let connected = watch.connectedAt, connected >= watch.toldAt { return true }
    if let last = lastPacketAt, last > watch.toldAt { return true }
    if let heard = mediaHeardAt { return heard > watch.toldAt }
    // Where nothing is known of the media connection: all stands, and nothing is to come.
    guard phase == .open, watch.heardAt > watch.toldAt else { return false }
    return watch.expectsSince == nil || now &- max(watch.openedAt, watch.toldAt) >= Self.lossTime
  }

  /// Tells what has changed since the loss, with everybody and everything that is there.
  private mutating func tellReturn(at now: Int64) {
    isLossTold = false
    lossText = ""
    if isPathDead {
      isPathDead = false
      mediaDeadline = nil
      if phase == .open { follow(policy.handle(.connected, at: now), at: now) }
    }
    add(.emit(.connectionRestored))
    let state = current
    for event in state.events(since: announced, tellsAll: true) { add(.emit(event)) }
    announced = state
    roster.changes.clear()
    rebind(state.subscribed)
    add(.emit(.synchronized))
    add(.requestKeyframes)
  }
}
