import Layouts
import MediaCore

/// A person (or machine) in the room, as last announced.
public struct Participant: Hashable, Sendable {
  /// Stays the same across reconnects; the key of everything that concerns the person.
  public var identity: ParticipantIdentity
  /// Display name; may be empty (then the identity is shown).
  public var name: String
  /// Free text that the application attached.
  public var metadata: String { didSet { findAvatar() } }
  /// Free key-value texts that the application attached.
  public var attributes: [String: String] { didSet { findAvatar() } }
  /// True for agents, recorders and other machines that are there for the people: a room in which only they are left is
  /// empty. Telephone callers and fed-in streams are people.
  public var isBot: Bool
  /// Where the person's image is, as the application says it: the attribute `avatar`, or the text under the key `avatar`
  /// of metadata that is a JSON object. A path or a URL, not checked in any way; empty when nothing is said.
  public private(set) var avatar = ""

  /// Makes a participant; see the properties.
  public init(
    identity: ParticipantIdentity, name: String = "", metadata: String = "", attributes: [String: String] = [:],
    isBot: Bool = false
  ) {
    self.identity = identity
    self.name = name
    self.metadata = metadata
    self.attributes = attributes
    self.isBot = isBot
    findAvatar()
  }

  private mutating func findAvatar() { avatar = AvatarReference.find(attributes: attributes, metadata: metadata) }

  /// The name to show: `name`, or the identity when it is empty.
  public var displayName: String { name.isEmpty ? identity.rawValue : name }
}

/// What a track was captured from.
public enum TrackSource: String, Sendable, Hashable {
  /// Not said.
  case unknown
  /// A camera.
  case camera
  /// A microphone.
  case microphone
  /// A shared screen or window.
  case screenShare
  /// The sound of a shared screen.
  case screenShareAudio
}

/// A publication, as last announced.
public struct Track: Hashable, Sendable {
  /// The room service's name of this publication.
  public var id: TrackID
  /// Who publishes it.
  public var participant: ParticipantIdentity
  /// Sound or pictures.
  public var kind: MediaKind
  /// Camera, microphone, screen…
  public var source: TrackSource
  /// The publisher's name for it; a track published again under the same name keeps its tile.
  public var name: String
  /// True while the publisher has it disabled.
  public var isMuted: Bool
  /// Why it cannot be shown or heard although it is published; nil: nothing is known that stands against it.
  public var obstacle: TrackObstacle?

  /// Makes a track; see the properties.
  public init(
    id: TrackID, participant: ParticipantIdentity, kind: MediaKind, source: TrackSource, name: String = "",
    isMuted: Bool = false, obstacle: TrackObstacle? = nil
  ) {
    self.id = id
    self.participant = participant
    self.kind = kind
    self.source = source
    self.name = name
    self.isMuted = isMuted
    self.obstacle = obstacle
  }
}

/// Why what somebody publishes cannot be shown or heard.
public enum TrackObstacle: String, Hashable, Sendable {
  /// It is encrypted end to end, and the recording has no key for it, or another one.
  case encrypted
}

/// How loud somebody is, from the room service.
public struct Speaker: Hashable, Sendable {
  /// Who.
  public var participant: ParticipantIdentity
  /// Loudness in 1/1000 of the service's scale, 0 (silent) to 1000.
  public var level: Int
  /// True while the service counts the person among the speakers.
  public var isActive: Bool
  /// Makes an entry; see the properties.
  public init(participant: ParticipantIdentity, level: Int, isActive: Bool) {
    self.participant = participant
    self.level = level
    self.isActive = isActive
  }
}

/// Why a session ended.
public enum SessionEnd: Hashable, Sendable {
  /// Somebody asked recbot to stop (signal, command).
  case stopped
  /// The room was closed or deleted, or everybody else left and the service closed it.
  case roomEnded
  /// Another client joined with the same identity.
  case evicted
  /// The room's owner removed the bot.
  case removed
  /// The longest wanted duration is reached.
  case maxDuration
  /// No people were in the room for as long as `--stop-when-empty` says.
  case empty
  /// The connection could not be restored; the text says why.
  case connectionLost(String)
}

/// Everything that a room, or the one who commands the recording, can tell. Closed on purpose: it can be logged and
/// replayed.
public enum RoomEvent: Hashable, Sendable {
  /// The bot is in the room. The name is the room's; what is there already follows as further events.
  case joined(room: String)
  /// Somebody is in the room (new, or there already), or what is known of them has changed.
  case participant(Participant)
  /// Somebody left; their tracks are gone with them.
  case participantLeft(ParticipantIdentity)
  /// A track is published, or what is announced of it has changed (for example muted).
  case track(Track)
  /// A track is no longer published.
  case trackUnpublished(TrackID)
  /// Whether media of this track is negotiated and may flow to us.
  case trackSubscribed(TrackID, Bool)
  /// The service holds the track back because the connection is too narrow (true), or lets it flow again.
  case trackPaused(TrackID, Bool)
  /// Whether the bot lets the service send this track; what was not told is wanted.
  case trackReception(TrackID, TrackReception)
  /// Changes of loudness; somebody not listed has not changed.
  case speakers([Speaker])
  /// How the connection does; about each second while it stands.
  case network(NetworkReport)
  /// An application sent something through the room.
  case data(DataMessage)
  /// Somebody wrote to the others, changed it, or took it back.
  case chat(ChatMessage)
  /// Somebody's speech was written down.
  case caption(Caption)
  /// The connection is lost; recbot is trying to come back. The text says what happened.
  case connectionLost(String)
  /// The connection is back. What is in the room now follows as further events, then `.synchronized`.
  case connectionRestored
  /// After `.joined` or `.connectionRestored`: everything that is in the room has been told.
  case synchronized
  /// Changes the layout from this moment on.
  case setLayout(Layout)
  /// Keeps a tile where the layout shows pinned ones, until it is unpinned; also when its owner leaves and returns.
  case pin(TileSelector)
  /// Takes a pin away; nil: all of them.
  case unpin(TileSelector?)
  /// Gives one tile the large place, whoever talks; nil: the layout decides again.
  case spotlight(TileSelector?)
  /// Treats the pictures and the sound of some people in this way from this moment on.
  case process(ProcessorRule)
  /// Gives the recording another title.
  case title(String)
  /// Pauses the recording, or changes how it is paused.
  case pause(PausePolicy)
  /// Goes on after a pause.
  case resume
  /// Puts a mark, which becomes a chapter of the file.
  case marker(String)
  /// The session is over.
  case ended(SessionEnd)
}

/// One entry of the ordered stream from which a recording is made.
public struct SessionEvent: Sendable {
  /// What happened.
  public enum Payload: Sendable {
    /// The room, or a command, said something.
    case room(RoomEvent)
    /// A frame of a publication arrived, whole.
    case frame(EncodedFrame, of: TrackID)
  }

  /// Position in the stream, from 0, without gaps.
  public var sequence: UInt64
  /// When it arrived.
  public var arrived: SessionTime
  /// What happened.
  public var payload: Payload

  /// Makes an entry; see the properties.
  public init(sequence: UInt64, arrived: SessionTime, payload: Payload) {
    self.sequence = sequence
    self.arrived = arrived
    self.payload = payload
  }
}
