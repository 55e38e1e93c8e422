import MediaCore

/// What the timeline was told last of those who talk, so that it is told what is new alone.
struct TalkerNotes: Sendable {
  private var talker: ParticipantIdentity?
  private var active: [ParticipantIdentity] = []

  /// True when it was told last that this one talks.
  func tells(_ talker: ParticipantIdentity) -> Bool { talker == self.talker }

  /// It is told that this one talks.
  mutating func tell(_ talker: ParticipantIdentity) { self.talker = talker }

  /// True when other active talkers were told last; then it is these.
  mutating func tell(active new: [ParticipantIdentity]) -> Bool {
    guard new != active else { return false }
    active = new
    return true
  }

  /// Somebody left: when they talk again after that, it is told.
  mutating func forget(_ identity: ParticipantIdentity) {
    if talker == identity { talker = nil }
  }
}
