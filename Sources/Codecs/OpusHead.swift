/// The identification header of an Opus stream (RFC 7845 section 5.1), which is also Matroska's CodecPrivate.
public struct OpusHead: Hashable, Sendable {
  /// 1 or 2 (channel mapping family 0).
  public var channels: Int
  /// Samples at 48 kHz to be thrown away from the start of the decoded sound.
  public var preSkip: Int
  /// Rate of the sound before encoding, Hz; informative.
  public var inputSampleRate: Int

  /// Makes a header; values are brought into the range of their fields.
  public init(channels: Int = 2, preSkip: Int, inputSampleRate: Int = 48_000) {
    self.channels = min(max(channels, 1), 2)
    self.preSkip = min(max(preSkip, 0), Int(UInt16.max))
    self.inputSampleRate = min(max(inputSampleRate, 0), Int(UInt32.max))
  }

  /// The 19 bytes of the header.
  public var bytes: [UInt8] {
    var out = Array("OpusHead".utf8)
    out.append(1)
    out.append(UInt8(truncatingIfNeeded: channels))
    out.append(UInt8(truncatingIfNeeded: preSkip))
    out.append(UInt8(truncatingIfNeeded: preSkip >> 8))
    for shift in [0, 8, 16, 24] { out.append(UInt8(truncatingIfNeeded: inputSampleRate >> shift)) }
    out.append(contentsOf: [0, 0, 0])
    return out
  }

  /// Matroska's CodecDelay, nanoseconds: the pre-skip as a time.
  public var codecDelayNanoseconds: Int64 { Int64(preSkip) * 1_000_000_000 / 48_000 }
  /// Matroska's SeekPreRoll, nanoseconds: 80 ms (RFC 7845 section 4.6).
  public static let seekPreRollNanoseconds: Int64 = 80_000_000
}
