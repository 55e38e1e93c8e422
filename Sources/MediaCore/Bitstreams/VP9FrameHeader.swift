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
  /// The frame is shown, and not only referred to.
  public private(set) var isShown = true
  /// The frame depends on no probabilities of earlier ones (error_resilient_mode).
  public private(set) var isResilient = false
  /// The slots for references that the frame takes: a bit for each of the eight.
  public private(set) var refreshed: UInt8 = 0
  /// The slot of the picture that the frame is as large as; nil when the header gives the size.
  public private(set) var sizeSlot: Int?
  /// Bits of the header up to the size that pictures are to be rendered with (render_size).
  public private(set) var sizeEnd = 0
  /// The frame only shows one that was decoded before.
  public private(set) var showsExisting = false
  /// Picture width in pixels where the header gives it; zero where the picture is as wide as one that it refers to.
  public private(set) var width = 0
  /// Picture height in pixels, likewise.
  public private(set) var height = 0

  /// Reads the header; nil when the bytes can't be a VP9 frame.
  public init?(_ frame: UnsafeRawBufferPointer) {
    var reader = BitReader(frame)
    guard read(&reader) else { return nil }
    sizeEnd = reader.bitsRead
  }

  private mutating func read(_ reader: inout BitReader) -> Bool {
    guard reader.bits(2) == 2, let low = reader.bits(1), let high = reader.bits(1) else { return false }
    profile = UInt8(high << 1 | low)
    if profile == 3, reader.flag() != false { return false }
    guard let existing = reader.flag() else { return false }
    if existing {
      showsExisting = true
      guard reader.bits(3) != nil else { return false }
      return true
    }
    guard let isInter = reader.flag(), let shown = reader.flag(), let resilient = reader.flag() else { return false }
    (isShown, isResilient) = (shown, resilient)
    isKeyframe = !isInter
    if isKeyframe {
      refreshed = 0xff
      return reader.bits(24) == 0x498342 && readColors(&reader) && readSize(&reader)
    }
    var isIntraOnly = false
    if !isShown {
      guard let flag = reader.flag() else { return false }
      isIntraOnly = flag
    }
    if !isResilient, reader.skip(2) == nil { return false }
    if isIntraOnly {
      guard reader.bits(24) == 0x498342, profile == 0 || readColors(&reader), readRefreshed(&reader) else {
        return false
      }
      return readSize(&reader)
    }
    guard readRefreshed(&reader) else { return false }
    // The slots of the three pictures that it refers to, with their signs.
    var slots: [Int] = []
    for _ in 0..<3 {
      guard let slot = reader.bits(3), reader.skip(1) != nil else { return false }
      slots.append(Int(slot))
    }
    for slot in slots {
      guard let isSameSize = reader.flag() else { return false }
      if isSameSize {
        sizeSlot = slot
        return true
      }
    }
    return readSize(&reader)
  }

  private mutating func readRefreshed(_ reader: inout BitReader) -> Bool {
    guard let slots = reader.bits(8) else { return false }
    refreshed = UInt8(slots)
    return true
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
