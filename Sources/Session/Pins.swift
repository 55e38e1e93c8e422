import Layouts

/// What the operator pinned and wants in the large place, and which tiles that means among the people who are there.
struct Pins: Sendable {
  /// What is pinned, in that order.
  private(set) var selectors: [TileSelector] = []
  /// What is wanted in the large place.
  private(set) var spotlight: TileSelector?
  /// The tiles that are meant, and when in the life of `People` that was found out; nil: it has to be found out anew.
  private var found: (keys: [TileKey], spotlight: TileKey?, revision: UInt64)?

  /// Pins a tile; false when it is pinned.
  mutating func pin(_ selector: TileSelector) -> Bool {
    guard !selectors.contains(selector) else { return false }
    selectors.append(selector)
    found = nil
    return true
  }

  /// Lets a tile go, or all (nil); false when there was nothing to let go.
  mutating func unpin(_ selector: TileSelector?) -> Bool {
    let before = selectors.count
    selectors.removeAll { selector == nil || $0 == selector }
    guard selectors.count != before else { return false }
    found = nil
    return true
  }

  /// Puts a tile into the large place, or none (nil); false when it is so already.
  mutating func spotlight(_ selector: TileSelector?) -> Bool {
    guard spotlight != selector else { return false }
    spotlight = selector
    found = nil
    return true
  }

  /// The tiles that are meant, if their owners are in the room.
  mutating func tiles(among people: People) -> (keys: [TileKey], spotlight: TileKey?) {
    if let found, found.revision == people.revision { return (found.keys, found.spotlight) }
    func key(_ selector: TileSelector) -> TileKey? {
      people.match(selector).map { selector.isScreenShare ? .screenShare($0) : .camera($0) }
    }
    let made = (keys: selectors.compactMap(key), spotlight: spotlight.flatMap(key))
    found = (made.keys, made.spotlight, people.revision)
    return made
  }
}
