import JobsAPI

/// A moment, by the two clocks of a run.
struct RunTime: Hashable, Sendable {
  /// How long the run has lasted, by a clock that never leaps: pauses and silences are counted in it.
  var elapsed: Duration
  /// The calendar's time, in which jobs have deadlines.
  var calendar: Timestamp
}
