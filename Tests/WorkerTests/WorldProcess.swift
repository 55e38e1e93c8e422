import JobsAPI

/// A process of a recording, as its worker sees it.
final class WorldProcess {
  let order: RecordingOrder
  let startedAt: Duration
  /// What it was told, and what it has made of it.
  var told: [JobCommand]
  var confirmed: Int64 = 0
  var refusals: [CommandRefusal] = []
  var isStopping = false
  /// It says nothing more, and does nothing.
  var isSilent = false
  var isGone = false

  init(_ order: RecordingOrder, at now: Duration) {
    (self.order, startedAt, told) = (order, now, order.commands)
  }
}
