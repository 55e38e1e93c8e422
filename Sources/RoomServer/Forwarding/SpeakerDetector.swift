/// Tells from the audio level header extension (RFC 6464) of one track whether somebody speaks, and how loud.
///
/// Levels are gathered over an interval. Somebody speaks when enough of the interval was loud enough; the loudness is
/// smoothed over the last intervals, so that syllables and breaths don't flicker. Pure: time is an argument.
struct SpeakerDetector {
  /// Levels up to this count as speech, in -dBov (0 is loudest).
  static let activeLevel: UInt8 = 35
  /// Percent of the interval that must be speech.
  static let activePercent: Int64 = 40
  /// The share of the new interval in the smoothed loudness: about two intervals.
  static let smoothing = 2.0 / 3
  /// So many intervals without speech end it, whatever the smoothed loudness still says.
  static let silentIntervals = 2
  /// Loudness steps that are told apart.
  static let steps = 8.0
  /// The longest time that one packet stands for (Opus frames end at 60 ms, bundles at 120 ms).
  static let longestPacket = Duration.milliseconds(120)

  /// Loudness 0...1 in steps of 1/8; 0 while nobody speaks.
  private(set) var level: Float = 0
  /// True while somebody speaks.
  var isActive: Bool { level > 0 }

  private var smoothed = 0.0
  private var silent = 0
  private var speech = Duration.zero
  private var loudest: UInt8 = 127
  private var lastTimestamp: UInt32?

  /// Takes the level (0...127) of a packet; `timestamp` is its RTP time at 48 kHz, which says how much sound it is.
  mutating func note(level: UInt8, timestamp: UInt32) {
    defer { lastTimestamp = timestamp }
    guard level <= Self.activeLevel else { return }
    var duration = Duration.milliseconds(20)
    if let lastTimestamp {
      let ticks = Int64(Int32(bitPattern: timestamp &- lastTimestamp))
      if ticks > 0 { duration = min(.nanoseconds(ticks * 1_000_000 / 48), Self.longestPacket) }
    }
    speech += duration
    loudest = min(loudest, level)
  }

  /// Ends an interval of this length; true when the outcome (`level`) changed.
  mutating func endInterval(_ interval: Duration) -> Bool {
    var now = 0.0
    if speech * 100 >= interval * Self.activePercent {
      // 6 dB are a factor of two; -0 dBov is 1.
      now = Self.linear[min(Int(loudest), Self.linear.count - 1)]
    }
    speech = .zero
    loudest = 127
    smoothed += (now - smoothed) * Self.smoothing
    silent = now > 0 ? 0 : silent + 1
    if silent >= Self.silentIntervals { smoothed = 0 }
    let result = min(1, Float((smoothed * Self.steps).rounded(.up) / Self.steps))
    defer { level = result }
    return result != level
  }

  /// Forgets everything, as when the track is muted; true when that changes the outcome.
  mutating func reset() -> Bool {
    let changed = level != 0
    self = SpeakerDetector()
    return changed
  }

  /// 10^(-level/20), made by multiplication: the standard library has no powers.
  private static let linear: [Double] = {
    var values = [1.0]
    for _ in 0..<127 { values.append((values.last ?? 1) * 0.891_250_938_133_745_5) }
    return values
  }()
}
