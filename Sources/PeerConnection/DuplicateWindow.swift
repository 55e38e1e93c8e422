/// Remembers which of the last packets of a stream were seen. Packets before the window count as seen: they are too
/// old to be of use.
struct DuplicateWindow: Sendable {
  /// Packets that are remembered.
  static let size: Int64 = 2048
  private var words = [UInt64](repeating: 0, count: Int(size / 64))
  private var highest: Int64?

  /// Notes a packet by its extended sequence number. False when it was there before.
  mutating func insert(_ sequence: Int64) -> Bool {
    guard let highest else {
      self.highest = sequence
      set(sequence)
      return true
    }
    if sequence > highest {
      let step = sequence &- highest
      if step >= Self.size || step < 0 {
        for index in words.indices { words[index] = 0 }
      } else {
        for number in (highest + 1)...sequence { clear(number) }
      }
      self.highest = sequence
      set(sequence)
      return true
    }
    guard highest &- sequence < Self.size else { return false }
    let mask = UInt64(1) << UInt64(sequence & 63)
    let index = Self.index(sequence)
    if words[index] & mask != 0 { return false }
    words[index] |= mask
    return true
  }

  private static func index(_ sequence: Int64) -> Int { Int((sequence & (size - 1)) >> 6) }
  private mutating func set(_ sequence: Int64) { words[Self.index(sequence)] |= UInt64(1) << UInt64(sequence & 63) }
  private mutating func clear(_ sequence: Int64) {
    words[Self.index(sequence)] &= ~(UInt64(1) << UInt64(sequence & 63))
  }
}
