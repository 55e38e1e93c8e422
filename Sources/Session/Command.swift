import MediaCore

/// Which tile a command means: a person's camera or their shared screen, told by identity or by display name.
public struct TileSelector: Hashable, Sendable, CustomStringConvertible {
  /// The identity, or the display name of one who is in the room.
  public var participant: String
  /// True for the screen that the person shares.
  public var isScreenShare: Bool

  /// Makes a selector; see the properties.
  public init(participant: String, isScreenShare: Bool = false) {
    self.participant = participant
    self.isScreenShare = isScreenShare
  }

  /// Whom it means among `people`: an identity goes before a name, and the first who came before the others.
  public func match(_ people: [Participant]) -> ParticipantIdentity? {
    let lower = participant.lowercased()
    let found =
      people.first { $0.identity.rawValue == participant } ?? people.first { $0.displayName == participant }
      ?? people.first { $0.displayName.lowercased() == lower }
    return found?.identity
  }

  /// `ann`, or `ann's screen`.
  public var description: String { isScreenShare ? "\(participant)'s screen" : participant }
}

/// What a recording does while it is paused.
public enum PausePolicy: String, Sendable, Hashable, CaseIterable {
  /// Time stands still: what happens is not in the file, which gets shorter.
  case cut
  /// A slate and silence; time goes on.
  case slate
  /// A slate and silence; time goes on, and nothing that comes in this time is decoded for the file or written, nor
  /// the sound of the quarter of a second after it, which was on its way.
  case redact
}
