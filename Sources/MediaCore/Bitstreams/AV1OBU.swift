/// An open bitstream unit of AV1 (AV1 specification section 5.3) with its parts.
public struct AV1OBU {
  /// Kinds that matter here (section 6.2.2).
  public enum Kind: Sendable {
    /// Size and colours of what follows.
    case sequenceHeader
    /// Begins a temporal unit and says nothing else.
    case temporalDelimiter
    /// What isn't sent over RTP (AV1 RTP payload format section 5) or says nothing: tile lists and padding.
    case unwanted
    /// Anything else.
    case other
  }

  /// What it is.
  public let kind: Kind
  /// One byte, or two with an extension.
  public let header: UnsafeRawBufferPointer
  /// What follows the header and the size.
  public let payload: UnsafeRawBufferPointer

  /// Splits one unit; nil when it is cut short. Without a size of its own it takes all bytes.
  public init?(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first, first & 0x80 == 0 else { return nil }
    let count = first & 4 == 0 ? 1 : 2
    guard bytes.count >= count else { return nil }
    kind =
      switch first >> 3 & 0xf {
      case 1: .sequenceHeader
      case 2: .temporalDelimiter
      case 8, 15: .unwanted
      default: .other
      }
    header = UnsafeRawBufferPointer(rebasing: bytes[..<count])
    let rest = UnsafeRawBufferPointer(rebasing: bytes[count...])
    guard first & 2 != 0 else {
      payload = rest
      return
    }
    guard let (size, length) = LEB128.read(rest), size <= rest.count - length else { return nil }
    payload = UnsafeRawBufferPointer(rebasing: rest[length..<(length + size)])
  }

  /// Appends the unit with its size, as decoders and files want it.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(header[0] | 2)
    if header.count == 2 { bytes.append(header[1]) }
    LEB128.append(payload.count, to: &bytes)
    bytes.append(contentsOf: payload)
  }
}

/// Numbers of variable length, seven bits a byte, the least first (AV1 specification section 4.10.5).
public enum LEB128 {
  /// Reads a number of at most 32 bits; nil when it is larger or cut short.
  public static func read(_ bytes: UnsafeRawBufferPointer) -> (value: Int, length: Int)? {
    var value: UInt64 = 0
    for index in 0..<min(8, bytes.count) {
      value |= UInt64(bytes[index] & 0x7f) << UInt64(7 * index)
      if bytes[index] & 0x80 == 0 { return value <= UInt64(UInt32.max) ? (Int(value), index + 1) : nil }
    }
    return nil
  }

  /// Appends a number in as few bytes as possible.
  public static func append(_ value: Int, to bytes: inout [UInt8]) {
    var rest = max(0, value)
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

/// The picture size and the level that a sequence header of AV1 gives (AV1 specification section 5.5).
public struct AV1SequenceHeader: Hashable, Sendable {
  /// Width of the largest picture of the sequence in pixels.
  public let width: Int
  /// Height of the largest picture of the sequence in pixels.
  public let height: Int
  /// What decoders of the whole stream must be able to do: seq_level_idx of its first operating point.
  public let level: Int

  /// Reads the payload of a sequence header unit; nil when it is cut short.
  public init?(_ payload: UnsafeRawBufferPointer) {
    var reader = BitReader(payload)
    guard reader.skip(4) != nil, let isReduced = reader.flag() else { return nil }
    if isReduced {
      guard let level = reader.bits(5) else { return nil }
      self.level = Int(level)
    } else {
      guard let level = Self.readOperatingPoints(&reader) else { return nil }
      self.level = level
    }
    guard let acrossBits = reader.bits(4), let downBits = reader.bits(4),
      let across = reader.bits(Int(acrossBits) + 1), let down = reader.bits(Int(downBits) + 1)
    else { return nil }
    width = Int(across) + 1
    height = Int(down) + 1
  }

  /// Reads up to the sizes; gives the level of the first operating point.
  private static func readOperatingPoints(_ reader: inout BitReader) -> Int? {
    guard let hasTiming = reader.flag() else { return nil }
    var delayLength: Int?
    if hasTiming {
      guard reader.skip(64) != nil, let isEven = reader.flag(), !isEven || reader.exponentialGolomb() != nil,
        let hasModel = reader.flag()
      else { return nil }
      if hasModel {
        guard let length = reader.bits(5), reader.skip(42) != nil else { return nil }
        delayLength = Int(length) + 1
      }
    }
    guard let hasDelay = reader.flag(), let last = reader.bits(5) else { return nil }
    var first: Int?
    for _ in 0...last {
      guard reader.skip(12) != nil, let level = reader.bits(5), level <= 7 || reader.skip(1) != nil else {
        return nil
      }
      first = first ?? Int(level)
      if let delayLength {
        guard let isPresent = reader.flag(), !isPresent || reader.skip(2 * delayLength + 1) != nil else { return nil }
      }
      if hasDelay {
        guard let isPresent = reader.flag(), !isPresent || reader.skip(4) != nil else { return nil }
      }
    }
    return first
  }
}
