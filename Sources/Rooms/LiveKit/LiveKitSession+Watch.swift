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
  /// When no packet has come for so long, the server is asked whether it is there.
  static let quietTime: Int64 = 500_000_000
  /// When no packet has come for so long and the server isn't there either, the recording is told.
  static let lossTime: Int64 = 1_000_000_000
  /// How long the server may take to answer; on long ways more.
  static let pongTime: Int64 = 500_000_000
  /// A server that doesn't answer for so long while no packets come is given up, and attempts to come back begin.
  static let deadTime: Int64 = 3_000_000_000
  /// Nothing came for so long although tracks should flow, and all connections seem to stand: the room is joined anew.
  static let watchdogTime: Int64 = 20_000_000_000
  /// The longest time between two such joins; they help little when the first didn't.
  static let watchdogCap: Int64 = 320_000_000_000

  /// Tracks should flow: some track is subscribed, enabled, wanted, and not held back by the server.
  var expectsMedia: Bool {
    for id in bound.values {
      guard let track = roster.track(id), !track.isMuted, !paused.contains(id) else { continue }
      if wishes[id]?.reception ?? .wanted == .wanted { return true }
    }
    return false
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

  /// Looks at media and signalling, and draws the conclusions. After every input.
  mutating func look(at now: Int64) {
    guard phase != .ended, hasJoined, generation > 0 else { return }
    if case .leaving = phase { return }
    let expects = expectsMedia
    watch.expectsSince = expects ? watch.expectsSince ?? now : nil
    let silence = watch.expectsSince.map { now &- max($0, lastPacketAt ?? 0) } ?? 0
    if silence >= Self.quietTime || watch.changedAt != nil { ask(at: now) }
    judgeNetworkChange(silence: silence, at: now)
    let owed = unanswered(at: now)
    if phase == .open, owed >= Self.deadTime, silence >= Self.deadTime {
      lost(.serverSilent, "nothing comes from it", canResume: true, reason: .rrSignalDisconnected, at: now)
    }
    let isServerGone = phase != .open || owed >= patience
    if silence >= Self.lossTime, isServerGone, !isLossTold {
      if phase == .open { lossText = RoomError(.serverSilent).summary }
      tellLoss(at: now)
    }
    watchdog(silence: silence, at: now)
    if isLossTold, isMediaBack(at: now) { tellReturn(at: now) }
    guard phase != .ended else { return }
    let isWatching = watch.expectsSince != nil || watch.changedAt != nil || isLossTold
    watch.nextLook = isWatching ? now &+ (isLossTold ? Self.lossLookInterval : Self.lookInterval) : nil
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

  /// Whether pictures and sound are true again: something came after the loss was told, or all stands and nothing is
  /// to come.
  private func isMediaBack(at now: Int64) -> Bool {
    guard hasMedia else { return false }
    if phase == .open, let connected = watch.connectedAt, connected >= watch.toldAt { return true }
    if let last = lastPacketAt, last > watch.toldAt { return true }
    guard phase == .open, watch.heardAt > watch.toldAt else { return false }
    return watch.expectsSince == nil || now &- max(watch.openedAt, watch.toldAt) >= Self.lossTime
  }

  /// Tells what has changed since the loss, with everybody and everything that is there.
  private mutating func tellReturn(at now: Int64) {
    isLossTold = false
    lossText = ""
    add(.emit(.connectionRestored))
    let state = current
    for event in state.events(since: announced, tellsAll: true) { add(.emit(event)) }
    announced = state
    rebind(state)
    add(.emit(.synchronized))
    add(.requestKeyframes)
  }
}
