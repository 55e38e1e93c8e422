import MediaCore
import Rooms
import Session

/// The bot itself: what it publishes, and what it says. May be used on any thread.
public final class LocalParticipant: Sendable {
  /// The identity of its token.
  public let identity: ParticipantIdentity
  // The room is not kept by it.
  private let core: RoomCore
  private let client: any RoomPublisher

  init(core: RoomCore, client: any RoomPublisher, identity: ParticipantIdentity) {
    (self.core, self.client, self.identity) = (core, client, identity)
  }

  /// What it publishes, the oldest first.
  public var publications: [LocalTrackPublication] { core.publications }

  /// Publishes pictures; returns when the room has the track. It stays published, also after the connection was lost and came
  /// back, until it is withdrawn. Throws when the room refuses it, the bot has left, or the track is published already.
  @discardableResult
  public func publish(
    _ track: LocalVideoTrack, options: VideoPublishOptions = VideoPublishOptions()
  ) async throws(RoomError) -> LocalTrackPublication {
    try await publish(LocalTrackPublication(track, options, core: core))
  }

  /// Publishes sound, as `publish` of pictures.
  @discardableResult
  public func publish(
    _ track: LocalAudioTrack, options: AudioPublishOptions = AudioPublishOptions()
  ) async throws(RoomError) -> LocalTrackPublication {
    try await publish(LocalTrackPublication(track, options, core: core))
  }

  /// Publishes pictures that are encoded already, as `publish` of pictures. Throws also when the source's layers are not one to three, or
  /// more than one of VP9.
  @discardableResult
  public func publish(
    _ track: EncodedVideoTrack, isMuted: Bool = false
  ) async throws(RoomError) -> LocalTrackPublication {
    let limit = track.frames.codec == .vp8 ? 3 : 1
    guard (1...limit).contains(track.frames.layers.count) else {
      throw RoomError(
        .rejected, "the track \(track.name) has \(track.frames.layers.count) layers",
        advice: "Give it at least one, at most three of VP8 and one of VP9")
    }
    return try await publish(LocalTrackPublication(track, isMuted: isMuted, core: core))
  }

  /// Publishes sound that is encoded already, as `publish` of pictures.
  @discardableResult
  public func publish(
    _ track: EncodedAudioTrack, isMuted: Bool = false
  ) async throws(RoomError) -> LocalTrackPublication {
    try await publish(LocalTrackPublication(track, isMuted: isMuted, core: core))
  }

  private func publish(_ publication: LocalTrackPublication) async throws(RoomError) -> LocalTrackPublication {
    try publication.claim()
    do {
      try await core.publish(publication, by: client)
    } catch {
      publication.end()
      throw error
    }
    return publication
  }

  /// Withdraws a track.
  public func unpublish(_ publication: LocalTrackPublication) { core.unpublish(publication, by: client) }

  /// Sends bytes to the others' applications, at most 15000; `recipients`: only to them. Lost packets are sent again unless
  /// `isReliable` is false. Returns when they are on their way.
  public func publish(
    data: [UInt8], topic: String = "", isReliable: Bool = true, recipients: [ParticipantIdentity] = []
  ) async throws(RoomError) {
    try await send(OutgoingMessage(.data(data), topic: topic, isReliable: isReliable, recipients: recipients))
  }

  /// Writes to the others, as their applications' chat shows it: at most 65536 bytes of UTF-8.
  public func send(chat text: String) async throws(RoomError) {
    try await send(OutgoingMessage(.text(text), topic: OutgoingMessage.chatTopic))
  }

  /// Sends a text on a topic of the application's (a text stream): at most 65536 bytes of UTF-8.
  public func send(
    text: String, topic: String, recipients: [ParticipantIdentity] = []
  ) async throws(RoomError) {
    try await send(OutgoingMessage(.text(text), topic: topic, recipients: recipients))
  }

  private func send(_ message: OutgoingMessage) async throws(RoomError) {
    try core.checkSending()
    guard core.client != nil else { throw RoomError(.leftAlready, "the message was not sent") }
    try await client.send(message)
  }
}
