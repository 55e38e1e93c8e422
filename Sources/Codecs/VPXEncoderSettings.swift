/// What libvpx encodes.
public enum VPXCodec: Sendable, Hashable, CaseIterable {
  /// RFC 6386.
  case vp8
  /// VP9 bitstream specification, profile 0.
  case vp9
}

/// How libvpx encodes. The defaults are for a composed recording at constant bit rate in real time on one core.
public struct VPXEncoderSettings: Hashable, Sendable {
  /// Speed against quality in real-time mode. VP8: -16 (fastest) ... -1; -6 is 0.2 to 0.4 dB better than -8 for 3 % more time; beyond
  /// -12 quality falls off. VP9: 5 ... 9 (fastest); 8 is better than 7 in both, 9 is for overload.
  public var cpuUsed: Int
  /// The difference below which a block counts as unchanged, a sum of squares over its 256 pixels of brightness, 0... (1000 halves the cost of mostly still pictures in VP8; VP9 has
  /// hardly a use for it).
  public var staticThreshold: Int
  /// In a file of VP8 that threshold rises up to here for blocks that move, as the quantizer does: what differs less than coding spoils
  /// it anyway isn't coded again. 0...1000000; not above `staticThreshold`: nothing rises.
  public var movingThresholdLimit = 3000
  /// The most frames from one keyframe to the next.
  public var maximumKeyframeInterval = 300
  /// Best quantizer, 0...63.
  public var minimumQuantizer = 2
  /// Worst quantizer, 0...63, not below the best.
  public var maximumQuantizer = 56
  /// How far below the target the rate may go, percent.
  public var undershootPercent = 100
  /// How far above the target the rate may go, percent.
  public var overshootPercent = 15
  /// Size of the decoder's buffer that the rate control models, milliseconds of the target rate. A file has no line that forbids
  /// a burst: with a second of buffer the first picture and what changes much is coded so badly that repairing it costs more
  /// than a good picture.
  public var bufferMilliseconds = 4000
  /// What that buffer holds at the start.
  public var bufferInitialMilliseconds = 3000
  /// What the rate control wants it to hold.
  public var bufferOptimalMilliseconds = 3000
  /// Size of a keyframe at most, percent of an average frame.
  public var maximumIntraBitratePercent = 4000
  /// A keyframe that isn't the first is made as if the target were so many times higher, 1...16: else what stands still for
  /// minutes is spoiled at each. VP8 only.
  public var keyframeShare: Int
  /// The quantizer of blocks that don't change, 0...63, where that of the picture is worse; nil: they have the picture's. VP8 only.
  public var stillQuantizer: Int?
  /// Frames refer to the one before them only, not to older ones that libvpx keeps: a twentieth of the time for less than 0.1 dB. VP8
  /// only.
  public var refersToLastOnly: Bool
  /// Temporal noise filter, 0 (off) ... 6. A composed picture has no camera noise of its own.
  public var noiseSensitivity = 0
  /// Where bits go inside a picture (VP9's aq-mode), 0 (evenly) ... 3 (cyclic refresh, which is made for constant bit rate in
  /// real time: half a decibel).
  public var adaptiveQuantization = 3
  /// Token partitions of VP8 as a power of two, 0...3; more than one only serves decoders with threads.
  public var tokenPartitions = 0
  /// Frames stay decodable, though damaged, when others are lost. Costs bits; a file loses none.
  public var isErrorResilient = false

  /// The defaults of a codec.
  public init(_ codec: VPXCodec) {
    cpuUsed = codec == .vp8 ? -6 : 8
    refersToLastOnly = codec == .vp8
    staticThreshold = codec == .vp8 ? 100 : 0
    keyframeShare = codec == .vp8 ? 4 : 1
    stillQuantizer = codec == .vp8 ? 8 : nil
    if codec == .vp9 { boundBursts() }
  }

  /// For what is sent at once over a network: no frame is much larger than a line of the target rate can carry, and the quality
  /// of what is still follows later.
  public static func live(_ codec: VPXCodec) -> VPXEncoderSettings {
    var settings = VPXEncoderSettings(codec)
    settings.boundBursts()
    if codec == .vp8 { settings.cpuUsed = -8 }
    settings.refersToLastOnly = false
    settings.keyframeShare = 1
    settings.stillQuantizer = nil
    return settings
  }

  /// A second of buffer. VP9 has it for files, too: with four, nine faces lost 0.2 dB of brightness.
  private mutating func boundBursts() {
    bufferMilliseconds = 1000
    bufferInitialMilliseconds = 500
    bufferOptimalMilliseconds = 600
    maximumIntraBitratePercent = 900
  }

  /// `cpuUsed` where processor time is short: of VP8 nine tenths of the usual one's, for a decibel.
  static func hurriedSpeed(_ codec: VPXCodec) -> Int { codec == .vp8 ? -12 : 9 }

  /// The values of `cpuUsed` that libvpx accepts.
  static func cpuUsedRange(_ codec: VPXCodec) -> ClosedRange<Int> { codec == .vp8 ? -16...16 : -9...9 }

  /// The same with every value brought into the range that libvpx accepts.
  func clamped(for codec: VPXCodec) -> VPXEncoderSettings {
    var s = self
    let speeds = Self.cpuUsedRange(codec)
    s.cpuUsed = min(max(cpuUsed, speeds.lowerBound), speeds.upperBound)
    s.staticThreshold = min(max(staticThreshold, 0), 1_000_000)
    s.movingThresholdLimit = min(max(movingThresholdLimit, 0), 1_000_000)
    s.maximumKeyframeInterval = min(max(maximumKeyframeInterval, 1), 1_000_000)
    s.minimumQuantizer = min(max(minimumQuantizer, 0), 63)
    s.maximumQuantizer = min(max(maximumQuantizer, s.minimumQuantizer), 63)
    s.undershootPercent = min(max(undershootPercent, 0), 100)
    s.overshootPercent = min(max(overshootPercent, 0), 100)
    s.bufferMilliseconds = min(max(bufferMilliseconds, 1), 60_000)
    s.bufferInitialMilliseconds = min(max(bufferInitialMilliseconds, 0), s.bufferMilliseconds)
    s.bufferOptimalMilliseconds = min(max(bufferOptimalMilliseconds, 0), s.bufferMilliseconds)
    s.maximumIntraBitratePercent = min(max(maximumIntraBitratePercent, 0), 10_000)
    s.keyframeShare = codec == .vp8 ? min(max(keyframeShare, 1), 16) : 1
    s.refersToLastOnly = refersToLastOnly && codec == .vp8
    s.stillQuantizer = stillQuantizer.map { min(max($0, 0), 63) }
    if s.stillQuantizer != nil, codec == .vp8 {
      // Below 4 libvpx raises the quantizer of the second order's DC alone. Together with a block's lower one that means two
      // things: libvpx brings their sum into range before that is added, FFmpeg and the decoder of RFC 6386 (section 9.6) do not.
      s.minimumQuantizer = max(s.minimumQuantizer, 4)
      s.maximumQuantizer = max(s.maximumQuantizer, s.minimumQuantizer)
    }
    s.noiseSensitivity = min(max(noiseSensitivity, 0), 6)
    s.adaptiveQuantization = min(max(adaptiveQuantization, 0), 3)
    s.tokenPartitions = min(max(tokenPartitions, 0), 3)
    return s
  }
}
