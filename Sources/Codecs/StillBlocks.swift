import MediaCore

/// Which blocks of 16x16 pixels of a stream of pictures of one size are still: the same as in the pictures before. Confined
/// to one thread.
///
/// A few rows of each block stand for it, so that looking costs little and no picture is kept: what changes between these rows
/// only counts as still, and is then coded better than it need be, never worse. Nothing is allocated after `init`.
final class StillBlocks {
  /// Blocks in a row, and rows of them.
  let columns: Int
  /// See `columns`.
  let rows: Int
  /// A byte for each block, row by row: 1 where it is still, else 0.
  let map: UnsafeMutablePointer<UInt8>

  private let seen: UnsafeMutablePointer<UInt64>
  private let ages: UnsafeMutablePointer<UInt8>
  private let width: Int
  private let height: Int

  /// So many pictures in a row must look alike.
  private static let settled: UInt8 = 2

  /// Makes the map of pictures of a size in pixels, in which nothing is still yet.
  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    columns = (width + 15) / 16
    rows = (height + 15) / 16
    let count = columns * rows
    map = .allocate(capacity: count)
    map.initialize(repeating: 0, count: count)
    seen = .allocate(capacity: count)
    seen.initialize(repeating: 0, count: count)
    ages = .allocate(capacity: count)
    ages.initialize(repeating: 0, count: count)
  }

  deinit {
    map.deallocate()
    seen.deallocate()
    ages.deallocate()
  }

  /// Looks at the next picture, which must have the size. Gives true when the map is different from before. Blocks that the
  /// edge cuts are never still.
  func look(at picture: Picture) -> Bool {
    var isChanged = false
    for row in 0..<(height / 16) {
      let y = picture.y + row * 16 * picture.strideY
      let u = picture.u + row * 8 * picture.strideUV
      let v = picture.v + row * 8 * picture.strideUV
      for column in 0..<(width / 16) {
        let index = row * columns + column
        var sum: UInt64 = 0
        // Rows 2, 6, 10 and 14 of the brightness, 2 and 6 of the colours.
        var line = UnsafeRawPointer(y + 2 * picture.strideY + column * 16)
        for _ in 0..<4 {
          sum = Self.mixed(sum, line.loadUnaligned(as: UInt64.self))
          sum = Self.mixed(sum, line.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
          line += 4 * picture.strideY
        }
        line = UnsafeRawPointer(u + 2 * picture.strideUV + column * 8)
        sum = Self.mixed(sum, line.loadUnaligned(as: UInt64.self))
        sum = Self.mixed(sum, line.loadUnaligned(fromByteOffset: 4 * picture.strideUV, as: UInt64.self))
        line = UnsafeRawPointer(v + 2 * picture.strideUV + column * 8)
        sum = Self.mixed(sum, line.loadUnaligned(as: UInt64.self))
        sum = Self.mixed(sum, line.loadUnaligned(fromByteOffset: 4 * picture.strideUV, as: UInt64.self))
        let age = sum == seen[index] ? min(ages[index] + 1, Self.settled) : 0
        seen[index] = sum
        ages[index] = age
        let isStill: UInt8 = age == Self.settled ? 1 : 0
        if map[index] != isStill {
          map[index] = isStill
          isChanged = true
        }
      }
    }
    return isChanged
  }

  private static func mixed(_ sum: UInt64, _ value: UInt64) -> UInt64 {
    (sum ^ value) &* 0x9E37_79B9_7F4A_7C15 ^ (sum >> 29)
  }
}
