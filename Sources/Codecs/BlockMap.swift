package import MediaCore

/// Says for each block of 16x16 pixels of a stream of pictures of one size how it is coded: as what moves, as what is still (the same
/// as in the pictures before), or as what is refreshed (of what hardly changes a twentieth in turn, so that all of it gets better than
/// it was coded when it appeared). Confined to one thread.
///
/// A few rows of each block stand for it, so that looking costs little: what changes between these rows only counts as still, and is
/// then coded better than it need be, never worse. Nothing is allocated after `init`.
package final class BlockMap {
  /// How a block is coded.
  package enum Kind {
    /// With the quantizer of the picture.
    package static let moving: UInt8 = 0
    /// With a fine one.
    package static let still: UInt8 = 1
    /// With half of the picture's.
    package static let refreshed: UInt8 = 2
  }

  /// Blocks in a row, and rows of them.
  package let columns: Int
  /// See `columns`.
  package let rows: Int
  /// A `Kind` for each block, row by row.
  package let map: UnsafeMutablePointer<UInt8>

  /// The rows that stand for a block, as they were in the picture before: six times 16 bytes.
  private let seen: UnsafeMutablePointer<SIMD16<UInt8>>
  /// Pictures in a row in which a block was the same, at most `settled`.
  private let ages: UnsafeMutablePointer<UInt8>
  /// Whether a block hardly changed.
  private let isCalm: UnsafeMutablePointer<Bool>
  /// Whether a block was refreshed when its turn was last.
  private let isFresh: UnsafeMutablePointer<Bool>
  private let width: Int
  private let height: Int
  private var count: Int { columns * rows }
  /// The block whose turn it is to be refreshed.
  private var turn = 0

  /// So many pictures in a row must look alike.
  private static let settled: UInt8 = 4
  /// One block in so many is refreshed with a picture: as libvpx does it of itself where it is given no map.
  private static let turns = 20
  /// A block hardly changes when none of these bits is set in a difference: less than 16.
  private static let large: UInt64 = 0xF0F0_F0F0_F0F0_F0F0

  /// Makes the map of pictures of a size in pixels, in which everything moves yet.
  package init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    columns = (width + 15) / 16
    rows = (height + 15) / 16
    let count = columns * rows
    func room<T>(_ value: T, _ count: Int) -> UnsafeMutablePointer<T> {
      let room = UnsafeMutablePointer<T>.allocate(capacity: count)
      room.initialize(repeating: value, count: count)
      return room
    }
    map = room(Kind.moving, count)
    seen = room(.zero, count * 6)
    ages = room(0, count)
    isCalm = room(false, count)
    isFresh = room(false, count)
  }

  deinit {
    map.deallocate()
    seen.deallocate()
    ages.deallocate()
    isCalm.deallocate()
    isFresh.deallocate()
  }

  /// Looks at the next picture, which must have the size. Gives true when the map is different from before. Blocks that the
  /// edge cuts always move.
  package func look(at picture: Picture) -> Bool {
    var isChanged = false
    for row in 0..<(height / 16) {
      let y = UnsafeRawPointer(picture.y + (row * 16 + 2) * picture.strideY)
      let u = UnsafeRawPointer(picture.u + (row * 8 + 2) * picture.strideUV)
      let v = UnsafeRawPointer(picture.v + (row * 8 + 2) * picture.strideUV)
      for column in 0..<(width / 16) {
        let index = row * columns + column
        let difference = difference(
          of: index, y + column * 16, picture.strideY, u + column * 8, v + column * 8, picture.strideUV)
        let age = difference == 0 ? min(ages[index] + 1, Self.settled) : 0
        ages[index] = age
        isCalm[index] = difference & Self.large == 0
        isChanged = set(index, to: age == Self.settled ? Kind.still : Kind.moving) || isChanged
      }
    }
    return refresh() || isChanged
  }

  /// Which bits are set in a difference of a block from how it was seen last: of rows 2, 6, 10 and 14 of the brightness, 2 and 6 of the
  /// colours.
  @inline(__always)
  private func difference(
    of index: Int, _ y: UnsafeRawPointer, _ strideY: Int, _ u: UnsafeRawPointer, _ v: UnsafeRawPointer, _ strideUV: Int
  ) -> UInt64 {
    let before = seen + index * 6
    var bits = SIMD16<UInt8>.zero
    func look(_ line: Int, _ now: SIMD16<UInt8>) {
      let sum = now &- before[line]
      let isLess = unsafeBitCast(now .< before[line], to: SIMD16<UInt8>.self)
      bits |= (sum ^ isLess) &- isLess
      before[line] = now
    }
    for line in 0..<4 { look(line, (y + line * 4 * strideY).loadUnaligned(as: SIMD16<UInt8>.self)) }
    func halves(_ plane: UnsafeRawPointer) -> SIMD16<UInt8> {
      unsafeBitCast(
        SIMD2(plane.loadUnaligned(as: UInt64.self), (plane + 4 * strideUV).loadUnaligned(as: UInt64.self)),
        to: SIMD16<UInt8>.self)
    }
    look(4, halves(u))
    look(5, halves(v))
    let words = unsafeBitCast(bits, to: SIMD2<UInt64>.self)
    return words[0] | words[1]
  }

  /// Has the next twentieth of the calm blocks refreshed, each in every second of its turns.
  private func refresh() -> Bool {
    var isChanged = false
    var left = count / Self.turns
    for _ in 0..<count where left > 0 {
      if isCalm[turn], map[turn] == Kind.moving {
        isFresh[turn].toggle()
        if isFresh[turn] {
          isChanged = set(turn, to: Kind.refreshed) || isChanged
          left -= 1
        }
      }
      turn = turn + 1 < count ? turn + 1 : 0
    }
    return isChanged
  }

  private func set(_ index: Int, to kind: UInt8) -> Bool {
    if map[index] == kind { return false }
    map[index] = kind
    return true
  }
}
