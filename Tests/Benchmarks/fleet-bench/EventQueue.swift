import JobsAPI

/// What is to happen, the earliest first; what is due at the same time in the order in which it was put in. A binary heap.
struct EventQueue<Event> {
  private var entries: [(at: Timestamp, number: UInt64, event: Event)] = []
  private var next: UInt64 = 0

  mutating func put(_ event: Event, at time: Timestamp) {
    entries.append((time, next, event))
    next += 1
    var child = entries.count - 1
    while child > 0, isBefore(child, (child - 1) / 2) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func take() -> (at: Timestamp, event: Event)? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return (first.at, first.event) }
    entries[0] = last
    var parent = 0
    while 2 * parent + 1 < entries.count {
      let (one, other) = (2 * parent + 1, 2 * parent + 2)
      let least = other < entries.count && isBefore(other, one) ? other : one
      guard isBefore(least, parent) else { break }
      entries.swapAt(least, parent)
      parent = least
    }
    return (first.at, first.event)
  }

  private func isBefore(_ one: Int, _ other: Int) -> Bool {
    (entries[one].at, entries[one].number) < (entries[other].at, entries[other].number)
  }
}
