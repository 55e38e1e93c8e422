/// How libvpx encodes. The defaults are for a composed recording at constant bit rate in real time on one core.
public struct VP8EncoderSettings: Hashable, Sendable {
  /// Speed against quality in real-time mode, -16 (fastest) ... -1. -8 costs as much as -6 or -10 within the noise;
  /// beyond -12 quality falls off.
  public var cpuUsed = -8
  /// Differences below which a block counts as unchanged, 0... (1000 halves the cost of mostly still pictures).
  public var staticThreshold = 100
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
  /// Size of the decoder's buffer that the rate control models, milliseconds of the target rate.
  public var bufferMilliseconds = 1000
  /// What that buffer holds at the start.
  public var bufferInitialMilliseconds = 500
  /// What the rate control wants it to hold.
  public var bufferOptimalMilliseconds = 600
  /// Size of a keyframe at most, percent of an average frame.
  public var maximumIntraBitratePercent = 900
  /// Temporal noise filter, 0 (off) ... 6. A composed picture has no camera noise of its own.
  public var noiseSensitivity = 0
  /// Token partitions as a power of two, 0...3; more than one only serves decoders with threads.
  public var tokenPartitions = 0
  /// Frames stay decodable, though damaged, when others are lost. Costs bits; a file loses none.
  public var isErrorResilient = false

  /// The defaults.
  public init() {}

  /// The same with every value brought into the range that libvpx accepts.
  var clamped: VP8EncoderSettings {
    var s = self
    s.cpuUsed = min(max(cpuUsed, -16), 16)
    s.staticThreshold = min(max(staticThreshold, 0), 1_000_000)
    s.maximumKeyframeInterval = min(max(maximumKeyframeInterval, 1), 1_000_000)
    s.minimumQuantizer = min(max(minimumQuantizer, 0), 63)
    s.maximumQuantizer = min(max(maximumQuantizer, s.minimumQuantizer), 63)
    s.undershootPercent = min(max(undershootPercent, 0), 100)
    s.overshootPercent = min(max(overshootPercent, 0), 100)
    s.bufferMilliseconds = min(max(bufferMilliseconds, 1), 60_000)
    s.bufferInitialMilliseconds = min(max(bufferInitialMilliseconds, 0), s.bufferMilliseconds)
    s.bufferOptimalMilliseconds = min(max(bufferOptimalMilliseconds, 0), s.bufferMilliseconds)
    s.maximumIntraBitratePercent = min(max(maximumIntraBitratePercent, 0), 10_000)
    s.noiseSensitivity = min(max(noiseSensitivity, 0), 6)
    s.tokenPartitions = min(max(tokenPartitions, 0), 3)
    return s
  }
}
