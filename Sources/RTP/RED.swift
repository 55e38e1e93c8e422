import MediaCore

/// One block of a RED payload (RFC 2198 section 3).
public struct REDBlock: Sendable, Hashable {
  /// What the block's bytes are.
  public var payloadType: PayloadType
  /// How much earlier than the RTP timestamp of the packet the block's sound was, in ticks; 0 for the primary.
  public var timestampOffset: UInt32
  /// Where its bytes lie in the payload.
  public var offset: Int
  /// See `offset`.
  public var count: Int
}

/// A RED payload: older sound again, then the primary block (RFC 2198). Reading it allocates nothing.
public struct REDDepacketizer {
  private let payload: UnsafeRawBufferPointer
  private let headerCount: Int
  /// Number of redundant blocks in front of the primary one.
  public let redundantCount: Int
  /// The primary block, always the last; may be empty.
  public let primary: REDBlock

  /// Checks a payload; nil when headers or blocks are cut short. The view is valid as long as the bytes are.
  public init?(_ payload: UnsafeRawBufferPointer) {
    var offset = 0
    var redundant = 0
    var data = 0
    while let head = payload.byte(offset), head & 0x80 != 0 {
      guard let fields = payload.uint24(offset + 1) else { return nil }
      data += Int(fields & 0x3ff)
      offset += 4
      redundant += 1
    }
    guard let last = payload.byte(offset), payload.has(offset + 1, data) else { return nil }
    self.payload = payload
    headerCount = offset + 1
    redundantCount = redundant
    primary = REDBlock(
      payloadType: PayloadType(last), timestampOffset: 0, offset: offset + 1 + data,
      count: payload.count - offset - 1 - data)
  }

  /// A redundant block, counted from 0, the oldest; nil when there is none.
  public func redundant(_ index: Int) -> REDBlock? {
    guard index >= 0, index < redundantCount else { return nil }
    var data = headerCount
    for before in 0..<index { data += Int((payload.uint24(4 * before + 1) ?? 0) & 0x3ff) }
    guard let head = payload.byte(4 * index), let fields = payload.uint24(4 * index + 1) else { return nil }
    return REDBlock(
      payloadType: PayloadType(head), timestampOffset: fields >> 10, offset: data, count: Int(fields & 0x3ff))
  }

  /// The bytes of a block.
  public func bytes(of block: REDBlock) -> UnsafeRawBufferPointer {
    payload.part(block.offset, block.count) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}

/// Makes RED payloads out of a stream of packets: each carries the ones before it again (RFC 2198).
public struct REDPacketizer: Sendable {
  private struct Previous {
    var timestamp: UInt32
    var bytes: [UInt8]
  }
  private let distance: Int
  private let maximumPayload: Int
  // Oldest first.
  private var previous: [Previous] = []

  /// Packets that carry the `distance` (0...8) packets before them, as far as `maximumPayload` bytes allow.
  public init(distance: Int = 1, maximumPayload: Int = 1160) {
    self.distance = min(8, max(0, distance))
    self.maximumPayload = maximumPayload
  }

  /// Appends the RED payload of the next packet to a buffer that holds its RTP header. `payloadType` is the one of
  /// the primary encoding. False when it doesn't fit the buffer.
  public mutating func append(
    _ payload: UnsafeRawBufferPointer, payloadType: PayloadType, timestamp: UInt32, to buffer: MediaBuffer
  ) -> Bool {
    // Without gaps from the newest back: a receiver counts blocks to find the sequence numbers.
    var size = 1 + payload.count
    var first = previous.count
    while first > 0 {
      let block = previous[first - 1]
      let offset = timestamp &- block.timestamp
      guard offset > 0, offset < 0x4000, block.bytes.count < 0x400,
        size + 4 + block.bytes.count <= maximumPayload
      else { break }
      size += 4 + block.bytes.count
      first -= 1
    }
    var cursor = ByteCursor(buffer, offset: buffer.count)
    for block in previous[first...] {
      cursor.put8(0x80 | payloadType.rawValue)
      let fields = (timestamp &- block.timestamp) << 10 | UInt32(truncatingIfNeeded: block.bytes.count)
      cursor.put8(UInt8(truncatingIfNeeded: fields >> 16))
      cursor.put16(UInt16(truncatingIfNeeded: fields))
    }
    cursor.put8(payloadType.rawValue)
    for block in previous[first...] { block.bytes.withUnsafeBytes { cursor.put($0) } }
    cursor.put(payload)
    if distance > 0 {
      var next = Previous(timestamp: timestamp, bytes: [])
      // The oldest one's storage is used again.
      if previous.count >= distance { next.bytes = previous.removeFirst().bytes }
      next.bytes.removeAll(keepingCapacity: true)
      next.bytes.append(contentsOf: payload)
      previous.append(next)
    }
    guard !cursor.overflowed else { return false }
    buffer.setCount(cursor.offset)
    return true
  }
}
