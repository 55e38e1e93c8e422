public import MediaCore
import MediaCore

/// A stream that is put into a file as it came, without encoding it again: what the track's entry says of it, and how its
/// frames are stored (Matroska codec mappings). A value.
public struct CopiedStream: Sendable, Hashable {
  /// What the frames are.
  public let codec: Codec
  /// CodecID of the track.
  let codecID: String
  /// What decoders need before the first frame; nil: nothing.
  let codecPrivate: [UInt8]?
  private var layers = VP9LayerHiding()

  /// Describes a stream by its first frame, with which decoding must be possible. Nil when what decoders need is not in it.
  public init?(_ codec: Codec, firstFrame frame: UnsafeRawBufferPointer) {
    self.codec = codec
    switch codec {
    case .vp8, .vp9:
      codecPrivate = nil
    case .av1:
      guard let configuration = CodecConfiguration.av1(frame) else { return nil }
      codecPrivate = configuration
    case .h264:
      guard let configuration = CodecConfiguration.h264(frame) else { return nil }
      codecPrivate = configuration
    case .h265:
      guard let configuration = CodecConfiguration.h265(frame) else { return nil }
      codecPrivate = configuration
    case .opus: codecPrivate = nil
    // Formats of "Microsoft ACM": mmreg.h of the Windows SDK.
    case .pcmu: codecPrivate = CodecConfiguration.wave(format: 7, rate: 8000, bitsPerSample: 8)
    case .pcma: codecPrivate = CodecConfiguration.wave(format: 6, rate: 8000, bitsPerSample: 8)
    case .g722: codecPrivate = CodecConfiguration.wave(format: 0x28f, rate: 16_000, bitsPerSample: 4)
    }
    codecID = codec.kind == .audio && codec != .opus ? "A_MS/ACM" : CodecTable.row(of: codec)?.matroskaCodecID ?? ""
  }

  /// True when WebM has a place for it; else the file is Matroska.
  var isWebM: Bool {
    switch codec {
    case .vp8, .vp9, .av1, .opus: true
    case .h264, .h265, .g722, .pcmu, .pcma: false
    }
  }

  /// How the names of such files end: `webm` or `mkv`.
  public var fileEnding: String { isWebM ? "webm" : "mkv" }

  /// Samples a second of sound.
  var sampleRate: Int {
    switch codec {
    case .g722: 16_000
    case .pcmu, .pcma: 8_000
    default: 48_000
    }
  }

  /// Length of a frame of sound, nanoseconds; nil when it does not say.
  func duration(_ frame: UnsafeRawBufferPointer) -> Int64? {
    switch codec {
    case .opus: OpusPacket(frame)?.duration
    // All of them take 64 kbit/s.
    case .g722, .pcmu, .pcma: Int64(frame.count) * 125_000
    default: nil
    }
  }

  /// The next frame as files store it: units of H.264 and H.265 behind their lengths instead of start codes, AV1 without its
  /// temporal delimiters, of VP9's spatial layers the last one shown.
  public mutating func stored(_ frame: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(frame.count + 16)
    switch codec {
    case .h264, .h265:
      for unit in ByteStream.units(frame) {
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: unit.count >> shift)) }
        bytes.append(contentsOf: unit)
      }
    case .av1:
      for unit in ByteStream.openUnits(frame) where unit.kind != .temporalDelimiter { unit.append(to: &bytes) }
    case .vp9: return layers.hidden(frame)
    default: bytes.append(contentsOf: frame)
    }
    return bytes
  }
}

/// Splits what decoders take into its units.
enum ByteStream {
  /// The NAL units of a byte stream (Annex B of H.264 and H.265), without start codes.
  static func units(_ bytes: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer] {
    var units: [UnsafeRawBufferPointer] = []
    var begin: Int?
    var index = 0
    while index + 3 <= bytes.count {
      guard bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 else {
        index += 1
        continue
      }
      add(bytes, begin, index, to: &units)
      index += 3
      begin = index
    }
    add(bytes, begin, bytes.count, to: &units)
    return units
  }

  /// Zeros before a start code belong to it.
  private static func add(
    _ bytes: UnsafeRawBufferPointer, _ begin: Int?, _ end: Int, to units: inout [UnsafeRawBufferPointer]
  ) {
    guard let begin else { return }
    var end = end
    while end > begin, bytes[end - 1] == 0 { end -= 1 }
    if end > begin { units.append(UnsafeRawBufferPointer(rebasing: bytes[begin..<end])) }
  }

  /// The units of a temporal unit of AV1; those behind one that is cut short are left out.
  static func openUnits(_ bytes: UnsafeRawBufferPointer) -> [AV1OBU] {
    var units: [AV1OBU] = []
    var rest = bytes
    while let unit = AV1OBU(rest), units.count < 4096 {
      units.append(unit)
      let used = unit.payload.baseAddress.map { $0 - (rest.baseAddress ?? $0) + unit.payload.count } ?? rest.count
      guard used > 0, used < rest.count else { break }
      rest = UnsafeRawBufferPointer(rebasing: rest[used...])
    }
    return units
  }
}
