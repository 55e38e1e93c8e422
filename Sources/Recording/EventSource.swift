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
  /// True while neither pictures nor sound have come for a while: what is planned may wait, until something comes.
  var isQuiet: Bool { get }
}

/// A room that is recorded while it happens.
final class LiveSource: EventSource {
  private let sequencer: Sequencer
  private let mayRest: Bool
  /// When a picture or sound came last, or the session began; nil: it has not.
  private var cameAt: SessionTime?
  /// The longest sleep while much comes: an end is seen so soon.
  private static let nap = Duration.milliseconds(100)
  /// No picture and no sound has come for so long when it is quiet.
  private static let quietAfter = Duration.seconds(1)

  /// `mayRest`: nobody follows what is recorded so closely that it must not come late while nothing happens.
  init(_ sequencer: Sequencer, mayRest: Bool) { (self.sequencer, self.mayRest) = (sequencer, mayRest) }

  func take(into events: inout [SessionEvent], until goal: SessionTime, pending: Int) -> SessionTime? {
    let wait = max(goal - sequencer.now, .milliseconds(1))
    if isQuiet {
      sequencer.wait(atMost: wait)
    } else {
      usleep(UInt32(min(wait, Self.nap).microseconds))
    }
    let now = sequencer.drain(into: &events, pending: pending)
    let isFrame: (SessionEvent) -> Bool = { if case .frame = $0.payload { true } else { false } }
    if cameAt == nil || events.contains(where: isFrame) { cameAt = now }
    return now
  }

  var now: SessionTime? { sequencer.now }
  var stoppedAt: SessionTime? { sequencer.stoppedAt }
  var isQuiet: Bool {
    guard let cameAt else { return true }
    return mayRest && sequencer.now - cameAt > Self.quietAfter
  }
}
