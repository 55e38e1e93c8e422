import MediaCore

/// One block of a RED payload (RFC 2198 section 3).
public struct REDBlock: Sendable, Hashable {
  /// What the block's bytes are.
  public var payloadType: PayloadType
  /// How much earlier than the RTP timestamp of the packet the block's sound was, in ticks; 0 for the primary.
  public var timestampOffset: UInt32
  /// Where its bytes begin in the payload.
  public var offset: Int
  /// How many bytes it has.
  public var count: Int
}

/// A RED payload: older sound again, then the primary block (RFC 2198). Reading it allocates nothing.
public struct REDDepacketizer {
  /// Redundant blocks of one payload; with more it makes no sense. Senders repeat one to three packets.
  public static let maximumRedundantCount = 32

  private let payload: UnsafeRawBufferPointer
  /// Bytes of all headers: the redundant blocks' four each, and the primary block's one.
  public let headerCount: Int
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
      guard redundant <= Self.maximumRedundantCount else { return nil }
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

  /// Calls `body` with the headers as they are where the blocks have another payload type; all of them have that one then.
  public func withHeaders<Result>(
    payloadType: PayloadType, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: headerCount, alignment: 1) { headers in
      headers.copyMemory(from: UnsafeRawBufferPointer(rebasing: payload[..<headerCount]))
      for offset in stride(from: 0, to: headerCount, by: 4) {
        headers[offset] = headers[offset] & 0x80 | payloadType.rawValue & 0x7f
      }
      return body(UnsafeRawBufferPointer(headers))
    }
  }

  /// The bytes of a block.
  public func bytes(of block: REDBlock) -> UnsafeRawBufferPointer {
    payload.part(block.offset, block.count) ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }
}
