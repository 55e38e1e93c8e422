import MediaCore
import Signaling

/// How well a participant's connection does, as others are told (ConnectionQualityUpdate). Pure.
enum QualityScore {
  /// What is known of a participant's connections.
  struct Facts: Hashable, Sendable {
    /// Signalling or media is lost.
    var isLost = false
    /// The largest share of packets lost in either direction, 0...1.
    var loss = 0.0
    /// The longest round trip; zero when unknown.
    var roundTrip = Duration.zero
    /// It gets less than it wants for want of bandwidth.
    var isLimited = false
  }

  /// The quality, and a score like a mean opinion score: 1 (bad) to 5 (excellent).
  static func rate(_ facts: Facts) -> (quality: Livekit_ConnectionQuality, score: Float) {
    if facts.isLost { return (.lost, 1) }
    // A percent of loss costs as much as 40 ms of delay beyond 150 ms.
    let late = max(.zero, facts.roundTrip - .milliseconds(150)).milliseconds / 40
    let penalty = facts.loss * 100 + Double(late) + (facts.isLimited ? 4 : 0)
    switch penalty {
    case ..<3: return (.excellent, Float(5 - penalty / 3))
    case ..<12: return (.good, Float(4 - (penalty - 3) / 9))
    default: return (.poor, Float(max(1, 3 - (penalty - 12) / 15)))
    }
  }
}
