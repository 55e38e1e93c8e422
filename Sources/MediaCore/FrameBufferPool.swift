/// Hands out buffers for encoded frames and takes them back by itself, as `MediaBufferPool` does. Frames of one track differ in size
/// by a hundred times, and each waits for its instant in a buffer: so buffers are of three sizes, and a frame gets the smallest that
/// it fits into. Confined to one thread (the one that takes); buffers may be let go on any thread.
public struct FrameBufferPool {
  /// Of each size in bytes, the smallest first.
  private var pools: [(capacity: Int, buffers: MediaBufferPool)]

  /// A pool that keeps at most `limit` buffers of each size.
  public init(limit: Int = 64) {
    pools = [2048, 8192, 65_536].map { ($0, MediaBufferPool(capacity: $0, limit: limit)) }
  }

  /// An empty buffer of at least `minimum` bytes. Allocates only while the pool is still growing, when all are in use beyond its
  /// limit, or for frames above 64 KiB.
  public mutating func take(minimum: Int) -> MediaBuffer {
    for index in pools.indices where minimum <= pools[index].capacity {
      return pools[index].buffers.take(minimum: minimum)
    }
    return MediaBuffer(capacity: minimum)
  }
}
