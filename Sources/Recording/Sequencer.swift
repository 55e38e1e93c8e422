import Glibc
import MediaCore
import Platform
import Session
import Synchronization

/// Gives every payload its place in the stream: a number and the time of arrival. The order is that of the calls.
/// The session begins, at time zero, with `.joined`; what comes before it is dropped. May be called on any thread.
///
/// The queue is bounded: when the recording does not take what comes (a stalled disk), frames are dropped and
/// counted. Room events never are; whoever brings them reads no further while too many wait (`isCrowded`). What comes after a dropped frame of its track is marked as following a loss, so that
/// nothing is predicted from a picture that isn't there.
public final class Sequencer: SessionSink {
  private struct State {
    var epoch: Instant?
    var sequence: UInt64 = 0
    var waiting: [SessionEvent] = []
    /// How many of them are frames.
    var frames = 0
    /// Events that the recording has taken and whose instant has not come.
    var pending = 0
    var stoppedAt: SessionTime?
    var droppedFrames: UInt64 = 0
    /// Tracks whose latest frames were dropped.
    var interrupted: Set<TrackID> = []
    /// What the transport says of each track.
    var counts: [TrackID: ReceptionCounts] = [:]
    /// Whether the recording sleeps until something comes.
    var isAwaited = false
  }

  private let state = Mutex(State())
  // Nil when there are no descriptors left: the recording then looks often.
  private let arrival = Waker()
  private let limit: Int
  /// So many events may wait, here and in the recording, before those who bring them are held up.
  private static let crowd = 16_384
  /// The longest sleep of who cannot be woken.
  private static let nap = Duration.milliseconds(100)
  /// Tracks that are counted.
  private static let mostCounted = 16_384

  /// Keeps at most `limit` frames waiting: 20 s of nine people at 30 pictures and 50 sounds a second by default.
  public init(limit: Int = 16_384) { self.limit = limit }

  /// Takes one payload.
  public func put(_ payload: SessionEvent.Payload) {
    let now = MonotonicClock.now
    let isAwaited = state.withLock { state in
      if state.epoch == nil, case .room(.joined) = payload { state.epoch = now }
      guard let epoch = state.epoch else { return false }
      var payload = payload
      if case .frame(var frame, let track) = payload {
        guard state.frames < limit else {
          state.droppedFrames += 1
          state.interrupted.insert(track)
          return false
        }
        if !state.interrupted.isEmpty, state.interrupted.remove(track) != nil {
          frame.followsLoss = true
          payload = .frame(frame, of: track)
        }
        state.frames += 1
      }
      let arrived = SessionTime.zero + (now - epoch)
      if state.stoppedAt == nil, case .room(.ended(.stopped)) = payload { state.stoppedAt = arrived }
      state.waiting.append(SessionEvent(sequence: state.sequence, arrived: arrived, payload: payload))
      state.sequence += 1
      // What the network is like is told each second.
      if case .room(.network) = payload { return false }
      defer { state.isAwaited = false }
      return state.isAwaited
    }
    if isAwaited { arrival?.wake() }
  }

  /// Waits until something comes, but no longer than so. The recording's thread.
  func wait(atMost limit: Duration) {
    let isEmpty = state.withLock { state in
      state.isAwaited = state.waiting.isEmpty
      return state.isAwaited
    }
    guard isEmpty else { return }
    let isWoken = arrival?.wait(atMost: limit)
    if isWoken == nil { usleep(UInt32(min(limit, Self.nap).microseconds)) }
    state.withLock { $0.isAwaited = false }
  }

  /// Ends a wait, though nothing has come.
  func interrupt() { arrival?.wake() }

  /// Swaps the waiting events with `events` (which must be empty; its storage is used again), and says what time it
  /// is. Nil before the session has begun. Events that come later are stamped with that time or a later one. `pending`:
  /// how many of those that were taken before still wait for their instant.
  func drain(into events: inout [SessionEvent], pending: Int = 0) -> SessionTime? {
    state.withLock { state in
      guard let epoch = state.epoch else { return nil }
      swap(&state.waiting, &events)
      (state.frames, state.pending) = (0, pending)
      return .zero + (MonotonicClock.now - epoch)
    }
  }

  /// Adds to what the transport says of a track.
  public func count(_ counts: ReceptionCounts, of track: TrackID) {
    state.withLock { state in
      guard state.counts[track] != nil || state.counts.count < Self.mostCounted else { return }
      state.counts[track, default: ReceptionCounts()] += counts
    }
  }

  /// What the transport says of each track so far.
  var counts: [TrackID: ReceptionCounts] { state.withLock { $0.counts } }

  /// What time it is in the session; zero before it has begun.
  var now: SessionTime {
    let epoch = state.withLock { $0.epoch }
    return epoch.map { .zero + (MonotonicClock.now - $0) } ?? .zero
  }

  /// When somebody stopped the recording, as soon as that is in the stream, however much waits before it.
  var stoppedAt: SessionTime? { state.withLock { $0.stoppedAt } }

  /// True while more events wait for the recording than it should have to take.
  public var isCrowded: Bool { state.withLock { $0.waiting.count - $0.frames + $0.pending > Self.crowd } }

  /// Frames dropped because nobody took them.
  public var droppedFrames: UInt64 { state.withLock { $0.droppedFrames } }
}
