import Logging
import Session
import Signaling
import Transport

/// A bot's connection to one room, of any kind: it joins, receives every track, puts room events and encoded frames
/// into a sink, and comes back by itself when the connection is lost. Methods may be called on any thread.
public protocol RoomClient: RoomControl {
  /// Joins; returns when the bot is in the room (`.joined` was put into the sink). Cancelling the task leaves the room.
  /// Throws when the room could not be joined; nothing but `.ended` was put then.
  func join() async throws(RoomError)
  /// Somebody who knows says that the room may have begun: when it is waited for, it is tried at once.
  func roomMayHaveBegun()
}

extension RoomClient {
  /// Does nothing: who waits for a seat hears of nobody.
  public func roomMayHaveBegun() {}
}

extension RoomOptions {
  /// Makes the client that these options ask for; it does nothing before `join`. Throws when the options cannot be
  /// used. Events and frames go to `sink` on the loop's thread. `onStatus` is called there when the connection stands
  /// otherwise than before, or an error came up; `onEnd` exactly once when the session is over, with the reason and, when it is a fault, the error.
  public func makeClient(
    loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) throws(RoomError) -> any RoomClient {
    switch kind {
    case .liveKit:
      return LiveKitRoomClient(
        options: self, loop: loop, sink: sink, logger: logger, onStatus: onStatus, onEnd: onEnd)
    case .peer(let room, let role):
      return try PeerRoomClient(
        room: room, role: role, options: self, loop: loop, sink: sink, logger: logger, onStatus: onStatus, onEnd: onEnd)
    }
  }

  /// Makes the client of one side of a two-party room that sends, too, whatever `kind` says; `role` nil takes the seat that is free.
  /// `onPublishing` is called on the loop's thread when what is sent begins to arrive, and when it does not any more. Throws when the
  /// address or the profile cannot be used. For the rest see `makeClient`.
  public func makePeer(
    room: String, role: PeerRole?, profile: PeerProfile, loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) throws(RoomError) -> any TrackPublisher {
    try PeerRoomClient(
      room: room, role: role, profile: profile, options: self, loop: loop, sink: sink, logger: logger,
      onStatus: onStatus, onPublishing: onPublishing, onEnd: onEnd)
  }

  /// Makes the client of a participant that publishes, too; of LiveKit rooms only. `onPublishing` is called on the loop's
  /// thread. For the rest see `makeClient`.
  public func makePublisher(
    loop: MediaLoop, sink: any SessionSink, logger: Logger,
    onStatus: @escaping @Sendable (RoomStatus) -> Void = { _ in },
    onPublishing: @escaping @Sendable (PublishingEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SessionEnd, RoomError?) -> Void = { _, _ in }
  ) -> any RoomPublisher {
    LiveKitRoomClient(
      options: self, loop: loop, sink: sink, logger: logger, onStatus: onStatus, onPublishing: onPublishing,
      onEnd: onEnd)
  }
}
