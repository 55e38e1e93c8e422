import Logging
import MediaCore
import Session
import Transport

/// What a room protocol's machine wants done, in order: the same for every protocol but for `Request`, which its own
/// transport of signalling carries out.
enum RoomAction<Request: Sendable & Equatable>: Sendable, Equatable {
  case perform(Request)
  /// A new peer connection takes the place of the one before, if there is one.
  case openMedia(generation: Int, MediaRequest)
  /// Servers and policy for the next ICE restart.
  case updateMedia([ICEServer], relayOnly: Bool)
  case addCandidate(String)
  case closeMedia
  /// Ask the peer whether it is there, over the media connection.
  case probeMedia
  /// Ask the publishers of all video tracks for keyframes.
  case requestKeyframes
  /// From now on the frames of these m-lines, and only these, belong to these tracks.
  case bind([MID: TrackID])
  case emit(RoomEvent)
  /// The first join succeeded.
  case joined
  /// The session is over: the media is closed, and the recording hears that it ended.
  case finished(SessionEnd, RoomError?)
  /// The connection stands otherwise than before, or an error came up.
  case status(RoomStatus)
  case log(Logger.Level, String)
}

/// Which peer connection is wanted.
struct MediaRequest: Sendable, Equatable {
  /// STUN and TURN servers that the signalling names.
  var iceServers: [ICEServer]
  /// Whether only relayed candidates are used.
  var relayOnly: Bool
  /// Whether the bot makes the offers: then what is to be received is in them from the beginning.
  var isOfferer = false
}

/// What is known of the media connection's traffic when a machine takes an event.
struct MediaTraffic: Sendable, Equatable {
  /// When the last RTP or RTCP packet came. Nil before the first.
  var lastPacketAt: Instant?
  /// When the last datagram of any kind came. Nil when that cannot be known.
  var heardAt: Instant?
  /// Whether no ICE restart can bring media back.
  var isBeyondRestart = false

  /// When something last came; nil when nothing is known of that.
  var newestAt: Instant? {
    guard let lastPacketAt else { return heardAt }
    return max(lastPacketAt, heardAt ?? lastPacketAt)
  }
}
