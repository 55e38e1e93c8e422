import Logging
import MediaCore
import Platform
import Rooms
import Session
import Signaling
import Synchronization

/// A room of a LiveKit server that the bot is in: who is there, what they publish, what they say; and what the bot publishes
/// itself. It comes back by itself when the connection is lost. May be used on any thread.
///
/// ```swift
/// let room = try await Room.connect(url: "wss://media.example.com", token: token)
/// for await event in room.events {
///   if case .trackPublished(.audio(let track)) = event { track.add(renderer: myRenderer) }
/// }
/// ```
public final class Room: Sendable {
  /// The bot itself.
  public let localParticipant: LocalParticipant
  private let core: RoomCore
  private let options: RoomOptions

  private init(
    core: RoomCore, client: any RoomPublisher, options: RoomOptions, identity: ParticipantIdentity
  ) {
    (self.core, self.options) = (core, options)
    localParticipant = LocalParticipant(core: core, client: client, identity: identity)
  }

  /// Who lets the room go, and its events, leaves it.
  deinit { core.client?.leave() }

  /// Joins a room; returns when the bot is in it. Cancelling the task leaves it. Throws when it could not be joined.
  public static func connect(
    url: String, token: String, options: ConnectOptions = ConnectOptions()
  ) async throws(RoomError) -> Room {
    try await connect(url: url, tokens: .given(token), options: options)
  }

  /// Joins a room with tokens that are made or renewed as needed.
  public static func connect(
    url: String, tokens: TokenSource, options: ConnectOptions = ConnectOptions()
  ) async throws(RoomError) -> Room {
    let threads = options.threads ?? RoomThreads()
    let identity = try tokens.identity
    let core = RoomCore(threads: threads, canSend: options.keys?.canSend(as: identity.rawValue) ?? true)
    let connection = options.room(url: url, tokens: tokens)
    let client = connection.makePublisher(
      loop: threads.loop, sink: core, logger: options.logger,
      onPublishing: { [weak core] in core?.receive($0) })
    core.use(client)
    try await client.join()
    return Room(core: core, client: client, options: connection, identity: identity)
  }

  /// The room's name.
  public var name: String { core.name }
  /// Where the connection stands.
  public var connectionState: ConnectionState { core.connection }
  /// How the connection did in the last second.
  public var network: NetworkReport { core.network }
  /// The others, in the order of their identities.
  public var remoteParticipants: [RemoteParticipant] { core.participants }

  /// One of the others; nil when nobody of this identity is there.
  public func remoteParticipant(_ identity: ParticipantIdentity) -> RemoteParticipant? { core.participant(identity) }

  /// What happens from now on, until the bot has left. The first sequence begins with what happened since the join: everybody
  /// who was there, and what they publish. Each call makes a sequence of its own, which keeps 4096 events that are not read
  /// yet, and loses the oldest.
  public var events: RoomEvents { RoomEvents(core.events(), of: self) }

  /// What was sent and received of every track so far.
  public func reportStatistics() async -> RoomStatistics {
    await core.report()
  }

  /// Disables somebody's track for everybody. Throws `notPermitted` unless the bot's token says `roomAdmin`.
  public func mute(_ track: RemoteTrack) async throws(RoomError) {
    try await RoomModeration(options, room: name).mute(track.id, of: track.participant)
  }

  /// Sends somebody out of the room. Throws `notPermitted` unless the bot's token says `roomAdmin`.
  public func remove(_ participant: RemoteParticipant) async throws(RoomError) {
    try await RoomModeration(options, room: name).remove(participant.identity)
  }

  /// Leaves the room; returns when the connection is closed. Leaving twice is no fault.
  public func disconnect() async { await core.leave() }
}

/// What was sent and received in a room.
public struct RoomStatistics: Sendable {
  /// How the connection did in the last second.
  public var network: NetworkReport
  /// What came of each track of the others.
  public var remote: [TrackID: ReceivingStatistics] = [:]
  /// What was sent of each track of the bot's.
  public var local: [TrackID: SendingStatistics] = [:]
}

extension TokenSource {
  /// Who its tokens are for. Throws when none can be had; empty when it cannot be read.
  var identity: ParticipantIdentity {
    get throws(RoomError) {
      let token = try token(now: WallClock.seconds, refreshed: nil)
      return ParticipantIdentity((try? AccessToken(reading: token))?.identity ?? "")
    }
  }
}
