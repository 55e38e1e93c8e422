/// The beginning of a VP9 frame (VP9 bitstream specification section 6.2), as far as it says what the frame is and how
/// large.
public struct VP9FrameHeader: Hashable, Sendable {
  /// Decoding can start here.
  public private(set) var isKeyframe = false
  /// 0: 8 bits 4:2:0.
  public private(set) var profile: UInt8 = 0
  /// Bits of a sample. Like what follows about colours, it is given by keyframes.
  public private(set) var bitDepth: UInt8 = 8
  /// `color_space` (section 7.2.2): 0 unknown, 1 BT.601, 2 BT.709, 3 SMPTE 170, 4 SMPTE 240, 5 BT.2020, 7 RGB.
  public private(set) var colorSpace: UInt8 = 0
  /// False: limited range, 16 to 235.
  public private(set) var isFullRange = false
  /// Two columns share a sample of each colour.
  public private(set) var subsamplesAcross = true
  /// Two rows share a sample of each colour.
  public private(set) var subsamplesDown = true
  /// The frame only shows one that was decoded before.
  public private(set) var showsExisting = false
  /// Picture size in pixels where the header gives it; zero where the picture is as large as one that it refers to.
  public private(set) var width = 0
  /// See `width`.
  public private(set) var height = 0

  /// Reads the header; nil when the bytes can't be a VP9 frame.
  public init?(_ frame: UnsafeRawBufferPointer) {
    var reader = BitReader(frame)
    guard reader.bits(2) == 2, let low = reader.bits(1), let high = reader.bits(1) else { return nil }
    profile = UInt8(high << 1 | low)
    if profile == 3, reader.flag() != false { return nil }
    guard let existing = reader.flag() else { return nil }
    if existing {
      showsExisting = true
      guard reader.bits(3) != nil else { return nil }
      return
    }
    guard let isInter = reader.flag(), let isShown = reader.flag(), let isResilient = reader.flag() else { return nil }
    isKeyframe = !isInter
    if isKeyframe {
      guard reader.bits(24) == 0x498342, readColors(&reader), readSize(&reader) else { return nil }
      return
    }
    var isIntraOnly = false
    if !isShown {
      guard let flag = reader.flag() else { return nil }
      isIntraOnly = flag
    }
    if !isResilient, reader.skip(2) == nil { return nil }
    if isIntraOnly {
      guard reader.bits(24) == 0x498342, profile == 0 || readColors(&reader), reader.skip(8) != nil, readSize(&reader)
      else { return nil }
      return
    }
    // Which pictures it refreshes, and the three that it refers to with their signs.
    guard reader.skip(8 + 3 * 4) != nil else { return nil }
    for _ in 0..<3 {
      guard let isSameSize = reader.flag() else { return nil }
      if isSameSize { return }
    }
    guard readSize(&reader) else { return nil }
  }

  private mutating func readColors(_ reader: inout BitReader) -> Bool {
    if profile >= 2 {
      guard let isTwelve = reader.flag() else { return false }
      bitDepth = isTwelve ? 12 : 10
    }
    guard let space = reader.bits(3) else { return false }
    colorSpace = UInt8(space)
    if space == 7 {
      // RGB exists in the odd profiles only.
      guard profile & 1 == 1 else { return false }
      (isFullRange, subsamplesAcross, subsamplesDown) = (true, false, false)
    } else {
      guard let range = reader.flag() else { return false }
      isFullRange = range
      guard profile & 1 == 1 else { return true }
      guard let across = reader.flag(), let down = reader.flag() else { return false }
      (subsamplesAcross, subsamplesDown) = (across, down)
    }
    return reader.skip(1) != nil
  }

  private mutating func readSize(_ reader: inout BitReader) -> Bool {
    guard let across = reader.bits(16), let down = reader.bits(16) else { return false }
    width = Int(across) + 1
    height = Int(down) + 1
    return true
  }
}

/// Several VP9 frames in one (VP9 bitstream specification, Annex B): the spatial layers of one picture, or a picture with
/// hidden ones that it refers to.
public enum VP9Superframe {
  /// The most frames in one.
  public static let maximumFrames = 8

  /// The frames of a chunk, by its index; the chunk itself when it has none. Nil when the index contradicts the chunk.
  public static func frames(_ chunk: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
    guard let marker = chunk.last else { return nil }
    guard marker & 0xe0 == 0xc0 else { return [chunk] }
    let count = Int(marker & 7) + 1
    let width = Int(marker >> 3 & 3) + 1
    let indexSize = 2 + count * width
    guard chunk.count >= indexSize else { return nil }
    guard chunk[chunk.count - indexSize] == marker else { return [chunk] }
    var frames: [UnsafeRawBufferPointer] = []
    var offset = 0
    for number in 0..<count {
      var size = 0
      for byte in 0..<width { size |= Int(chunk[chunk.count - indexSize + 1 + number * width + byte]) << (8 * byte) }
      guard size <= chunk.count - indexSize - offset else { return nil }
      if size > 0 { frames.append(UnsafeRawBufferPointer(rebasing: chunk[offset..<(offset + size)])) }
      offset += size
    }
    return frames
  }

  /// The index for frames of these sizes (1...8 of them).
  public static func index(_ sizes: [Int]) -> [UInt8] {
    let frames = sizes.prefix(maximumFrames)
    guard !frames.isEmpty else { return [] }
    let marker = 0xc0 | 3 << 3 | UInt8(frames.count - 1)
    var bytes = [marker]
    for size in frames { for shift in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: size >> (8 * shift))) } }
    return bytes + [marker]
  }
}
