import Logging
import MediaCore
import Session
import SessionLog

/// The loop of every recording: takes events from where they come, lets the core plan, and has the plans carried out, until
/// the session ends.
struct Drive<Source: EventSource, Work: OutputHandler> {
  let source: Source
  let handler: Work
  let settings: SessionCore.Settings
  let logger: Logger
  /// Is given the events on their way to the core; nil: there is no log.
  var log: LogThread?
  /// Is told how the recording stands, after each few plans.
  let report: (RecordingProgress) -> Void

  /// How much of the session is planned before it is looked whether it has to end.
  private static var step: Duration { .milliseconds(100) }
  /// How often it is told that the machine does not keep up.
  private static var tellingInterval: Duration { .seconds(60) }

  /// Runs until the session ends, and says why; the handler is not finished then. `first`: events that came already.
  func run(_ core: consuming SessionCore, first: [SessionEvent]) throws(RecordingError) -> SessionEnd {
    var events = first
    var outputs: [SessionOutput] = []
    var now = SessionTime.zero
    var pace = Pace(settings)
    var toldAt: SessionTime?
    // However much there is to do, between any two things it is looked whether the end must not wait.
    func isOver() -> SessionEnd? {
      guard let now = source.now else { return nil }
      let stoppedAt = source.stoppedAt
      pace.look(at: now, stoppedAt: stoppedAt, fileTime: core.fileTime(ahead: now))
      return pace.isOver ? stoppedAt == nil ? .maxDuration : .stopped : nil
    }
    while true {
      for var event in events {
        if let end = isOver() { return end }
        handler.prepare(&event)
        log?.put(event)
        core.handle(event)
      }
      events.removeAll(keepingCapacity: true)
      var due = core.nextInstant + settings.latency + Burst.length
      while now >= due || core.isEnding {
        // In small steps: what is behind is caught up with little by little, and of each picture there is one at a time.
        let limit = core.nextInstant + Self.step
        let reached = min(now, limit + settings.latency)
        core.advance(to: reached, until: limit)
        while let output = core.pollOutput() { outputs.append(output) }
        Burst.order(&outputs)
        handler.beginBurst()
        for output in outputs {
          if case .ended(let end) = output { return end }
          if let end = isOver() { return end }
          if case .compose(let plan) = output, let now = source.now { pace.plans(plan.sessionTime, at: now) }
          let isLeftOut = pace.leavesOut(output)
          if let found = try handler.perform(output, isLate: isLeftOut) { core.take(found) }
          if isLeftOut, toldAt.map({ now - $0 >= Self.tellingInterval }) ?? true {
            toldAt = now
            logger.warning(
              "the machine does not keep up: pictures are left out", metadata: ["behind": "\(pace.lag.inSeconds)"])
          }
        }
        handler.tell(core, at: reached)
        outputs.removeAll(keepingCapacity: true)
        report(handler.progress)
        due = core.nextInstant + settings.latency + Burst.length
      }
      now = try source.take(into: &events, until: due, pending: core.waitingEvents) ?? now
    }
  }
}
