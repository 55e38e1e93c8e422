import MediaCore

/// What has arrived and whose instant has not come. `SessionCore` puts every event in when it arrives, and takes room events
/// out when they count and frames earlier, by the latency; what of the waiting ones has to be known before, it asks here.
///
///     taking --ended--> ending: nothing more is taken
struct SessionBacklog: Sendable {
  private var roomEvents = FIFO<(arrived: SessionTime, event: RoomEvent)>()
  private var frames = FIFO<(id: FrameID, arrived: SessionTime, frame: EncodedFrame, track: TrackID)>()
  /// The announcements among the room events, and the beginnings of pauses.
  private var announcements: [TrackID: [(arrived: SessionTime, track: Track)]] = [:]
  private var pauses: [SessionTime] = []
  /// The pause as the newest event has it.
  private var newestPause: PausePolicy?
  /// The end that has arrived, with which the recording will end; nil: more can come.
  private(set) var ending: (arrived: SessionTime, reason: SessionEnd)?

  /// How many room events wait.
  var roomEventCount: Int { roomEvents.count }

  /// True when the newest event leaves the recording in a cut.
  var endsInCut: Bool { newestPause == .cut }

  /// Puts an event in; true when it ends a redaction. What follows an end is left out.
  mutating func take(_ event: SessionEvent) -> Bool {
    guard ending == nil else { return false }
    switch event.payload {
    case .frame(let frame, let track): frames.append((FrameID(event.sequence), event.arrived, frame, track))
    case .room(let roomEvent):
      roomEvents.append((event.arrived, roomEvent))
      switch roomEvent {
      case .ended(let reason): ending = (event.arrived, reason)
      case .pause(let policy):
        newestPause = policy
        pauses.append(event.arrived)
      case .resume:
        defer { newestPause = nil }
        return newestPause == .redact
      case .track(let track): announcements[track.id, default: []].append((event.arrived, track))
      default: break
      }
    }
    return false
  }

  /// Takes the next room event out that arrived until `limit`.
  mutating func nextRoomEvent(until limit: SessionTime) -> (arrived: SessionTime, event: RoomEvent)? {
    guard let next = roomEvents.popFirst(where: { $0.arrived <= limit }) else { return nil }
    switch next.event {
    case .pause: pauses.removeFirst()
    case .track(let track):
      announcements[track.id]?.removeFirst()
      if announcements[track.id]?.isEmpty == true { announcements[track.id] = nil }
    default: break
    }
    return next
  }

  /// Takes the next frame out that arrived until `limit`.
  mutating func nextFrame(
    until limit: SessionTime
  ) -> (id: FrameID, arrived: SessionTime, frame: EncodedFrame, track: TrackID)? {
    frames.popFirst { $0.arrived <= limit }
  }

  /// A publication whose announcement waits and came no later than `arrival`. Later announcements don't count: how many of
  /// them are known depends on the rhythm of time.
  func announced(_ id: TrackID, until arrival: SessionTime) -> Track? {
    announcements[id]?.first.flatMap { $0.arrived <= arrival ? $0.track : nil }
  }

  /// When the next pause begins, if it begins until `limit`, which must be no later than the latency allows to know.
  func nextPause(until limit: SessionTime) -> SessionTime? { pauses.first.flatMap { $0 <= limit ? $0 : nil } }
}
