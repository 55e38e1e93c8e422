import MediaCore

/// Frames of VP8 that show the picture before again (RFC 6386): every macroblock is taken from the last frame as it is, and nothing of what
/// later frames refer to is changed. A decoder goes on as if they had not been there, and so may an encoder that never hears of
/// them. About a hundred bytes at 1280x720.
struct VP8Repetition {
  private let whole: [UInt8]
  private let segmented: [UInt8]

  /// Makes the frames for pictures of a size, pixels.
  init(width: Int, height: Int) {
    whole = Self.frame(width, height, isSegmented: false)
    segmented = Self.frame(width, height, isSegmented: true)
  }

  /// The frame that may follow this one, which must be whole; nil when that is none that is shown.
  func frame(after last: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let header = VP8FrameHeader(frame: last), header.isShown, header.version == 0 else { return nil }
    guard let first = last.dropFirst(header.isKeyframe ? 10 : 3).first else { return nil }
    // Bools of even chances that follow zeros are the bits themselves. The first tells whether there are segments (section 9.3); in
    // a keyframe colour space and clamping stand before it. The map of segments lives on only in frames that say there are some.
    if header.isKeyframe {
      return first & 0xc0 != 0 ? nil : first & 0x20 == 0 ? whole : segmented
    }
    return first & 0x80 == 0 ? whole : segmented
  }

  private static func frame(_ width: Int, _ height: Int, isSegmented: Bool) -> [UInt8] {
    var coder = BoolCoder()
    // Section 9.3: segments as before.
    coder.put(isSegmented)
    if isSegmented { coder.put(0, bits: 2) }
    // Sections 9.6 and 9.5: no loop filter, one partition; section 9.6: any quantizer.
    coder.put(0, bits: 1 + 6 + 3 + 1)
    coder.put(0, bits: 2)
    coder.put(0, bits: 7 + 5)
    // Section 9.7: golden and altref stay, without copies and biases; section 9.11: probabilities do not outlive this frame, and
    // the last frame stays the last.
    coder.put(0, bits: 2 + 4 + 2)
    coder.put(0, bits: 2)
    // Section 13.4: the probabilities of tokens stay.
    var index = 0
    while index < updates.count {
      for _ in 0..<updates[index] { coder.put(false, 255) }
      coder.put(false, updates[index + 1])
      index += 2
    }
    for _ in 0..<updatesRest { coder.put(false, 255) }
    // Section 9.11: macroblocks without tokens, nearly always; between frames, always; of the last frame, always.
    coder.put(true)
    coder.put(1, bits: 8)
    coder.put(1, bits: 8)
    coder.put(255, bits: 8)
    coder.put(128, bits: 8)
    // Modes and motion stay as likely as they were.
    coder.put(0, bits: 2)
    for probability in motionUpdates { coder.put(false, probability) }
    let (rows, columns) = ((height + 15) / 16, (width + 15) / 16)
    for row in 0..<rows {
      for column in 0..<columns {
        coder.put(true, 1)
        coder.put(true, 1)
        coder.put(false, 255)
        // Section 18.3: no motion, by how many neighbours have none either.
        coder.put(false, row > 0 && column > 0 ? 234 : row > 0 || column > 0 ? 135 : 7)
      }
    }
    let first = coder.finish()
    let tag = 1 | 0x10 | UInt32(first.count) << 5
    // A partition of tokens, in which nothing is read.
    return [UInt8(tag & 0xff), UInt8(tag >> 8 & 0xff), UInt8(tag >> 16 & 0xff)] + first + [0, 0, 0, 0]
  }

