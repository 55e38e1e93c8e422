import MediaCore
import Rooms
import Session
import Signaling

/// A two-party room: the bot talks to one person, and no media server is between them. A mailbox, which every recbot room server has,
/// carries their session descriptions. May be used on any thread.
///
/// ```swift
/// let room = try await PeerRoom.connect(
///   url: "wss://media.example.com", room: "booth", token: token, publishing: [.audio(LocalAudioTrack(capturer: voice))])
/// for await event in room.events {
///   if case .trackPublished(.audio(let track)) = event { track.add(renderer: myRenderer) }
/// }
/// ```
///
/// The host offers, the guest answers. Both descriptions must be exchanged within 4 s and media must flow within 15 s more, else the whole
/// flow starts over, as it does when the other side begins anew or the connection fails; one that falls silent first gets an ICE restart.
/// Meanwhile the state is `.reconnecting`, and everybody and everything is told again afterwards. The room ends when the other side says
/// goodbye (`.disconnected(.roomEnded)`); one that only disappears has left, and the bot waits for the next.
public final class PeerRoom: Sendable {
  /// The identity of the bot's token.
  public let identity: ParticipantIdentity
  private let core: RoomCore

  private init(core: RoomCore, identity: ParticipantIdentity) { (self.core, self.identity) = (core, identity) }

  /// Who lets the room go, and its events, leaves it.
  deinit { core.client?.leave() }

  /// Takes a seat; returns when the bot has it, whether or not somebody sits opposite. Cancelling the task leaves the room. `role` nil takes
  /// the seat that is free. `tracks`: what the bot sends, of each source one, and a screen only beside a camera. Throws when the seat
  /// could not be had, and when the tracks cannot be sent.
  public static func connect(
    url: String, room: String, as role: PeerRole? = nil, token: String, publishing tracks: [PeerTrack] = [],
    options: PeerConnectOptions = PeerConnectOptions()
  ) async throws(RoomError) -> PeerRoom {
    try await connect(url: url, room: room, as: role, tokens: .given(token), publishing: tracks, options: options)
  }

  /// Takes a seat with tokens that are made or renewed as needed.
  public static func connect(
    url: String, room: String, as role: PeerRole? = nil, tokens: TokenSource, publishing tracks: [PeerTrack] = [],
    options: PeerConnectOptions = PeerConnectOptions()
  ) async throws(RoomError) -> PeerRoom {
    let threads = options.threads ?? RoomThreads()
    let core = RoomCore(threads: threads)
    let identity = try tokens.identity
    let publications = tracks.map { $0.publication(core) }
    var profile = PeerProfile()
    (profile.name, profile.isRecording) = (options.name, options.isRecording)
    profile.tracks = publications.map(\.description)
    let client = try options.room(url: url, tokens: tokens).makePeer(
      room: room, role: role, profile: profile, loop: threads.loop, sink: core, logger: options.logger,
      onPublishing: { [weak core] in core?.receive($0) })
    for (index, publication) in publications.enumerated() {
      do {
        try publication.claim()
      } catch {
        for claimed in publications[..<index] { claimed.end() }
        throw error
      }
    }
    core.use(client, sending: publications)
    // The end, which follows when this fails, ends what was to be sent.
    try await client.join()
    return PeerRoom(core: core, identity: identity)
  }

  /// The room's name.
  public var name: String { core.name }
  /// Where the connection stands: connected is who has a seat, also with nobody opposite.
  public var connectionState: ConnectionState { core.connection }
  /// Which way media takes (`path`); rates are not measured here.
  public var network: NetworkReport { core.network }
  /// Who sits opposite; nil: nobody.
  public var remoteParticipant: RemoteParticipant? { core.participants.first }
  /// What the bot sends, in the order in which it was given. Their ids are known while it arrives.
  public var publications: [LocalTrackPublication] { core.publications }

  /// What happens from now on, until the bot has left, as of ``Room/events``. `.localTrackPublished` says that what the bot sends
  /// arrives, also again after each return of the connection.
  public var events: RoomEvents { RoomEvents(core.events(), of: self) }

  /// What was sent and received of every track so far.
  public func reportStatistics() async -> RoomStatistics { await core.report() }

  /// Says goodbye, which ends the room for the other side, too; returns when the connection is closed. Leaving twice is no fault.
  public func disconnect() async { await core.leave() }
}
