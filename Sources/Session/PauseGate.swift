import MediaCore

/// How a recording is paused, and from which instants on sound and pictures count again.
///
///     open --cut, slate or redaction--> paused --resume--> open
struct PauseGate: Sendable {
  /// What is said within a quarter of a second before the end of a redaction may still be on its way: the redaction of
  /// sound ends so much later.
  static let redactionTail = Duration.milliseconds(250)

  /// How the recording is paused; nil: it isn't.
  private(set) var policy: PausePolicy?
  /// Sound that is due before this instant is not heard.
  private var audioBegins = SessionTime.distantPast
  /// Pictures that are due before this instant are not decoded.
  private var picturesBegin = SessionTime.distantPast

  /// The pause is over, if there was one; says how it was.
  mutating func open(at now: SessionTime) -> PausePolicy? {
    let old = policy
    policy = nil
    audioBegins = old == .redact ? now + Self.redactionTail : now
    if old == .redact { picturesBegin = now }
    return old
  }

  /// A pause begins.
  mutating func close(_ policy: PausePolicy) { self.policy = policy }

  /// True for sound that is due at an instant and counts.
  func hears(at instant: SessionTime) -> Bool { policy == nil && instant >= audioBegins }

  /// True for a picture that is due at an instant and was not made in a redacted time that is over. Such pictures that come
  /// late are no better than those that came in time.
  func sees(at instant: SessionTime) -> Bool { instant >= picturesBegin }
}
