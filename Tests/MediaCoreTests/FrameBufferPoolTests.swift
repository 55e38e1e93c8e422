import MediaCore
import Testing

/// Buffers for frames of all sizes.
@Suite struct FrameBufferPoolTests {
  @Test(arguments: [0, 1, 2048, 2049, 8192, 8193, 65_536, 65_537, 1_000_000])
  func aFrameFitsIntoItsBufferAndWastesLittle(_ size: Int) {
    var pool = FrameBufferPool()
    let buffer = pool.take(minimum: size)
    #expect(buffer.count == 0)
    #expect(buffer.capacity >= size)
    #expect(buffer.capacity <= max(2048, size * 8))
  }

  @Test func whatIsLetGoIsUsedAgainForFramesOfItsSize() {
    var pool = FrameBufferPool()
    let first = pool.take(minimum: 1000).base
    let large = pool.take(minimum: 20_000).base
    #expect(pool.take(minimum: 2000).base == first)
    #expect(pool.take(minimum: 60_000).base == large)
  }

  @Test func whatIsInUseIsNotHandedOut() {
    var pool = FrameBufferPool(limit: 4)
    let held = (0..<100).map { _ in pool.take(minimum: 100) }
    #expect(Set(held.map(\.base)).count == 100)
    #expect(!held.contains { $0 === pool.take(minimum: 100) })
  }
}
