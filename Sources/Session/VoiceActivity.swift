import MediaCore

/// Whether somebody talks, from the levels of their packets of sound: a share of the last 400 ms must be loud, and
/// louder than the steady noise around. Levels are in dBov (RFC 6464 section 3).
struct VoiceActivity: Sendable {
  /// When the last packet was due, loud or not.
  private(set) var lastHeard = SessionTime.zero
  /// When the current stretch of talking began; nil while there is none.
  private(set) var since: SessionTime?
  /// When the last loud packet was due.
  private(set) var lastLoud = SessionTime(nanoseconds: -1)
  /// Loudness of the talking, a running mean over the loud packets, dBov.
  var level: Int { smoothed / 16 }
  /// Loudness for display, 0...1000: up at once, down in a third of a second.
  private(set) var meter = 0

  private static let tick: Int64 = 20_000_000
  private static let window = 20
  // Levels are kept in 1/16 dB.
  private var smoothed = -127 * 16
  private var floor = -60 * 16
  /// Bit i: tick `newest - i` was loud.
  private var loud: UInt64 = 0
  private var newest: Int64 = 0

  /// Takes a packet that is due at `time`. Times of one person need not be in order.
  mutating func heard(_ decibels: Int, at time: SessionTime, _ settings: TalkerPolicy.Settings) {
    let decibels = max(-127, min(0, decibels))
    let elapsed = Int(max(0, min((time - lastHeard).nanoseconds / Self.tick, 1_000)))
    let wasLoud = lastLoud == lastHeard
    move(to: time)
    lastHeard = max(lastHeard, time)
    let level = decibels * 16
    // Noise that stays is no talking: the floor rises by 3 dB a second, and falls at once with every pause.
    floor = max(-60 * 16, min(floor + min(elapsed, 50), level))
    meter = max(Loudness.meter(decibels: decibels), meter - 50 * max(1, min(elapsed, 20)))
    let isLoud = decibels >= settings.threshold && level >= floor + settings.noiseMargin * 16
    guard isLoud else { return }
    let place = newest - time.nanoseconds / Self.tick
    if (0..<64).contains(place) { loud |= 1 << UInt64(place) }
    // Packets may be up to 120 ms long: what lies between two loud ones was loud.
    if (2...6).contains(elapsed), wasLoud, (0..<48).contains(place) {
      loud |= ((1 << UInt64(elapsed)) - 1) << UInt64(place)
    }
    smoothed = since == nil && lastLoud + settings.pause < time ? level : smoothed + (level - smoothed) / 8
    lastLoud = max(lastLoud, time)
  }

  /// Decides whether somebody talks at `now`.
  mutating func update(at now: SessionTime, _ settings: TalkerPolicy.Settings) {
    move(to: now)
    if since != nil, now - lastLoud > settings.pause { since = nil }
    let recent = loud & (1 << UInt64(Self.window) - 1)
    if since == nil, recent.nonzeroBitCount * 100 >= settings.activityShare * Self.window, recent != 0 {
      let oldest = Int64(63 - recent.leadingZeroBitCount)
      since = SessionTime(nanoseconds: (newest - oldest) * Self.tick)
    }
    if now - lastHeard > .milliseconds(500) { meter = 0 }
  }

  /// True when time alone changes nothing any more.
  func isSettled(at now: SessionTime) -> Bool {
    since == nil && loud == 0 && meter == 0 && now - lastHeard > .seconds(2)
  }

  /// Forgets what was said so far: the microphone is off.
  mutating func silence() {
    since = nil
    loud = 0
    meter = 0
  }

  /// Moves the window.
  private mutating func move(to time: SessionTime) {
    let now = time.nanoseconds / Self.tick
    guard now > newest else { return }
    let steps = now - newest
    loud = steps < 64 ? loud << UInt64(steps) : 0
    newest = now
  }
}
