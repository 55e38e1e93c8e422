import RTP

/// Writes VP8 payload descriptors (RFC 7741 section 4.2) with other running numbers. The numbers are the
/// `LayerForwarder`'s, which also knows those of late packets; so no state is needed here.
struct VP8DescriptorScratch: ~Copyable {
  /// The longest descriptor: two bytes of flags, two of picture id, TL0PICIDX, TID/KEYIDX.
  static let longest = 6

  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 1)

  init() {}

  deinit { storage.deallocate() }

  /// The descriptor of a packet, whose payload begins with `first`, with new numbers. Valid until the next call. A
  /// picture id is always written with 15 bits.
  func write(first: UInt8, parsed: VideoPayload, numbers: PictureNumbers) -> UnsafeRawBufferPointer {
    var count = 0
    func put(_ byte: UInt8) {
      storage[count] = byte
      count += 1
    }
    let hasLayers = parsed.temporalLayer != nil || numbers.keyIndex != nil
    var flags: UInt8 = 0
    if numbers.pictureID != nil { flags |= 0x80 }
    if numbers.tl0PictureIndex != nil { flags |= 0x40 }
    if parsed.temporalLayer != nil { flags |= 0x20 }
    if numbers.keyIndex != nil { flags |= 0x10 }
    // Kept as they were: N, S and PID.
    put(first & 0x7f | (flags == 0 ? 0 : 0x80))
    if flags != 0 { put(flags) }
    if let id = numbers.pictureID {
      put(0x80 | UInt8(truncatingIfNeeded: id >> 8))
      put(UInt8(truncatingIfNeeded: id))
    }
    if let index = numbers.tl0PictureIndex { put(index) }
    if hasLayers {
      let layer = (parsed.temporalLayer ?? 0) << 6 | (parsed.isLayerSync ? 0x20 : 0)
      put(layer | ((numbers.keyIndex ?? 0) & 0x1f))
    }
    return UnsafeRawBufferPointer(rebasing: storage[..<count])
  }
}
