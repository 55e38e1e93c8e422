/// A stretch of sound: 48 kHz, one or two channels, full scale -1...1. A value that may be kept.
public struct AudioBlock: Sendable {
  /// Samples a second and channel.
  public static let sampleRate = 48_000

  /// The samples, those of one instant side by side.
  public var samples: [Float]
  /// 1 or 2.
  public let channels: Int
  /// When its first sample was captured, on its source's own clock: since the first of a received track. Silence that a
  /// publisher does not send makes no block: a gap shows here. Of one's own sound, nil: it follows what came before.
  public var time: Duration?

  /// Makes a block. Of samples that make no whole instant the rest is left out; `channels` is brought into 1...2.
  public init(_ samples: [Float], channels: Int = 2, time: Duration? = nil) {
    let channels = min(max(1, channels), 2)
    self.channels = channels
    self.samples = samples.count % channels == 0 ? samples : Array(samples.dropLast(samples.count % channels))
    self.time = time
  }

  /// How long it is.
  public var duration: Duration { .nanoseconds(Int64(samples.count / channels) * 125_000 / 6) }
}
