import MediaCore

/// A timer of a `MediaLoop`. Confined to the loop, which keeps it until it has ended.
public final class LoopTimer {
  let interval: Duration
  let repeats: Bool
  fileprivate(set) var due: Instant
  fileprivate var sequence: UInt64 = 0
  // Nil once the timer has ended.
  private(set) var fire: (() -> Void)?

  init(interval: Duration, repeats: Bool, now: Instant, fire: @escaping () -> Void) {
    self.interval = max(.zero, interval)
    self.repeats = repeats
    self.fire = fire
    due = now + self.interval
    // Those of one loop, and of other programs, then wake the machine once.
    if repeats, interval >= .seconds(1) { due = Instant(nanoseconds: due.nanoseconds / 1_000_000_000 * 1_000_000_000) }
  }

  /// Ends the timer; it does not fire any more. Harmless when it has ended already.
  public func cancel() { fire = nil }

  /// Sets the next beat. Beats that were missed are not made up for.
  func advance(now: Instant) { due = max(due + interval, now) }
}

/// The timers of a loop by the time at which they are due; those of one time in the order of their making. A binary
/// heap: its first is the next one due. A cancelled timer stays until its time has come.
struct TimerQueue {
  private var heap: [LoopTimer] = []
  private var sequence: UInt64 = 0

  var next: LoopTimer? { heap.first }

  mutating func add(_ timer: LoopTimer) {
    sequence &+= 1
    timer.sequence = sequence
    heap.append(timer)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard TimerQueue.comesFirst(heap[child], heap[parent]) else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the next timer out if it is due.
  mutating func takeDue(now: Instant) -> LoopTimer? {
    guard let first = heap.first, first.due <= now else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in (2 * parent + 1)...(2 * parent + 2) where child < heap.count {
        if TimerQueue.comesFirst(heap[child], heap[least]) { least = child }
      }
      guard least != parent else { return first }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  /// Cancels all and lets them go.
  mutating func removeAll() {
    for timer in heap { timer.cancel() }
    heap = []
  }

  private static func comesFirst(_ a: LoopTimer, _ b: LoopTimer) -> Bool {
    a.due != b.due ? a.due < b.due : a.sequence < b.sequence
  }
}
