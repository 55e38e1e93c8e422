import MediaCore

/// Rewrites VP8 payload descriptors for a forwarder that switches between simulcast layers: picture identifiers,
/// TL0PICIDX and KEYIDX go on without a jump, as one encoder would make them (RFC 7741 section 4.2). Frames that the
/// forwarder leaves out leave a gap in the picture identifiers.
public struct VP8DescriptorRewriter: Sendable {
  private var pictureOffset: UInt16 = 0
  private var baseLayerOffset: UInt8 = 0
  private var keyOffset: UInt8 = 0
  private var lastPicture: UInt16?
  private var lastBaseLayer: UInt8?
  private var lastKey: UInt8?
  private var isSwitching = false

  /// Starts with the numbers of the first source.
  public init() {}

  /// The next packet comes from another source: its numbers continue those sent last. Switch at keyframes only.
  public mutating func switchSource() { isSwitching = true }

  /// Appends `packet`'s payload (as `parsed` by `VP8Depacketizer`) to a buffer that holds the new RTP header,
  /// with a rewritten descriptor; a picture identifier is always written with 15 bits. False when it doesn't fit.
  public mutating func append(
    _ payload: UnsafeRawBufferPointer, parsed: VideoPayload, to buffer: MediaBuffer
  ) -> Bool {
    if isSwitching {
      isSwitching = false
      if let last = lastPicture, let picture = parsed.pictureID { pictureOffset = last &+ 1 &- picture }
      if let last = lastBaseLayer, let index = parsed.baseLayerIndex { baseLayerOffset = last &+ 1 &- index }
      if let last = lastKey, let key = parsed.keyIndex { keyOffset = last &+ 1 &- key }
    }
    guard let first = payload.byte(0) else { return false }
    var extensions: UInt8 = 0
    if parsed.pictureID != nil { extensions |= 0x80 }
    if parsed.baseLayerIndex != nil { extensions |= 0x40 }
    if parsed.temporalLayer != nil { extensions |= 0x20 }
    if parsed.keyIndex != nil { extensions |= 0x10 }
    var cursor = ByteCursor(buffer, offset: buffer.count)
    cursor.put8(first & 0x7f | (extensions == 0 ? 0 : 0x80))
    if extensions != 0 { cursor.put8(extensions) }
    if let picture = parsed.pictureID {
      let number = (picture &+ pictureOffset) & 0x7fff
      if lastPicture.map({ (number &- $0) & 0x7fff < 0x4000 }) ?? true { lastPicture = number }
      cursor.put16(0x8000 | number)
    }
    if let index = parsed.baseLayerIndex {
      let number = index &+ baseLayerOffset
      if lastBaseLayer.map({ number &- $0 < 0x80 }) ?? true { lastBaseLayer = number }
      cursor.put8(number)
    }
    if extensions & 0x30 != 0 {
      let key = ((parsed.keyIndex ?? 0) &+ keyOffset) & 0x1f
      if parsed.keyIndex != nil, lastKey.map({ (key &- $0) & 0x1f < 0x10 }) ?? true { lastKey = key }
      cursor.put8(
        (parsed.temporalLayer ?? 0) << 6 | (parsed.isLayerSync ? 0x20 : 0) | (parsed.keyIndex == nil ? 0 : key))
    }
    guard !cursor.overflowed else { return false }
    buffer.setCount(cursor.offset)
    return buffer.append(payload.rest(parsed.headerCount))
  }
}
