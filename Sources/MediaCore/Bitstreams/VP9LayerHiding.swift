/// Makes the lower spatial layers of VP9's pictures hidden frames, so that every player shows a picture once: libvpx shows
/// the last frame of a superframe only, but FFmpeg's decoder shows all that say that they are shown. The sender says so of
/// each layer, as it can't know which of them a receiver gets. A value: give it all frames of a stream, in order.
public struct VP9LayerHiding: Sendable, Hashable {
  private struct Size: Hashable {
    var width: Int
    var height: Int
  }

  /// The sizes of the pictures in the eight slots for references.
  private var slots = [Size?](repeating: nil, count: 8)

  /// Hiding for a stream that begins.
  public init() {}

  /// A chunk with all of its frames hidden but the last one that is shown; the chunk itself where there is nothing to hide,
  /// or where it can't be read.
  public mutating func hidden(_ chunk: UnsafeRawBufferPointer) -> [UInt8] {
    guard let frames = VP9Superframe.frames(chunk) else { return Array(chunk) }
    var parts: [(frame: UnsafeRawBufferPointer, header: VP9FrameHeader, size: Size)] = []
    for frame in frames {
      guard let header = VP9FrameHeader(frame) else { return Array(chunk) }
      let size = header.sizeSlot.map { slots[$0] } ?? Size(width: header.width, height: header.height)
      guard let size else { return Array(chunk) }
      for slot in slots.indices where header.refreshed >> UInt8(slot) & 1 == 1 { slots[slot] = size }
      parts.append((frame, header, size))
    }
    let last = parts.lastIndex { $0.header.isShown } ?? 0
    guard last > 0 else { return Array(chunk) }
    var bytes: [UInt8] = []
    var sizes: [Int] = []
    for (index, part) in parts.enumerated() {
      let before = bytes.count
      // A frame predicts motion from the one before it if that was shown and is as large (section 7.2): such a one stays.
      if index < last, part.header.isShown, !part.header.showsExisting, parts[index + 1].size != part.size,
        let hidden = Self.hidden(part.frame, part.header, width: part.size.width)
      {
        bytes += hidden
      } else {
        bytes += part.frame
      }
      sizes.append(bytes.count - before)
    }
    return bytes + VP9Superframe.index(sizes)
  }

  /// A frame that is shown, as one that is not: `show_frame` is 0, and where a hidden frame says whether it is intra-only
  /// there is a bit more, so that all of the header behind it moves (VP9 bitstream specification, section 6.2). `width`: of
  /// the picture. Nil when the header can't be read.
  static func hidden(_ frame: UnsafeRawBufferPointer, _ header: VP9FrameHeader, width: Int) -> [UInt8]? {
    guard let headerBits = headerBits(frame, header, width: width), (headerBits + 7) / 8 <= frame.count else {
      return nil
    }
    let showFrame = header.profile == 3 ? 7 : 6
    let intraOnly = header.isKeyframe ? nil : showFrame + 2
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frame.count + 1)
    var count = 0
    func append(_ bit: UInt8) {
      if count % 8 == 0 { bytes.append(0) }
      bytes[count / 8] |= bit << UInt8(7 - count % 8)
      count += 1
    }
    for index in 0..<headerBits {
      if index == intraOnly { append(0) }
      append(index == showFrame ? 0 : frame[index / 8] >> UInt8(7 - index % 8) & 1)
    }
    bytes += frame[((headerBits + 7) / 8)...]
    return bytes
  }

  /// Bits of the uncompressed header, without those that fill its last byte.
  private static func headerBits(_ frame: UnsafeRawBufferPointer, _ header: VP9FrameHeader, width: Int) -> Int? {
    var reader = BitReader(frame)
    guard reader.skip(header.sizeEnd) != nil, let isRenderedOtherwise = reader.flag(),
      !isRenderedOtherwise || reader.skip(32) != nil
    else { return nil }
    // Precision of vectors, and the filter: one for all, or one for each block.
    if !header.isKeyframe {
      guard reader.skip(1) != nil, let isSwitchable = reader.flag(), isSwitchable || reader.skip(2) != nil else {
        return nil
      }
    }
    guard header.isResilient || reader.skip(2) != nil, reader.skip(2) != nil, readLoopFilter(&reader),
      readQuantizer(&reader), readSegmentation(&reader), readTiles(&reader, width: width), reader.skip(16) != nil
    else { return nil }
    return reader.bitsRead
  }

  private static func readLoopFilter(_ reader: inout BitReader) -> Bool {
    guard reader.skip(6 + 3) != nil, let hasDeltas = reader.flag() else { return false }
    guard hasDeltas else { return true }
    guard let areUpdated = reader.flag() else { return false }
    return !areUpdated || (0..<6).allSatisfy { _ in readOptional(&reader, bits: 7) }
  }

  private static func readQuantizer(_ reader: inout BitReader) -> Bool {
    reader.skip(8) != nil && (0..<3).allSatisfy { _ in readOptional(&reader, bits: 5) }
  }

  private static func readSegmentation(_ reader: inout BitReader) -> Bool {
    guard let isEnabled = reader.flag() else { return false }
    guard isEnabled else { return true }
    guard let updatesMap = reader.flag() else { return false }
    if updatesMap {
      guard (0..<7).allSatisfy({ _ in readOptional(&reader, bits: 8) }), let isTemporal = reader.flag() else {
        return false
      }
      if isTemporal, !(0..<3).allSatisfy({ _ in readOptional(&reader, bits: 8) }) { return false }
    }
    guard let updatesData = reader.flag() else { return false }
    guard updatesData else { return true }
    guard reader.skip(1) != nil else { return false }
    // Of each segment: quantizer and loop filter with their signs, reference, and whether it is skipped.
    return (0..<8).allSatisfy { _ in [9, 7, 2, 0].allSatisfy { readOptional(&reader, bits: $0) } }
  }

  private static func readTiles(_ reader: inout BitReader, width: Int) -> Bool {
    let columns = (width + 63) / 64
    var (least, most) = (0, 1)
    while 64 << least < columns { least += 1 }
    while columns >> most >= 4 { most += 1 }
    for _ in least..<max(least, most - 1) {
      guard let isMore = reader.flag() else { return false }
      if !isMore { break }
    }
    return readOptional(&reader, bits: 1)
  }

  /// A flag, and when it is set so many bits.
  private static func readOptional(_ reader: inout BitReader, bits: Int) -> Bool {
    guard let isThere = reader.flag() else { return false }
    return !isThere || reader.skip(bits) != nil
  }
}
