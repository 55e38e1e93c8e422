import MediaCore

/// Something that an application sent through the room, which recbot does not interpret.
public struct DataMessage: Hashable, Sendable {
  /// Who sent it; nil when it came from the service itself (a server's API).
  public var participant: ParticipantIdentity?
  /// The application's name for this kind of message; may be empty.
  public var topic: String
  /// What was sent, at most 64 KiB.
  public var payload: [UInt8]

  /// Makes a message; see the properties.
  public init(participant: ParticipantIdentity?, topic: String, payload: [UInt8]) {
    self.participant = participant
    self.topic = topic
    self.payload = payload
  }
}

/// A message that one person wrote to the others.
public struct ChatMessage: Hashable, Sendable {
  /// What is done with the message of this id.
  public enum Action: String, Sendable, Hashable {
    /// It is new.
    case posted
    /// It has another text from now on.
    case edited
    /// It was taken back; the text is empty.
    case deleted
  }

  /// The sender's name of the message, which edits and deletions repeat. Unique per participant only.
  public var id: String
  /// Who wrote it; nil when it came from the service itself.
  public var participant: ParticipantIdentity?
  /// The words as they came, at most 64 KiB of UTF-8: may hold line breaks, markup, anything.
  public var text: String
  /// When it was written by the sender's clock, milliseconds since 1970; 0 when not said. Never trusted.
  public var timestamp: Int64
  /// What is done.
  public var action: Action
  /// True when the end of a text was left out because it was too long.
  public var isCut: Bool

  /// Makes a message; see the properties.
  public init(
    id: String, participant: ParticipantIdentity?, text: String, timestamp: Int64 = 0, action: Action = .posted,
    isCut: Bool = false
  ) {
    self.id = id
    self.participant = participant
    self.text = text
    self.timestamp = timestamp
    self.action = action
    self.isCut = isCut
  }
}

/// Words that somebody spoke, written down by a service in the room.
public struct Caption: Hashable, Sendable {
  /// The service's name of the stretch of speech. Interim captions are replaced by later ones of the same id.
  public var id: String
  /// Who spoke, as far as it is known.
  public var participant: ParticipantIdentity?
  /// The words, at most 64 KiB of UTF-8; empty when a stretch has only begun.
  public var text: String
  /// The language as the service names it (BCP 47); may be empty.
  public var language: String
  /// False while the words may still change.
  public var isFinal: Bool

  /// Makes a caption; see the properties.
  public init(id: String, participant: ParticipantIdentity?, text: String, language: String = "", isFinal: Bool) {
    self.id = id
    self.participant = participant
    self.text = text
    self.language = language
    self.isFinal = isFinal
  }
}
