import MediaCore

/// Decides who is the active talker, so that the picture follows a conversation without flickering. Pure: what it
/// says depends only on what it was told and when.
public struct TalkerPolicy: Sendable {
  /// The numbers of the policy.
  public struct Settings: Sendable, Hashable {
    /// A talker keeps the place for at least so long, whatever the others do.
    public var minimumHold: SessionTime
    /// Somebody else must have been talking for so long, without the current talker, to take over: a cough does not
    /// switch.
    public var takeoverDelay: SessionTime
    /// While the current talker also talks, somebody else takes over only when louder by so much (1/1000 of the scale)…
    public var takeoverMargin: Int
    /// …and for so long.
    public var overlapDelay: SessionTime

    /// Makes settings; the defaults suit conversations.
    public init(
      minimumHold: SessionTime = .milliseconds(2_000), takeoverDelay: SessionTime = .milliseconds(400),
      takeoverMargin: Int = 250, overlapDelay: SessionTime = .milliseconds(1_500)
    ) {
      self.minimumHold = minimumHold
      self.takeoverDelay = takeoverDelay
      self.takeoverMargin = takeoverMargin
      self.overlapDelay = overlapDelay
    }
  }

  private struct Voice {
    var level: Int
    var talkingSince: SessionTime
    var louderSince: SessionTime?
  }

  private let settings: Settings
  private var voices: [ParticipantIdentity: Voice] = [:]
  private var heldSince = SessionTime.zero
  /// The active talker. Stays when everybody is silent; nil only until somebody has talked, or after they left.
  public private(set) var talker: ParticipantIdentity?

  /// Starts with nobody talking.
  public init(settings: Settings = Settings()) { self.settings = settings }

  /// True while the room says that the participant is talking.
  public func isTalking(_ identity: ParticipantIdentity) -> Bool { voices[identity] != nil }

  /// Takes the room's word on who is loud. Somebody not listed has not changed.
  public mutating func update(_ speakers: [Speaker], at now: SessionTime) {
    for speaker in speakers {
      if speaker.isActive {
        if voices[speaker.participant] == nil {
          voices[speaker.participant] = Voice(level: speaker.level, talkingSince: now)
        } else {
          voices[speaker.participant]?.level = speaker.level
        }
      } else {
        voices[speaker.participant] = nil
      }
    }
    let reference = talker.flatMap { voices[$0]?.level }
    for (identity, voice) in voices {
      let isLouder = reference.map { voice.level >= $0 + settings.takeoverMargin } ?? true
      voices[identity]?.louderSince = isLouder ? (voice.louderSince ?? now) : nil
    }
  }

  /// Forgets a participant who left or whose microphone is off.
  public mutating func silence(_ identity: ParticipantIdentity, hasLeft: Bool) {
    voices[identity] = nil
    if hasLeft, talker == identity { talker = nil }
  }

  /// Moves time on; `talker` may change.
  public mutating func advance(to now: SessionTime) {
    guard let current = talker else {
      if let first = candidate(at: now, delay: settings.takeoverDelay, overlapping: false) { take(first, at: now) }
      return
    }
    guard now - heldSince >= settings.minimumHold else { return }
    let isOverlapping = voices[current] != nil
    let delay = isOverlapping ? settings.overlapDelay : settings.takeoverDelay
    if let next = candidate(at: now, delay: delay, overlapping: isOverlapping), next != current { take(next, at: now) }
  }

  private mutating func take(_ identity: ParticipantIdentity, at now: SessionTime) {
    talker = identity
    heldSince = now
    for other in voices.keys { voices[other]?.louderSince = nil }
  }

  /// The loudest of those who have talked long enough; ties go to who began first, then to the lower identity.
  private func candidate(at now: SessionTime, delay: SessionTime, overlapping: Bool) -> ParticipantIdentity? {
    var best: (identity: ParticipantIdentity, voice: Voice)?
    for (identity, voice) in voices where identity != talker {
      guard now - voice.talkingSince >= delay else { continue }
      if overlapping {
        guard let since = voice.louderSince, now - since >= delay else { continue }
      }
      guard let champion = best else {
        best = (identity, voice)
        continue
      }
      let isBetter =
        (voice.level, champion.voice.talkingSince, champion.identity)
        > (champion.voice.level, voice.talkingSince, identity)
      if isBetter { best = (identity, voice) }
    }
    return best?.identity
  }
}
