import FrameEncryption
import MediaCore
import Session
import Signaling
import Transport

/// Something that happened to a LiveKit session. The numbers say of which connection; what belongs to an older one is
/// ignored.
enum LiveKitInput: Sendable {
  case connect
  /// There is nothing to connect to.
  case unusable(RoomError)
  /// TCP stands; TLS, the upgrade and the first message are to follow.
  case reached(attempt: Int)
  case message(attempt: Int, Livekit_SignalResponse)
  case socketFailed(attempt: Int, RoomError)
  case socketClosed(attempt: Int, String)
  case transport(generation: Int, TransportState)
  case gathered(generation: Int, TrickleCandidate)
  case answered(generation: Int, offer: UInt32, sdp: String, sections: [MediaSection])
  case offerFailed(generation: Int, String)
  case subscribe(TrackID)
  /// What is wanted of some tracks.
  case receive([ReceptionWish])
  /// The recording shows these tracks from now on, and no others.
  case view(Set<TrackID>)
  /// A message of a data channel, whole.
  case data(generation: Int, [UInt8], isReliable: Bool)
  /// What a track sends cannot be decrypted, for this reason; nil: it can be again.
  case unreadable(TrackID, String?)
  /// What `decrypt` asked for; nil: it could not be decrypted.
  case decrypted(generation: Int, [UInt8]?, from: ParticipantIdentity)
  /// What came in during the last second; without the server's word.
  case network(generation: Int, NetworkReport)
  /// This machine's addresses or routes changed.
  case networkChanged
  /// What the server's list of rooms says: whether the room that is waited for is there. Nil: it could not be asked.
  case roomListed(Bool?)
  /// Somebody who knows says that the room has begun.
  case roomBegan
  /// Something about what the bot publishes.
  case publishing(PublishingInput)
  case leave
  /// Everything sent before `closeSocket` is on its way, and the socket is closed.
  case left
  /// `nextDeadline` is reached.
  case timer
}

/// What a LiveKit session asks of its transport of signalling.
enum LiveKitRequest: Sendable, Equatable {
  case openSocket(attempt: Int, SignalQuery, token: Redacted<String>)
  case send(Livekit_SignalRequest)
  case closeSocket
  /// Close after all that was sent is on its way; `left` follows.
  case closeSocketGently
  /// Ask the server whether there is a room of this name; `roomListed` follows.
  case lookForRoom(String, token: String)
  /// Rooms are not asked for any more.
  case endLookout
  /// Apply and answer; `answered` or `offerFailed` follows.
  case applyOffer(generation: Int, id: UInt32, sdp: String)
  /// `decrypted` follows.
  case decrypt(EncryptedMessage)
  /// The room is encrypted end to end: as whom the bot sends, and what ends the frames that the server makes itself.
  case beginEncryption(String, trailer: [UInt8])
  /// A second peer connection, for what the bot publishes; with channels for data.
  case openPublisher(generation: Int, MediaRequest)
  case closePublisher
  case addSender(LocalTrackID, LocalTrackDescription)
  case removeSender(LocalTrackID)
  /// `offered` or `failed` follows.
  case makeOffer(generation: Int, restartsICE: Bool)
  /// An offer will not be answered.
  case withdrawOffer
  /// `applied` follows.
  case applyPublisherAnswer(generation: Int, sdp: String)
  case addPublisherCandidate(String)
  /// Who publishes hears of it.
  case tell(PublishingEvent)
}

/// What happens to what a bot publishes; the numbers are those of its peer connection.
enum PublishingInput: Sendable {
  case publish(LocalTrackID, LocalTrackDescription)
  case unpublish(LocalTrackID)
  case mute(LocalTrackID, Bool)
  /// A message waits for a data channel.
  case wantData
  case offered(generation: Int, sdp: String)
  /// An answer was taken; `error`: it could not be.
  case applied(generation: Int, error: String?)
  case failed(generation: Int, String)
  case transport(generation: Int, TransportState)
  case gathered(generation: Int, TrickleCandidate)
}

/// What doesn't change in a LiveKit session.
struct LiveKitSettings: Sendable {
  var tokens: TokenSource
  var connectTimeout: Duration
  var mediaTimeout: Duration
  var iceServers: [ICEServer]
  /// Wall-clock nanoseconds since 1970 minus monotonic nanoseconds.
  var wallClockOffset: Int64
  /// Whether tracks are subscribed; without, only data comes.
  var receivesMedia = true
  /// Whether tracks are subscribed without a wish.
  var autoSubscribe = true
  /// What is received and shown.
  var selection = RoomSelection()
  /// Of a room that is encrypted end to end.
  var keys: FrameKeys?
}
