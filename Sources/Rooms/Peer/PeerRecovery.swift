import MediaCore

/// What is lost, and when and how it is tried to get it back: attempts and pauses, ICE restarts, relays, the end of
/// patience. A pure value; times are moments of one monotonic clock.
///
/// | state | `lostAt` | `wantsRestart` | leaves it |
/// | --- | --- | --- | --- |
/// | well | nil | no | `lost` → lost; `unreachable` → stranded |
/// | lost: an ICE restart is due | yes | yes | `began` → trying; `reset` → stranded; `connected`, `departed` → well |
/// | trying: the restart is under way | yes | no | `networkChanged` → lost; `reset` → stranded; `connected`, `departed` → well |
/// | stranded: a new exchange is due at `retryAt` | yes | no | `began` → trying; `connected`, `departed` → well |
///
/// Without a loss `reset` counts too: it makes pauses longer, and after a connection that never stood it prefers relays, in
/// turn with the direct way.
struct PeerRecovery: Sendable {
  /// How long nobody may be reachable before the recording is told.
  static let unreachableTime = Duration.seconds(3)
  /// The pauses between exchanges double from this.
  static let pauseBase = Duration.milliseconds(250)
  /// … up to this.
  static let pauseCap = Duration.seconds(2)

  /// Since when media, or the mailbox, is lost; nil when all is well.
  private(set) var lostAt: Instant?
  /// Why media, or the mailbox before it, was lost.
  private(set) var error: RoomError?
  /// True when no ICE restart has been tried since media was lost.
  private(set) var wantsRestart = false
  /// Exchanges that were begun since media was lost.
  private(set) var attempts = 0
  /// How often the flow was started over since media flowed.
  private(set) var resets = 0
  /// When the host may begin an exchange.
  private(set) var retryAt = Instant.distantPast
  /// True when the next connection goes over relays, because the one before never stood.
  private(set) var prefersRelay = false
  /// When the last attempt began.
  private var attemptAt = Instant.distantPast
  private var backOff: BackOff
  private let settings: ReconnectPolicy.Settings

  /// All is well.
  init(settings: ReconnectPolicy.Settings, seed: UInt64) {
    self.settings = settings
    backOff = BackOff(seed: seed)
  }

  /// Why the connection is lost. The table's sentence about media speaks of a room server, which there is none of here.
  var text: String { error.map { $0.kind == .mediaLost ? $0.detail : $0.summary } ?? "" }

  /// Whether the next connection goes over relays only: as wanted, or because there was none without them.
  var relayOnly: Bool { settings.relayOnly || prefersRelay }

  /// When patience ends; nil for never.
  var nextDeadline: Instant? {
    guard let limit = settings.limit, let lostAt else { return nil }
    return lostAt + limit
  }

  /// Whether it was tried for long enough.
  func isOver(at now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

  // MARK: Losses

  /// Nothing comes any more over a connection that stood.
  mutating func lost(_ error: RoomError, at now: Instant) {
    (lostAt, self.error, wantsRestart) = (lostAt ?? now, error, true)
  }

  /// Nothing flows, and the mailbox cannot be reached. True when that has lasted so long that it must be told.
  mutating func unreachable(_ error: RoomError, at now: Instant) -> Bool {
    let since = lostAt ?? now
    (lostAt, self.error) = (since, error)
    return now - since >= Self.unreachableTime
  }

  /// The first join failed.
  mutating func joinFailed(_ error: RoomError) { self.error = error }

  /// The flow starts over. `isMediaFailure`: descriptions were exchanged, and no connection came of it. False when the
  /// attempts are used up.
  mutating func reset(_ error: RoomError, isMediaFailure: Bool, hasRelays: Bool, at now: Instant) -> Bool {
    if isMediaFailure { prefersRelay = hasRelays && !prefersRelay && !settings.relayOnly }
    (self.error, wantsRestart) = (error, false)
    resets += 1
    guard case .fixed(let most, let interval) = settings.rule, lostAt != nil else {
      retryAt = now + backOff.pause(before: resets, base: Self.pauseBase, cap: Self.pauseCap)
      return true
    }
    guard attempts < max(1, most) else { return false }
    retryAt = attempts == 0 ? now : max(now, attemptAt + interval)
    return true
  }

  // MARK: Coming back

  /// An exchange begins. While media is lost, it is an attempt to come back.
  mutating func began(at now: Instant) {
    wantsRestart = false
    guard lostAt != nil else { return }
    attempts += 1
    attemptAt = now
  }

  /// The network is another one: what waits is tried at once, directly first. `canRestart`: there is an exchange to go on
  /// from.
  mutating func networkChanged(isUp: Bool, canRestart: Bool, at now: Instant) {
    retryAt = now
    prefersRelay = false
    guard !isUp, lostAt != nil else { return }
    error = RoomError(.networkChanged)
    if canRestart { wantsRestart = true }
  }

  /// Media flows.
  mutating func connected() {
    (resets, attempts, wantsRestart) = (0, 0, false)
    (lostAt, error) = (nil, nil)
  }

  /// The mailbox answers, and there is nobody to be connected to.
  mutating func reached() { lostAt = nil }

  /// The other side is gone: nothing is to come back.
  mutating func departed() { (resets, attempts, lostAt) = (0, 0, nil) }
}
