import Logging
import MediaCore
import Rooms
import Session
import Transport

/// How to connect to a room.
public struct ConnectOptions: Sendable {
  /// Whether the bot receives what others publish; without, it hears data and chat only.
  public var receivesMedia = true
  /// Whether media of each track comes by itself; without, nothing comes of a track before ``RemoteAudioTrack/receive(_:)`` or
  /// ``RemoteVideoTrack/receive(_:preferring:)`` asks for it: of a room of a hundred, a bot that listens to one receives one.
  public var autoSubscribe = true
  /// The keys of a room whose media and messages are encrypted end to end; nil: what is encrypted is neither seen nor heard, and what
  /// the bot sends is open to the server. With keys all that it publishes and says is encrypted; without one for the bot itself it sends
  /// nothing.
  public var keys: FrameKeys?
  /// STUN and TURN servers in addition to those that the room server names.
  public var iceServers: [ICEServer] = []
  /// Whether media goes over TURN servers only.
  public var usesRelaysOnly = false
  /// Local addresses to use for media, such as `["127.0.0.1"]`; nil for all.
  public var localAddresses: [String]?
  /// Local UDP ports for media; nil for any.
  public var portRange: ClosedRange<UInt16>?
  /// A file with certificates (PEM) that are trusted instead of the system's, for `wss://` and `turns:`.
  public var tlsCAFile: String?
  /// Longest time for name look-up, TCP, TLS, upgrade and the server's first message.
  public var connectTimeout = Duration.seconds(15)
  /// Longest time from the first join until media is connected.
  public var mediaTimeout = Duration.seconds(15)
  /// When to wait, to come back, and to give up.
  public var reconnect = ReconnectSettings()
  /// The threads that the room works on; nil: its own.
  public var threads: RoomThreads?
  /// Where the room says what it does.
  public var logger = Logger(label: "RecbotKit") { _ in SwiftLogNoOpLogHandler() }

  /// The defaults.
  public init() {}

  /// What the connection is made with.
  func room(url: String, tokens: TokenSource) -> RoomOptions {
    var random = SystemRandomNumberGenerator()
    var options = RoomOptions(url: url, tokens: tokens, seed: random.next())
    options.receivesMedia = receivesMedia
    options.autoSubscribe = autoSubscribe
    options.keys = keys
    options.iceServers = iceServers
    options.localAddresses = localAddresses
    options.portRange = portRange
    options.tlsCAFile = tlsCAFile
    options.connectTimeout = connectTimeout
    options.mediaTimeout = mediaTimeout
    options.reconnect = reconnect
    options.reconnect.relayOnly = usesRelaysOnly || reconnect.relayOnly
    return options
  }
}
