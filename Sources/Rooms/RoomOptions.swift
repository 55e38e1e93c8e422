import FrameEncryption
import PeerConnection
import Signaling
import Transport

/// What kind of room a room is.
public enum RoomKind: Hashable, Sendable {
  /// A room of a LiveKit server.
  case liveKit
  /// A two-party room of this name. The role is the bot's; nil to take the seat that is free.
  case peer(room: String, role: PeerRole?)
}

/// How to connect to a room.
public struct RoomOptions: Sendable {
  /// What kind of room it is.
  public var kind = RoomKind.liveKit
  /// The server's address: `ws://`, `wss://`, `http://` or `https://`, with an optional path prefix.
  public var url: String
  /// Where tokens come from.
  public var tokens: TokenSource
  /// A file with certificates (PEM) that are trusted instead of the system's, for `wss://` and `turns:`.
  public var tlsCAFile: String?
  /// Longest time for name look-up, TCP, TLS, upgrade and the server's first message. The server itself may
  /// take 12 s to place a session.
  public var connectTimeout = Duration.seconds(15)
  /// Longest time from the first join until media is connected. Attempts to come back are shorter.
  public var mediaTimeout = Duration.seconds(15)
  /// STUN and TURN servers in addition to those that the room server names.
  public var iceServers: [ICEServer] = []
  /// Local addresses to use for media, such as `["127.0.0.1"]`; nil for all.
  public var localAddresses: [String]?
  /// Local UDP ports for media; nil for any.
  public var portRange: ClosedRange<UInt16>?
  /// Whether tracks are received; without, the bot hears data and chat only.
  public var receivesMedia = true
  /// Whether every track is subscribed by itself; without, the bot hears of tracks, and receives those of which it says so
  /// (`RoomControl.receive`). Two-party rooms send all that there is.
  public var autoSubscribe = true
  /// The part of the room that is received and shown. Two-party rooms are always whole.
  public var selection = RoomSelection()
  /// Feedback about the available bandwidth that the server gets. With any, it adapts what it sends to the bot: lower
  /// layers, and when it may, nothing of some tracks. None is right for a recorder on a good network.
  public var bandwidthFeedback: RTCPeerConnection.BandwidthFeedback = []
  /// When to wait, to come back, and to give up; and whether only relays are used.
  public var reconnect = ReconnectPolicy.Settings()
  /// The keys of a room whose media is encrypted end to end; nil: what is encrypted is neither shown nor heard. LiveKit
  /// rooms only.
  public var keys: FrameKeys?
  /// Decides the jitter between attempts to come back.
  public var seed: UInt64

  /// Options for an address and a source of tokens. `seed` should differ from bot to bot.
  public init(url: String, tokens: TokenSource, seed: UInt64 = 0) {
    self.url = url
    self.tokens = tokens
    self.seed = seed
  }
}

extension RoomOptions {
  /// How a peer connection reaches the room.
  func configuration(_ request: MediaRequest) -> RTCPeerConnection.Configuration {
    var configuration = RTCPeerConnection.Configuration()
    configuration.iceServers = request.iceServers
    configuration.transportPolicy = request.relayOnly ? .relay : .all
    configuration.localAddresses = localAddresses
    configuration.portRange = portRange
    configuration.tlsAuthorities = tlsCAFile
    return configuration
  }
}
