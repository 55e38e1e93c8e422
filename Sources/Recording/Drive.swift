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
  /// Says what the recording does without for lack of processor time; nil: nothing ever is.
  var degradation: Degradation?
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
    var degradation = degradation
    // However much there is to do, between any two things it is looked whether the end must not wait.
    func isOver() -> SessionEnd? {
      guard let now = source.now else { return nil }
      let stoppedAt = source.stoppedAt
      pace.look(at: now, stoppedAt: stoppedAt, fileTime: core.fileTime(ahead: now))
      return pace.isOver ? stoppedAt == nil ? .maxDuration : .stopped : nil
    }
    // Does without more, or less, by what the processor has to give.
    func degrade() throws(RecordingError) {
      guard let now = source.now, let wasExhausted = degradation?.isExhausted else { return }
      if let step = degradation?.look(at: now, lag: pace.lag) {
        // What is logged is to be composed again, at its best.
        core.degrade(to: step, layers: log == nil)
        try handler.degrade(to: step)
        logger.notice("the recording saves processor time: \(step.words)", metadata: ["degradation": "\(step.name)"])
      }
      if !wasExhausted, degradation?.isExhausted ?? false {
        logger.warning("the recording needs more of the processor than it may have, whatever it does without")
      }
    }
    while true {
      for var event in events {
        if let end = isOver() { return end }
        handler.prepare(&event)
        log?.put(event)
        core.handle(event)
      }
      events.removeAll(keepingCapacity: true)
      while now >= core.nextInstant + settings.latency + Burst.length || core.isEnding {
        // In small steps: what is behind is caught up with little by little, and of each picture there is one at a time.
        let limit = core.nextInstant + Self.step
        let reached = min(now, limit + settings.latency)
        core.advance(to: reached, until: limit)
        while let output = core.pollOutput() { outputs.append(output) }
        Burst.order(&outputs)
        handler.beginBurst(outputs)
        for output in outputs {
          if case .ended(let end) = output { return end }
          if let end = isOver() { return end }
          var isSpared = false
          if case .compose(let plan) = output, let now = source.now {
            isSpared = degradation?.spares(plan) ?? false
            // Of those that are wanted some are kept, however late it is.
            if !isSpared { pace.plans(plan.sessionTime, at: now) }
          }
          let isLeftOut = !isSpared && pace.leavesOut(output)
          if let found = try handler.perform(output, isLate: isLeftOut) { core.take(found) }
          if isLeftOut { degradation?.losesPicture() }
          if isLeftOut, toldAt.map({ now - $0 >= Self.tellingInterval }) ?? true {
            toldAt = now
            logger.warning(
              "the machine does not keep up: pictures are left out", metadata: ["behind": "\(pace.lag.inSeconds)"])
          }
        }
        handler.tell(core, at: reached)
        outputs.removeAll(keepingCapacity: true)
        try degrade()
        report(handler.progress)
      }
      let due = core.nextInstant + settings.latency + (source.isQuiet ? Burst.quietLength : Burst.length)
      now = try source.take(into: &events, until: due, pending: core.waitingEvents) ?? now
    }
  }
}
