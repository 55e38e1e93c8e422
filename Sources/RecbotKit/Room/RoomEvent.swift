import MediaCore
import Session

/// Where a room's connection stands.
public enum ConnectionState: Hashable, Sendable {
  /// In the room.
  case connected
  /// The connection is lost, and tried again; the text says what happened.
  case reconnecting(String)
  /// Not in the room any more, for this reason.
  case disconnected(DisconnectReason)
}

/// Something that happened in a room. What an event is about has changed already when it is told.
public enum RoomEvent: Sendable {
  /// The connection stands otherwise than before. After `.disconnected` nothing follows.
  case connectionStateChanged(ConnectionState)
  /// Somebody came, or was there when the bot joined.
  case participantConnected(RemoteParticipant)
  /// Somebody has another name, metadata or attributes than before.
  case participantUpdated(RemoteParticipant)
  /// Somebody left; what they published is told as gone before.
  case participantDisconnected(RemoteParticipant)
  /// Somebody publishes a track.
  case trackPublished(RemoteTrack)
  /// A track is not published any more.
  case trackUnpublished(RemoteTrack)
  /// Media of a track comes from now on, or does not any more (`isSubscribed`).
  case trackSubscriptionChanged(RemoteTrack)
  /// Its publisher has disabled a track, or enabled it (`isEnabled`).
  case trackEnabledChanged(RemoteTrack)
  /// The server holds a track back since the connection is too narrow, or lets it flow again (`isPaused`).
  case trackPausedChanged(RemoteTrack)
  /// These are loud now, or silent: who talks is to be read from them.
  case speakersChanged([RemoteParticipant])
  /// An application sent something.
  case dataReceived(DataMessage)
  /// Somebody wrote to the others, changed it, or took it back.
  case chatReceived(ChatMessage)
  /// Somebody's speech was written down.
  case captionReceived(Caption)
  /// How the connection does; about each second.
  case network(NetworkReport)
  /// The room has a track of the bot's own; also again, under another id, after the connection had to be made anew.
  case localTrackPublished(LocalTrackPublication)
  /// Somebody with the right to do so has disabled a track of the bot's own, or allows it to be enabled.
  case localTrackEnabledChanged(LocalTrackPublication)
  /// The capturer of a track of the bot's own gives nothing more: it has come to its end, or failed. The track stays published, with its
  /// last picture, until it is withdrawn.
  case localCaptureEnded(LocalTrackPublication, (any Error)?)
  /// A track of the bot's own is not published any more: the room has taken it away.
  case localTrackEnded(LocalTrackPublication, RoomError)
}

extension RoomEvent {
  /// False for what tells of one second only: nobody wants to read it later.
  var isLasting: Bool {
    switch self {
    case .network, .speakersChanged: false
    default: true
    }
  }
}

/// What happens in a room, as an asynchronous sequence that ends when the bot has left. It keeps the room.
public struct RoomEvents: AsyncSequence, Sendable {
  /// Goes through the events.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var events: AsyncStream<RoomEvent>.Iterator
    private let room: any AnyObject & Sendable

    fileprivate init(_ events: RoomEvents) { (self.events, room) = (events.stream.makeAsyncIterator(), events.room) }

    /// Waits for the next event; nil after the last, and when the task is cancelled.
    public mutating func next() async -> RoomEvent? { await events.next() }

    /// Waits for the next event, as `next()`.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> RoomEvent? {
      await events.next(isolation: actor)
    }
  }

  fileprivate let stream: AsyncStream<RoomEvent>
  fileprivate let room: any AnyObject & Sendable

  init(_ stream: AsyncStream<RoomEvent>, of room: any AnyObject & Sendable) {
    (self.stream, self.room) = (stream, room)
  }

  /// Goes through the events; of several readers each event goes to one.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
