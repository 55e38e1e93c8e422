import MediaCore
@testable import RTP

/// Makes RED payloads out of a stream of packets: each carries the ones before it again (RFC 2198).
struct REDPacketizer: Sendable {
  private struct Previous {
    var timestamp: UInt32
    var bytes: [UInt8]
  }
  private let distance: Int
  private let maximumPayload: Int
  // Oldest first.
  private var previous: [Previous] = []

  /// Packets that carry the `distance` (0...8) packets before them, as far as `maximumPayload` bytes allow.
  init(distance: Int = 1, maximumPayload: Int = 1160) {
    self.distance = min(8, max(0, distance))
    self.maximumPayload = maximumPayload
  }

  /// Appends the RED payload of the next packet to a buffer that holds its RTP header. `payloadType` is the one of
  /// the primary encoding. False when it doesn't fit the buffer.
  mutating func append(
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
