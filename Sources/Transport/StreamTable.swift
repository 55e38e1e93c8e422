/// The sources for which libsrtp2 keeps state in one direction: a bounded number, however many numbers a peer that has
/// the keys makes up. libsrtp2 looks them up one by one and never forgets by itself. A value.
///
/// When it is full, a source goes of which nothing came since its place was last looked at, so that those that flow
/// stay: with the state would go the count of wraps of the sequence number, which cannot be learned again.
struct StreamTable {
  /// Most sources.
  static let capacity = 4096

  private struct Slot {
    var ssrc: UInt32
    var hasMedia: Bool
    var isUsed = false
  }

  private var slots: [Slot] = []
  private var places: [UInt32: Int] = [:]
  private var hand = 0

  /// Sources that are in the table.
  var count: Int { slots.count }

  /// Whether RTP of this source was accepted before, so that its count of wraps is known.
  func hasMedia(_ ssrc: UInt32) -> Bool { places[ssrc].map { slots[$0].hasMedia } ?? false }

  /// A packet of this source was accepted. Gives the source that must be forgotten for it, if any.
  mutating func accepted(_ ssrc: UInt32, isMedia: Bool) -> UInt32? {
    if let place = places[ssrc] {
      slots[place].isUsed = true
      if isMedia { slots[place].hasMedia = true }
      return nil
    }
    let slot = Slot(ssrc: ssrc, hasMedia: isMedia)
    guard slots.count >= StreamTable.capacity else {
      places[ssrc] = slots.count
      slots.append(slot)
      return nil
    }
    while slots[hand].isUsed {
      slots[hand].isUsed = false
      hand = (hand + 1) % slots.count
    }
    let gone = slots[hand].ssrc
    places[gone] = nil
    places[ssrc] = hand
    slots[hand] = slot
    hand = (hand + 1) % slots.count
    return gone
  }

  /// Forgets a source.
  mutating func remove(_ ssrc: UInt32) {
    guard let place = places.removeValue(forKey: ssrc), let last = slots.popLast() else { return }
    if place < slots.count {
      slots[place] = last
      places[last.ssrc] = place
    }
    if hand >= slots.count { hand = 0 }
  }
}
