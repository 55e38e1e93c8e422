import Logging
import MediaCore
import PeerConnection
import Synchronization
import Transport

/// A small room server: LiveKit-compatible signalling in its classic form (two peer connections per client), and
/// selective forwarding of the media. For demos, tests and small private rooms.
///
/// Tokens are JWTs (HS256) under the configured keys; rooms come into being with their first participant. All state
/// of rooms and media is confined to one `MediaLoop`; one network thread carries HTTP and WebSocket bytes.
public final class EmbeddedRoomServer: Sendable {
  /// How the server behaves.
  public struct Configuration: Sendable {
    /// Address to listen on for HTTP and WebSocket.
    public var bind = "127.0.0.1"
    /// TCP port to listen on; 0 takes any free one.
    public var port = 7880
    /// Secrets by API key. At least one is needed.
    @Redacted public var apiKeys: [String: String]
    /// Seconds after which a room that nobody ever joined for good is closed.
    public var emptyTimeout = 300
    /// Seconds after which a room is closed that its last participant has left. Recorders, agents and hidden
    /// participants don't keep a room.
    public var departureTimeout = 20
    /// Seconds for which a participant is kept whose signalling connection broke while its media still flows: as long
    /// it can resume its session. One whose media stopped too is kept for a few seconds only.
    public var resumeTimeout = 300
    /// Seconds after which a peer of a two-party room that is not heard of loses its seat.
    public var seatTimeout = 10
    /// Seconds after which a client that joined must have a media connection.
    public var connectTimeout = 60
    /// Local IP addresses on which media is sent and received; none: all of this machine.
    public var mediaAddresses = ["127.0.0.1"]
    /// UDP ports for media; nil for any.
    public var mediaPorts: ClosedRange<UInt16>?
    /// TCP port at which clients reach media when UDP leads nowhere (RFC 6544); 0 takes any free one.
    public var mediaTCPPort = 0
    /// STUN and TURN servers that clients are told to use.
    public var iceServers: [ICEServer] = []
    /// The most participants in one room.
    public var maximumParticipants = 100
    /// Whether joining makes a room that doesn't exist; otherwise only the grant roomCreate does.
    public var createsRooms = true
    /// Whether video is paused for subscribers that not even its smallest layers reach, unless a client says itself
    /// (`subscriber_allow_pause`).
    public var pausesVideo = true
    /// Who is told of events.
    public var webhooks: [WebhookURL] = []
    /// Whether faults can be commanded over HTTP (`POST /test/<verb>`), with a token that has the grant roomAdmin.
    public var hasTestAPI = false
    /// Limits of the HTTP and WebSocket side.
    public var limits = Limits()

    /// The local address of media, when there is exactly one; else that of all.
    var mediaAddress: String { mediaAddresses.count == 1 ? mediaAddresses[0] : "::" }

    /// The defaults, for these API keys.
    public init(apiKeys: [String: String]) { self.apiKeys = apiKeys }
  }

  /// What one client may cost.
  public struct Limits: Sendable {
    /// Largest signalling message and WebSocket frame, in bytes.
    public var messageSize = 2 << 20
    /// Largest HTTP header field (tokens travel in one), in bytes.
    public var headerSize = 32 << 10
    /// Signalling messages per second; a burst may be twice as many.
    public var messagesPerSecond = 200
    /// Bytes that may wait for a client that doesn't read.
    public var pendingOutput = 8 << 20
    /// Connections of clients with a good token at the same time; as many again may wait to show one.
    public var connections = 1024
    /// Connections of one address (of IPv6: one /64 network) that have not shown a token yet.
    public var connectionsPerAddress = 64
    /// Longest time for a whole HTTP request and the upgrade.
    public var handshakeTimeout = Duration.seconds(10)
    /// Time without any message, ping or pong after which a connection is taken for dead.
    public var signalTimeout = Duration.seconds(15)

    /// The defaults.
    public init() {}
  }

  private enum State {
    case new
    case starting
    case running(SignalListener, RoomDirectory)
    case stopped
  }

  private let configuration: Configuration
  private let logger: Logger
  private let state = Mutex(State.new)

  /// Makes a server; it does nothing before `start`.
  public init(configuration: Configuration, logger: Logger) {
    self.configuration = configuration
    self.logger = logger
  }

  /// Starts to listen and returns the TCP port. Returns when clients can connect; the work goes on in threads of the
  /// server's own. Not to be called on an event loop.
  public func start() throws(RoomServerError) -> Int {
    guard configuration.apiKeys.contains(where: { !$0.key.isEmpty && !$0.value.isEmpty }) else { throw .noAPIKeys }
    let isNew = state.withLock { state in
      guard case .new = state else { return false }
      state = .starting
      return true
    }
    guard isNew else { throw .alreadyStarted }
    let directory = RoomDirectory(configuration: configuration, webhooks: makeWebhooks(), logger: logger)
    let hasMediaPort = directory.listener != nil
    let gate = JoinGate(apiKeys: configuration.apiKeys)
    var services: [any HTTPService] = [
      RoomServiceAPI(gate: gate, directory: directory), MailboxAPI(mailbox: directory.mailbox, gate: gate), PeerPage(),
    ]
    if configuration.hasTestAPI { services.append(TestService(gate: gate, directory: directory)) }
    let listener = SignalListener(
      gate: gate, limits: configuration.limits, logger: logger, sink: directory, services: services)
    do throws(RoomServerError) {
      guard hasMediaPort else {
        throw .cannotListen(
          host: configuration.mediaAddress, port: configuration.mediaTCPPort,
          reason: "media over TCP needs that port (--ice-tcp-port)")
      }
      let port = try listener.listen(host: configuration.bind, port: configuration.port)
      let wasStopped = state.withLock { state in
        if case .stopped = state { return true }
        state = .running(listener, directory)
        return false
      }
      if wasStopped { throw RoomServerError.alreadyStarted }
      logger.info("room server listens", metadata: ["bind": "\(configuration.bind)", "port": "\(port)"])
      return port
    } catch {
      listener.shutDown()
      directory.shutDown()
      state.withLock { $0 = .stopped }
      throw error
    }
  }

  private func makeWebhooks() -> WebhookSender? {
    // Any key serves; the first one by name, so that it is always the same.
    guard !configuration.webhooks.isEmpty,
      let pair = configuration.apiKeys.filter({ !$0.value.isEmpty }).min(by: { $0.key < $1.key })
    else { return nil }
    return WebhookSender(urls: configuration.webhooks, apiKey: pair.key, secret: pair.value, logger: logger)
  }

  /// The rooms; nil unless the server runs.
  var directory: RoomDirectory? {
    state.withLock { if case .running(_, let directory) = $0 { directory } else { nil } }
  }

  /// Tells every client that the server ends, closes all connections and waits for the server's threads. Harmless
  /// when called again. Not to be called on an event loop.
  public func stop() {
    let last = state.withLock { state in
      defer { state = .stopped }
      return state
    }
    guard case .running(let listener, let directory) = last else { return }
    listener.stopListening()
    directory.shutDown()
    listener.shutDown()
    logger.info("room server stopped")
  }
}
