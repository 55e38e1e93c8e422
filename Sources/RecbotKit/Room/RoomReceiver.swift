import Logging
import MediaCore
import Rooms
import Session
import Transport

/// A room of any kind, LiveKit's or of two, that a bot is in only to record it: all that the room tells, and each frame as it was
/// encoded, goes in one order into one sink. It comes back by itself when the connection is lost. May be used on any thread.
///
/// ``Room`` and ``PeerRoom`` are for bots that look at people and tracks one by one.
package final class RoomReceiver: Sendable {
  private let loop: MediaLoop
  private let client: any RoomClient
  private let end: AsyncStream<Void>

  /// Does nothing before `join`. Events and frames go to `sink` on the room's thread. There, too, `onStatus` is called when the connection
  /// stands otherwise than before, or an error came up; and `onEnd` once, when all is over, with the error if it was one. Throws when the
  /// options cannot be used.
  package init(
    _ options: RoomOptions, sink: any SessionSink, logger: Logger, onStatus: @escaping @Sendable (RoomStatus) -> Void,
    onEnd: @escaping @Sendable (RoomError?) -> Void
  ) throws(RoomError) {
    let (loop, (end, ending)) = (MediaLoop(name: "room", rest: RoomThreads.rest), AsyncStream.makeStream(of: Void.self))
    do {
      client = try options.makeClient(loop: loop, sink: sink, logger: logger, onStatus: onStatus) { _, error in
        onEnd(error)
        ending.finish()
      }
    } catch {
      loop.stop()
      throw error
    }
    (self.loop, self.end) = (loop, end)
  }

  /// What a recording asks of the room.
  package var control: any RoomControl { client }

  /// Joins; returns when the bot is in the room. Cancelling the task leaves it. Throws when it could not be joined.
  package func join() async throws(RoomError) { try await client.join() }

  /// Somebody who knows says that the room may have begun: when it is waited for, it is tried at once.
  package func roomMayHaveBegun() { client.roomMayHaveBegun() }

  /// Begins to leave, so that the server need not wait for the bot. Leaving twice is no fault.
  package func leave() { client.leave() }

  /// Leaves, waits until that is done, at most so long, and ends the room's thread: nothing comes into the sink afterwards.
  package func close(within limit: Duration) async {
    client.leave()
    await withTaskGroup { group in
      group.addTask { [end] in for await _ in end {} }
      group.addTask { try? await Task.sleep(for: limit) }
      await group.next()
      group.cancelAll()
    }
    loop.stop()
  }
}
