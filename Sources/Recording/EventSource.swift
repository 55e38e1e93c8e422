import Glibc
import MediaCore
import Session

/// Where a recording takes its events from: a room, or a log of one. Confined to the recording's thread.
protocol EventSource: AnyObject {
  /// Adds the events that came to `events`, and says until which instant there can be no others. May wait, but not much
  /// longer than until `goal`. `pending`: how many events that were taken before still wait for their instant. Nil: the
  /// session has not begun.
  func take(
    into events: inout [SessionEvent], until goal: SessionTime, pending: Int
  ) throws(RecordingError) -> SessionTime?
  /// What time it is, where events come at their time; nil where there is no hurry.
  var now: SessionTime? { get }
  /// When somebody stopped the recording, as soon as that is known, however much comes before it.
  var stoppedAt: SessionTime? { get }
}

/// A room that is recorded while it happens.
final class LiveSource: EventSource {
  private let sequencer: Sequencer
  /// The longest sleep: an end is seen so soon.
  private static let nap = Duration.milliseconds(100)

  init(_ sequencer: Sequencer) { self.sequencer = sequencer }

  func take(into events: inout [SessionEvent], until goal: SessionTime, pending: Int) -> SessionTime? {
    let wait = min(max(goal - sequencer.now, .milliseconds(1)), Self.nap)
    usleep(UInt32(wait.microseconds))
    return sequencer.drain(into: &events, pending: pending)
  }

  var now: SessionTime? { sequencer.now }
  var stoppedAt: SessionTime? { sequencer.stoppedAt }
}
