import MediaCore
import PeerConnection
import Session
import Transport

/// What decides about the connection to one room: a value, driven by `RoomConnection`. Another room protocol is one of
/// these, and a `RoomTransport`.
protocol ConnectionMachine: Sendable {
  associatedtype Input: RoomInput
  associatedtype Request: Sendable & Equatable

  /// True until something has happened.
  var isIdle: Bool { get }
  /// When `timer` must be handled; nil for never.
  var nextDeadline: Instant? { get }
  /// Takes an input and returns what is to be done, in order.
  mutating func handle(_ input: Input, at now: Instant) -> [RoomAction<Request>]
  /// Takes what is known of the media connection's traffic; before each input.
  mutating func observe(_ traffic: MediaTraffic)
}

extension ConnectionMachine {
  /// Asks nothing of it.
  mutating func observe(_ traffic: MediaTraffic) {}
}

/// What the machine of every room protocol hears. A generation is the number of a peer connection.
protocol RoomInput: Sendable {
  static func transport(generation: Int, _ state: TransportState) -> Self
  /// A local candidate, of the section with this mid and index.
  static func candidate(generation: Int, _ candidate: String, mid: MID, index: Int) -> Self
  /// This machine's addresses or routes changed.
  static var networkChanged: Self { get }
  static var leave: Self { get }
  /// `nextDeadline` is reached.
  static var timer: Self { get }
  /// No peer connection could be made; nil: that is only logged.
  static func noMedia(generation: Int, _ reason: String) -> Self?
  /// What the recording asks for; nil where there is nothing to choose.
  static func wish(_ wish: RoomWish) -> Self?
  /// The bot disables a track of its own, or enables it; nil where it sends nothing.
  static func mute(_ track: LocalTrackID, _ isMuted: Bool) -> Self?
}

extension RoomInput {
  static func noMedia(generation: Int, _ reason: String) -> Self? { nil }
  static func wish(_ wish: RoomWish) -> Self? { nil }
  static func mute(_ track: LocalTrackID, _ isMuted: Bool) -> Self? { nil }
}

/// What a recording asks of the room's connection.
enum RoomWish: Sendable {
  /// Ask again for a track that should have come.
  case subscribe(TrackID)
  /// What is wanted of some tracks.
  case receive([ReceptionWish])
  /// These tracks are shown from now on, and no others.
  case view(Set<TrackID>)
  /// Somebody who knows says that the room has begun.
  case roomBegan
}

/// A room protocol's own transport of signalling, and what its media needs. Confined to the connection's loop.
protocol RoomTransport: AnyObject, SendableMetatype {
  associatedtype Machine: ConnectionMachine

  /// How often `sample` is called while there is a peer connection.
  static var samplingInterval: Duration { get }

  /// The join begins: the machine's first input.
  func start(_ connection: RoomConnection<Self>) -> Machine.Input
  /// Carries out what only this protocol knows.
  func perform(_ request: Machine.Request, for connection: RoomConnection<Self>)
  /// Changes what a new peer connection is made of.
  func configure(_ configuration: inout RTCPeerConnection.Configuration)
  /// A peer connection was made, and has not been used yet.
  func opened(_ media: RTCPeerConnection, _ request: MediaRequest)
  /// From now on the frames of these m-lines belong to these tracks; none after the peer connection was closed.
  func bound(_ tracks: [MID: TrackID])
  /// Looks how the peer connection does.
  func sample(_ media: RTCPeerConnection, for connection: RoomConnection<Self>)
  /// What sends a track of the bot's own; nil while nothing does.
  func sender(of track: LocalTrackID) -> RTPSender?
  /// The peer asked for a keyframe of what the bot sends over this connection.
  func wantsKeyframe(of sender: RTPSender)
  /// A frame of a track, as the recording gets it; nil when it is not passed on.
  func passed(_ frame: EncodedFrame, of track: TrackID, in mid: MID, for connection: RoomConnection<Self>)
    -> EncodedFrame?
  /// A data channel can be used.
  func opened(channel label: String, for connection: RoomConnection<Self>)
  /// A message of a data channel; the bytes are valid during the call.
  func received(_ bytes: UnsafeRawBufferPointer, on label: String, for connection: RoomConnection<Self>)
  /// A way to the peer over TCP or TLS has failed, in words for a log.
  func pathFailed(_ reason: String, for connection: RoomConnection<Self>)
}

/// What a protocol leaves out that has no data channels, sends nothing, or does not care for ways that failed.
extension RoomTransport {
  func bound(_ tracks: [MID: TrackID]) {}
  func sender(of track: LocalTrackID) -> RTPSender? { nil }
  func wantsKeyframe(of sender: RTPSender) {}
  func opened(channel label: String, for connection: RoomConnection<Self>) {}
  func received(_ bytes: UnsafeRawBufferPointer, on label: String, for connection: RoomConnection<Self>) {}
  func pathFailed(_ reason: String, for connection: RoomConnection<Self>) {}
}
