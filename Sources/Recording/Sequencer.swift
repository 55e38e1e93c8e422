import Glibc
import MediaCore
import Session
import Synchronization

/// Gives every payload its place in the stream: a number and the time of arrival. The order is that of the calls.
/// The session begins, at time zero, with `.joined`; what comes before it is dropped. May be called on any thread.
///
/// The queue is bounded: when the recording does not take what comes (a stalled disk), frames are dropped and
/// counted, room events never are. What comes after a dropped frame of its track is marked as following a loss, so that
/// nothing is predicted from a picture that isn't there.
public final class Sequencer: SessionSink {
  private struct State {
    var epoch: Int64?
    var sequence: UInt64 = 0
    var waiting: [SessionEvent] = []
    var droppedFrames: UInt64 = 0
    /// Tracks whose latest frames were dropped.
    var interrupted: Set<TrackID> = []
  }

  private let state = Mutex(State())
  private let limit: Int

  /// Keeps at most `limit` frames waiting: 20 s of nine people at 30 pictures and 50 sounds a second by default.
  public init(limit: Int = 16_384) { self.limit = limit }

  /// Takes one payload.
  public func put(_ payload: SessionEvent.Payload) {
    let now = Sequencer.monotonicNow()
    state.withLock { state in
      if state.epoch == nil, case .room(.joined) = payload { state.epoch = now }
      guard let epoch = state.epoch else { return }
      var payload = payload
      if case .frame(var frame) = payload {
        guard state.waiting.count < limit else {
          state.droppedFrames += 1
          state.interrupted.insert(frame.track)
          return
        }
        if !state.interrupted.isEmpty, state.interrupted.remove(frame.track) != nil {
          frame.followsLoss = true
          payload = .frame(frame)
        }
      }
      state.waiting.append(
        SessionEvent(sequence: state.sequence, arrived: SessionTime(nanoseconds: now - epoch), payload: payload))
      state.sequence += 1
    }
  }

  /// Swaps the waiting events with `events` (which must be empty; its storage is used again), and says what time it
  /// is. Nil before the session has begun. Events that come later are stamped with that time or a later one.
  func drain(into events: inout [SessionEvent]) -> SessionTime? {
    state.withLock { state in
      guard let epoch = state.epoch else { return nil }
      swap(&state.waiting, &events)
      return SessionTime(nanoseconds: Sequencer.monotonicNow() - epoch)
    }
  }

  /// What time it is in the session; zero before it has begun.
  var now: SessionTime {
    let epoch = state.withLock { $0.epoch }
    return epoch.map { SessionTime(nanoseconds: Sequencer.monotonicNow() - $0) } ?? .zero
  }

  /// Frames dropped because nobody took them.
  public var droppedFrames: UInt64 { state.withLock { $0.droppedFrames } }

  /// Nanoseconds on the monotonic clock.
  static func monotonicNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
