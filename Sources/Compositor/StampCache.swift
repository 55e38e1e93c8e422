/// Keeps the stamps that were used last, within a bound of bytes. What the tiles on the canvas use is held by them.
struct StampCache {
  private var entries: [StampKey: Stamp] = [:]
  private var clock: UInt64 = 0
  private(set) var byteCount = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var count: Int { entries.count }

  /// The stamp of that key, drawn when it isn't kept. Nil when it cannot be drawn (out of memory).
  mutating func stamp(_ key: StampKey, draw: () -> Stamp?) -> Stamp? {
    clock &+= 1
    if let kept = entries[key] {
      kept.lastUse = clock
      return kept
    }
    guard let stamp = draw() else { return nil }
    keep(stamp, key)
    return stamp
  }

  /// Forgets everything.
  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    byteCount = 0
  }

  private mutating func keep(_ stamp: Stamp, _ key: StampKey) {
    stamp.lastUse = clock
    entries[key] = stamp
    byteCount += stamp.byteCount
    while byteCount > limit, entries.count > 1,
      let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      entries[oldest.key] = nil
      byteCount -= oldest.value.byteCount
    }
  }
}