  /// `coeff_update_probs` (section 13.4): how many of 255 come before one that is another, and that one.
  private static let updates: [UInt8] = [
    33, 176, 0, 246, 9, 223, 0, 241, 0, 252, 8, 249, 0, 253, 0, 253, 9, 244, 0, 252, 8, 234, 0, 254, 0, 254, 8, 253,
    11, 246, 0, 254, 8, 239, 0, 253, 0, 254, 8, 254, 1, 254, 9, 248, 0, 254, 8, 251, 1, 254, 20, 253, 0, 254, 8, 251,
    0, 254, 0, 254, 8, 254, 1, 254, 9, 254, 0, 253, 1, 254, 6, 250, 1, 254, 1, 254, 6, 254, 43, 217, 10, 225, 0, 252,
    0, 241, 0, 253, 2, 254, 4, 234, 0, 250, 0, 241, 0, 250, 0, 253, 1, 253, 0, 254, 4, 254, 9, 223, 0, 254, 0, 254,
    8, 238, 0, 253, 0, 254, 0, 254, 8, 248, 0, 254, 8, 249, 0, 254, 21, 253, 9, 247, 0, 254, 21, 253, 0, 254, 8, 252,
    22, 254, 0, 254, 8, 253, 22, 254, 0, 253, 8, 250, 10, 254, 43, 186, 0, 251, 0, 250, 8, 234, 0, 251, 0, 244,
    0, 254, 7, 251, 0, 251, 0, 243, 0, 253, 0, 254, 1, 254, 5, 253, 0, 254, 8, 236, 0, 253, 0, 254, 8, 251, 0, 253,
    0, 253, 0, 254, 0, 254, 7, 254, 0, 254, 8, 254, 0, 254, 0, 254, 20, 254, 9, 254, 0, 254, 9, 254, 21, 254,
    120, 248, 10, 250, 0, 254, 0, 252, 0, 254, 7, 248, 0, 254, 0, 249, 0, 253, 8, 253, 0, 253, 8, 246, 0, 253,
    0, 253, 8, 252, 0, 254, 0, 251, 0, 254, 0, 254, 7, 254, 0, 252, 8, 248, 0, 254, 0, 253, 8, 253, 1, 254, 0, 254,
    8, 251, 0, 254, 8, 245, 0, 251, 0, 254, 8, 253, 0, 253, 0, 254, 9, 251, 0, 253, 8, 252, 0, 253, 0, 254, 9, 254,
    10, 252, 9, 249, 1, 254, 10, 254, 10, 253, 8, 250, 32, 254,
  ]
  /// How many of 255 are behind the last of those.
  private static let updatesRest = 21

  /// `mv_update_probs` (section 17.2).
  private static let motionUpdates: [UInt8] = [
    237, 246, 253, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 250, 250, 252, 254, 254,
    231, 243, 245, 253, 254, 254, 254, 254, 254, 254, 254, 254, 254, 254, 251, 251, 254, 254, 254,
  ]
}

/// The boolean entropy encoder (RFC 6386 section 7.3).
private struct BoolCoder {
  private var bytes: [UInt8] = []
  private var range: UInt32 = 255
  private var bottom: UInt32 = 0
  private var bitCount = 24

  /// Codes a bool whose chance of being false is `probability` of 256.
  mutating func put(_ value: Bool, _ probability: UInt8 = 128) {
    let split = 1 + ((range - 1) * UInt32(probability)) >> 8
    if value {
      bottom &+= split
      range -= split
    } else {
      range = split
    }
    while range < 128 {
      range <<= 1
      if bottom & 1 << 31 != 0 { carry() }
      bottom <<= 1
      bitCount -= 1
      if bitCount == 0 {
        bytes.append(UInt8(bottom >> 24))
        bottom &= 0xffffff
        bitCount = 8
      }
    }
  }

  /// Codes bits of a number, the highest first.
  mutating func put(_ value: UInt32, bits: Int) {
    for bit in (0..<bits).reversed() { put(value >> UInt32(bit) & 1 != 0) }
  }

  /// All bytes.
  mutating func finish() -> [UInt8] {
    put(0, bits: 32)
    return bytes
  }

  /// Adds one to what is written.
  private mutating func carry() {
    var index = bytes.count - 1
    while index >= 0, bytes[index] == 255 {
      bytes[index] = 0
      index -= 1
    }
    if index >= 0 { bytes[index] += 1 }
  }
}
