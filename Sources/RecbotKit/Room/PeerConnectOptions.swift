import Logging
import Rooms
import Session
import Transport

/// How to connect to a two-party room.
public struct PeerConnectOptions: Sendable {
  /// The bot's display name; nil: its token's.
  public var name: String?
  /// Whether the bot records what comes: the other side's page shows a light then. Who keeps pictures or sound of people says so.
  public var isRecording = false
  /// STUN and TURN servers in addition to those that the mailbox names.
  public var iceServers: [ICEServer] = []
  /// Whether the bot's media goes over TURN servers only.
  public var usesRelaysOnly = false
  /// Local addresses to use for media, such as `["127.0.0.1"]`; nil for all.
  public var localAddresses: [String]?
  /// Local UDP ports for media; nil for any.
  public var portRange: ClosedRange<UInt16>?
  /// A file with certificates (PEM) that are trusted instead of the system's, for `https://` and `turns:`.
  public var tlsCAFile: String?
  /// How long to ask for the seat while there is no server or the seat is taken (`waitForRoom`), when to come back, and when to give up.
  public var reconnect = ReconnectSettings()
  /// The threads that the room works on; nil: its own.
  public var threads: RoomThreads?
  /// Where the room says what it does.
  public var logger = Logger(label: "RecbotKit") { _ in SwiftLogNoOpLogHandler() }

  /// The defaults.
  public init() {}

  /// What the connection is made with.
  func room(url: String, tokens: TokenSource) -> RoomOptions {
    var options = ConnectOptions()
    options.iceServers = iceServers
    options.usesRelaysOnly = usesRelaysOnly
    options.localAddresses = localAddresses
    options.portRange = portRange
    options.tlsCAFile = tlsCAFile
    options.reconnect = reconnect
    return options.room(url: url, tokens: tokens)
  }
}
