/// Keeps the stamps that were used last, within a bound of bytes. What the tiles on the canvas use is held by them.
struct StampCache {
  private var entries: [StampKey: (stamp: Stamp, lastUse: UInt64)] = [:]
  private var clock: UInt64 = 0
  private(set) var byteCount = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var count: Int { entries.count }

  /// The stamp of that key, drawn when it isn't kept. Nil when it cannot be drawn (out of memory).
  mutating func stamp(_ key: StampKey, draw: () -> Stamp?) -> Stamp? {
    clock &+= 1
    if let kept = entries[key]?.stamp {
      entries[key]?.lastUse = clock
      return kept
    }
    guard let stamp = draw() else { return nil }
    entries[key] = (stamp, clock)
    byteCount += stamp.byteCount
    while byteCount > limit, entries.count > 1,
      let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      entries[oldest.key] = nil
      byteCount -= oldest.value.stamp.byteCount
    }
    return stamp
  }
}

/// Everything that the look of a stamp depends on, besides the theme.
enum StampKey: Hashable {
  /// A name on a translucent pill.
  case label(text: String, isMuted: Bool, fontSize: Int, maximumWidth: Int)
  /// A disc with initials; a figure when they are empty.
  case avatar(initials: String, colour: Colour, diameter: Int)
  /// A line of text.
  case text(String, tone: TextTone, fontSize: Int, maximumWidth: Int)
  /// One rounded corner of a tile, with the outline of the talker when `ring` > 0.
  case corner(Corner, radius: Int, ring: Int)
}

/// What a line of text says.
enum TextTone: Hashable {
  /// The reason on a card.
  case reason
  /// "+N".
  case count
  /// On a dimmed picture: on a pill of its own.
  case overlay
  /// In the empty room.
  case notice
}

/// Which corner of a tile.
enum Corner: Hashable, CaseIterable {
  case upperLeft, upperRight, lowerLeft, lowerRight

  var isLeft: Bool { self == .upperLeft || self == .lowerLeft }
  var isUpper: Bool { self == .upperLeft || self == .upperRight }
}
