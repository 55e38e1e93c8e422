import Logging
import MediaCore
import Signaling
import Transport

/// Names a signal connection for as long as it is there.
typealias SignalID = ObjectIdentifier

/// One moment by both clocks.
struct Moment: Hashable, Sendable {
  /// By the monotonic clock.
  var steady: Instant
  /// Microseconds since 1970.
  var wall: Int64
}

extension RoomMachine {
  /// What happens to a room. Participants and tracks are named by their sids.
  enum Event: Sendable {
    /// A client with a good token has opened a signal connection.
    case join(JoinRequest, SignalID)
    /// What `.open` asked for is there.
    case opened(String)
    /// What `.open` asked for can't be made, and why.
    case openFailed(String, RoomJoinRefusal)
    /// The receiving connection that `.openSubscriber` asked for can't be made.
    case subscriberFailed(String)
    /// What `.openPublisher` asked for is there.
    case publisherOpened(String, PublisherNeed)
    /// What `.openPublisher` asked for can't be made, and why.
    case publisherFailed(String, PublisherNeed, reason: String)
    /// The client came back on another signal connection.
    case resume(String, SignalID)
    /// A signal connection is gone.
    case signalLost(String, SignalID)
    /// The client sent a signalling message.
    case received(String, Livekit_SignalRequest)
    /// One of the two media connections is in another state.
    case media(String, MediaLeg, TransportState)
    /// An offer brought these sections, which carry no track yet; the answer to it is ready.
    case offered(String, [OfferedSection])
    /// The publisher took a track out of its connection.
    case trackEnded(String, track: String)
    /// A data packet came, as it is on the wire.
    case data(String, [UInt8], isReliable: Bool)
    /// The participant has heard nothing of what happened since this time (`Moment.steady`), and hears again.
    case missed(String, since: Instant)
    /// Its session is to end; the client is told `action`.
    case leave(String, Livekit_DisconnectReason, Livekit_LeaveRequest.Action)
    /// Its rights are to be others.
    case setGrant(String, VideoGrant)
    /// What others read of it is to be changed; see `Member.Profile.changed`.
    case setProfile(String, name: String, metadata: String, attributes: [String: String])
    /// Its track is to be muted, or not to be.
    case mute(String, track: String, Bool)
    /// It is to receive these tracks, or not to receive them.
    case subscribe(String, tracks: [String], Bool)
    /// A program sends data to participants. A nonce (empty: none) that came already means that it is done.
    case send(Livekit_DataPacket, isReliable: Bool, nonce: [UInt8])
    /// The room's metadata is to be this.
    case setMetadata(String)
    /// No more than so many participants may join for now; nil: as many as the settings say.
    case limit(Int?)
    /// How loud each participant spoke in the last interval, 0...1; who isn't in it was silent.
    case levels([String: Float])
    /// How each participant's media connections do.
    case qualities([String: QualityScore.Facts])
    /// Time has passed: due ten times a second while there are participants, and at `closesAt`.
    case tick
    /// The room is to end.
    case close(Livekit_DisconnectReason)
  }

  /// What a room's shell has to do, in the order given.
  enum Action: Sendable {
    /// The client's connections are needed: the signal connection is taken, and with `receives` a receiving connection is made.
    /// Answered by `.opened` or `.openFailed`.
    case open(String, identity: String, SignalID, receives: Bool, mayPause: Bool)
    /// A receiving connection is needed for somebody who has none.
    case openSubscriber(String, mayPause: Bool)
    /// Offers may begin on the receiving connection.
    case startOffers(String)
    /// A publishing connection is needed. Answered by `.publisherOpened` or `.publisherFailed`.
    case openPublisher(String, PublisherNeed)
    /// Who asks on this signal connection isn't taken in, and is told so; what was opened under the sid is closed.
    case refuse(SignalID, String?, RoomJoinRefusal)
    /// A message for one client.
    case send(String, Livekit_SignalResponse)
    /// News of the room for one client.
    case tell(String, Livekit_SignalResponse)
    /// These claims are to be signed and sent.
    case renewToken(String, AccessToken)
    /// The client's signal connection is gone.
    case detach(String)
    /// The client's signal connection is to be closed for it has another one.
    case replaceSignal(String)
    /// The client has this signal connection.
    case attach(String, SignalID)
    /// The client is there again: an offer with an ICE restart is due.
    case resumeOffers(String)
    /// The session is over: all connections end. `isHeard` is false when the client couldn't be told.
    case end(String, Livekit_DisconnectReason, isHeard: Bool)
    /// The client's offer for publishing.
    case takeOffer(String, Livekit_SessionDescription)
    /// The answer that is ready is to be sent; `tracks` has a track's sid for each section's mid.
    case answer(String, tracks: [String: String])
    /// The client's answer for receiving.
    case takeAnswer(String, Livekit_SessionDescription)
    /// A candidate of the client.
    case addCandidate(String, MediaLeg, String)
    /// A section carries a track: packets are passed on from now on.
    case startTrack(String, mid: String, TrackRoute)
    /// A track is over.
    case stopTrack(String, track: String)
    /// A track is muted, or isn't any more.
    case setMuted(track: String, Bool)
    /// A client is to receive a track.
    case subscribe(String, track: String, VideoWish)
    /// A client is not to receive a track any more.
    case unsubscribe(String, track: String)
    /// How a client shows a track that it receives.
    case setVideo(String, track: String, VideoWish)
    /// A client wants to be treated as if so many bits per second reached it; nil ends that.
    case simulateBandwidth(String, Int?)
    /// A data packet for these clients.
    case deliver([UInt8], isReliable: Bool, to: [String])
    /// An event for the webhooks.
    case report(String, Livekit_Room, Livekit_ParticipantInfo?, Livekit_TrackInfo?)
    /// A line for the log.
    case log(Logger.Level, String, [String: String])
    /// The room is over.
    case closed
  }
}

/// One of a client's two media connections.
enum MediaLeg: Hashable, Sendable {
  /// On which it sends.
  case publisher
  /// On which it receives.
  case subscriber
}

/// What a publishing connection is needed for.
enum PublisherNeed: Sendable {
  /// The client's offer.
  case offer(Livekit_SessionDescription)
  /// A track that the client announces.
  case announcement(Livekit_AddTrackRequest)
  /// A candidate of the client.
  case candidate(String)
}

/// Why somebody can't join.
enum RoomJoinRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The room has as many participants as it may have.
  case full
  /// The media connection could not be made; the text is the cause.
  case media(String)
  /// The room or the signal connection ended meanwhile.
  case over

  /// For the log.
  var description: String {
    switch self {
    case .full: "full"
    case .media(let cause): "media(\"\(cause)\")"
    case .over: "over"
    }
  }
}

/// A section of an offer that carries something, but no track that is known.
struct OfferedSection: Hashable, Sendable {
  /// Its name in the offer.
  var mid: String
  /// Sound or pictures.
  var kind: MediaKind
  /// The name that the client gives to its track.
  var trackID: String?
  /// The codecs that were agreed on, in their order.
  var codecs: [Codec]
  /// How many simulcast layers it has; 0 or 1 without simulcast.
  var layers: Int
}

/// What is forwarded of a published track.
struct TrackRoute: Sendable {
  /// The sid of who publishes it.
  var owner: String
  /// The track as clients see it.
  var info: Livekit_TrackInfo
  /// What its publisher was told to send.
  var codec: Codec
  /// Its place in the order in which the room's tracks were published.
  var position: Int
}
