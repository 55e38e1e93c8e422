import MediaCore
import Session

/// Looks at the load of a live recording now and then, and has `LoadControl` decide. Confined to the recording's thread.
struct Degradation {
  private var control: LoadControl
  /// What is behind on purpose.
  private let latency: Duration
  /// Processor time of the process so far.
  private let processorTime: () -> Duration
  private var last: (at: SessionTime, processorTime: Duration)?
  private var losesPictures = false
  private var sparing: Sparing

  /// `budget`: cores; nil: whatever there is.
  init(_ settings: SessionCore.Settings, budget: Double?, processorTime: @escaping () -> Duration) {
    control = LoadControl(budget: budget)
    latency = settings.latency + Burst.length
    self.processorTime = processorTime
    sparing = Sparing(framesPerSecond: settings.framesPerSecond)
  }

  /// True once even the last step has not been enough.
  var isExhausted: Bool { control.isExhausted }

  /// True when the picture of this plan is done without. Of each plan once.
  mutating func spares(_ plan: FramePlan) -> Bool { sparing.leavesOut(plan, by: control.step) }

  /// A picture is left out, because the recording is too far behind.
  mutating func losesPicture() { losesPictures = true }

  /// It is `now`, and the newest plan was so far behind. Gives what is done without from now on, when that is something else.
  mutating func look(at now: SessionTime, lag: Duration) -> DegradationStep? {
    guard let last else {
      self.last = (now, processorTime())
      return nil
    }
    guard now - last.at >= LoadControl.interval else { return nil }
    let used = processorTime()
    self.last = (now, used)
    defer { losesPictures = false }
    return control.look(
      at: .init(
        share: (used - last.processorTime) / (now - last.at), behind: max(.zero, lag - latency),
        losesPictures: losesPictures))
  }
}
