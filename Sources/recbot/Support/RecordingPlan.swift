import Recording
import RecbotKit
import WebClient

/// One recording of one room, decided to the last value: what `join`, `record` and `demo` make of flags, settings and jobs,
/// and all that a `RecordingJob` has to know.
struct RecordingPlan {
  /// The room's name, as it is told.
  var room: String
  /// How the room is joined, and what is received of it.
  var connection: RoomOptions
  /// What is made of it, when it ends, and where it goes.
  var recording: RecordingSettings
  /// How it can be commanded while it runs.
  var commands: JobCommands
  /// How progress is told.
  var progress = ProgressMode.none
  /// Whom the sinks that go over a WebSocket dial, by their numbers.
  var relays: [Int: WebSocketAddress] = [:]
  /// What is wrong with sinks that were wanted and are left out, a line each.
  var sinkFaults: [String] = []
  /// Names rooms that have people when nobody is in this one; nil: who records can't know.
  var occupiedRooms: OccupiedRooms?
}
