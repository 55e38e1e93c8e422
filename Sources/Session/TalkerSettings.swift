import MediaCore

extension TalkerPolicy {
  /// Whose word counts on how loud somebody is.
  public enum Levels: String, Sendable, Hashable, CaseIterable {
    /// The sound of those whose sound is received, the room's word for the others.
    case auto
    /// Only the room's word.
    case room
    /// Only the sound.
    case sound
  }

  /// The numbers of the policy. The defaults suit conversations.
  public struct Settings: Sendable, Hashable {
    /// Whose word counts.
    public var levels = Levels.auto
    /// A talker keeps the place for at least so long, whatever the others do.
    public var minimumHold = Duration.milliseconds(2_000)
    /// Somebody else must have been talking for so long to take over from one who is silent: a cough does not switch.
    public var takeoverDelay = Duration.milliseconds(400)
    /// While the current talker also talks, somebody else takes over only when louder by so many dB…
    public var takeoverMargin = 6
    /// …and for so long.
    public var overlapDelay = Duration.milliseconds(1_500)
    /// Sound below this is no talking, dBov (RFC 6464 section 3: 0 is the loudest, -127 silence).
    public var threshold = -40
    /// Sound must be this much above the steady noise around it, dB.
    public var noiseMargin = 9
    /// Somebody begins to talk when so much of the last 400 ms was loud, percent.
    public var activityShare = 40
    /// Somebody talks on through pauses of this length.
    public var pause = Duration.milliseconds(600)
    /// While a screen is shared, its owner counts as louder by so many dB.
    public var presenterBonus = 3
    /// While a screen is shared and nobody has talked for so long, its owner is the talker again; nil: never.
    public var presenterReturn: Duration? = .seconds(5)
    /// Talkers that are remembered, in the order in which they took the floor.
    public var atMost = 12

    /// The defaults.
    public init() {}
  }
}

/// Levels as the room service gives them and as sound has them.
enum Loudness {
  /// Amplitudes in 1/1000 from which on a level counts as 0, -1, -2… dB.
  private static let bounds: [Int] = {
    var bound = 944.06
    return (0...60).map { _ in
      defer { bound *= 0.891_250_94 }
      return Int(bound)
    }
  }()

  /// A linear amplitude in 1/1000 as decibels, -61...0.
  static func decibels(perMille level: Int) -> Int { -(bounds.firstIndex { level >= $0 } ?? 61) }

  /// Decibels as they are shown: -60 dB and less is 0, full scale is 1000.
  static func meter(decibels: Int) -> Int { max(0, min(1000, (decibels + 60) * 1000 / 60)) }
}
