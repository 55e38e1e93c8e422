// Sendable by the rule below: the writer finishes before the reference crosses a thread, nobody writes afterwards.
/// A block of bytes for one packet or one encoded frame. Written by the one that took it from its pool, read-only
/// once it has been handed on.
public final class MediaBuffer: @unchecked Sendable {
  /// First byte; `capacity` bytes are there.
  public let base: UnsafeMutableRawPointer
  /// Bytes allocated.
  public let capacity: Int
  /// Bytes in use, from `base`; never more than `capacity`.
  public private(set) var count: Int

  /// Allocates `capacity` bytes (at least 1), none of them in use.
  public init(capacity: Int) {
    self.capacity = max(1, capacity)
    base = .allocate(byteCount: self.capacity, alignment: 16)
    count = 0
  }

  /// A copy of some bytes.
  public convenience init(copying bytes: UnsafeRawBufferPointer) {
    self.init(capacity: bytes.count)
    append(bytes)
  }

  /// A copy of some bytes.
  public convenience init(_ bytes: [UInt8]) {
    self.init(capacity: bytes.count)
    bytes.withUnsafeBytes { _ = append($0) }
  }

  deinit { base.deallocate() }

  /// Sets the number of bytes in use; a value outside 0...capacity is brought inside.
  public func setCount(_ value: Int) { count = min(max(0, value), capacity) }

  /// Appends bytes. Returns false, and appends nothing, when they do not fit.
  @discardableResult
  public func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= capacity - count else { return false }
    if let source = bytes.baseAddress, !bytes.isEmpty {
      (base + count).copyMemory(from: source, byteCount: bytes.count)
    }
    count += bytes.count
    return true
  }

  /// The bytes in use.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// The bytes in use, for the owner to change in place.
  public var mutableBytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: count) }
}

/// Hands out buffers and takes them back by itself: a buffer is free again when nobody but the pool refers to it.
/// Confined to one thread (the one that takes); buffers may be let go on any thread.
public struct MediaBufferPool {
  private var buffers: [MediaBuffer] = []
  private var next = 0
  private let capacity: Int
  private let limit: Int

  /// A pool of buffers of `capacity` bytes, keeping at most `limit` of them.
  public init(capacity: Int, limit: Int = 2048) {
    self.capacity = capacity
    self.limit = limit
  }

  /// An empty buffer of at least `minimum` bytes. Allocates only while the pool is still growing, when all are in
  /// use beyond its limit, or when `minimum` is larger than the pool's buffers.
  public mutating func take(minimum: Int = 0) -> MediaBuffer {
    guard minimum <= capacity else { return MediaBuffer(capacity: minimum) }
    // A few probes suffice: buffers come back in about the order in which they went out.
    for _ in 0..<min(4, buffers.count) {
      if next >= buffers.count { next = 0 }
      let index = next
      next += 1
      if isKnownUniquelyReferenced(&buffers[index]) {
        buffers[index].setCount(0)
        return buffers[index]
      }
    }
    let buffer = MediaBuffer(capacity: capacity)
    if buffers.count < limit { buffers.append(buffer) }
    return buffer
  }
}
