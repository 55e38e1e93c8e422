import CEBUR128

/// Says by which gain one speaker comes to `target`, whatever the microphone.
///
/// What is measured is speech: momentary loudness above an absolute gate, and not ten below the speaker's own mean (EBU R 128's
/// relative gate), which noise that came before the first words is below as soon as they come. What stays within 4 LU for five seconds is a fan or a tone, not somebody who talks. The mean is over the last
/// ten seconds of speech; a speaker who goes on much quieter for as long is measured anew. The gain moves while there is speech
/// only, so that noise never swells in a pause: at once down, slowly up, and quickly in the first two seconds.
public struct LoudnessNormalizer: Sendable {
  /// Where speakers are brought, LUFS.
  public static let target = -16.0
  /// Samples of sound for each value that is taken: 100 ms at 48 kHz.
  public static let stepSamples = 4800
  /// The gain is never more than this up or down, decibels.
  public static let mostGain = 20.0
  /// What is quieter is no speech, LUFS.
  static let absoluteGate = -55.0
  /// What is so much quieter than the speaker's mean is a pause, LU.
  static let relativeGate = 10.0
  /// What changes less than this in five seconds is no speech, LU.
  static let steadyRange = 4.0
  /// Values in the mean: ten seconds.
  private static let meanCount = 100
  /// Values at whose range is looked: five seconds.
  private static let rangeCount = 50
  /// Values in which the gain rises quickly: two seconds.
  private static let firstCount = 20

  /// The gain, decibels.
  public private(set) var gain = 0.0
  /// The last values, the oldest of them at `next` when it is full; never below -70.
  private var values: [Double] = []
  private var next = 0
  /// Values that were left out at the beginning.
  private var skipped = 0
  /// Powers of the last speech, the oldest of them at `nextSpeech` when it is full.
  private var speech: [Double] = []
  private var nextSpeech = 0
  /// Values of speech so far, at most `firstCount`.
  private var heard = 0
  /// Values in a row that were speech, but for the relative gate.
  private var quiet = 0

  /// Knows nothing of the speaker; the gain is 0.
  public init() {
    values.reserveCapacity(Self.rangeCount)
    speech.reserveCapacity(Self.meanCount)
  }

  /// Takes the momentary loudness after another `stepSamples`, LUFS.
  public mutating func take(_ loudness: Double) {
    let loudness = loudness.isNaN ? -70 : min(max(loudness, -70), 20)
    keep(loudness)
    guard loudness > Self.absoluteGate, !isSteady else { return }
    if !speech.isEmpty, loudness < recbot_decibels(mean) - Self.relativeGate {
      quiet += 1
      guard quiet >= Self.meanCount else { return }
      speech.removeAll(keepingCapacity: true)
      nextSpeech = 0
    }
    quiet = 0
    if speech.count < Self.meanCount {
      speech.append(recbot_power(loudness))
    } else {
      speech[nextSpeech] = recbot_power(loudness)
      nextSpeech = (nextSpeech + 1) % Self.meanCount
    }
    heard = min(heard + 1, Self.firstCount)
    let wanted = min(max(Self.target - recbot_decibels(mean), -Self.mostGain), Self.mostGain)
    gain = min(max(wanted, gain - 3), gain + (heard < Self.firstCount ? 2 : 0.6))
  }

  /// The mean power of the last speech, without what is so far below the mean of all of it that it is a pause, or was noise before the
  /// first word (EBU R 128's two steps).
  private var mean: Double {
    let gate = speech.reduce(0, +) / Double(speech.count) / recbot_power(Self.relativeGate)
    let (sum, count) = speech.reduce(into: (0.0, 0.0)) { if $1 >= gate { $0 = ($0.0 + $1, $0.1 + 1) } }
    return sum / max(count, 1)
  }

  private mutating func keep(_ value: Double) {
    // A meter's first values are of a window that is not full yet: they rise, whatever is heard.
    guard skipped >= 3 else { return skipped += 1 }
    if values.count < Self.rangeCount {
      values.append(value)
    } else {
      values[next] = value
      next = (next + 1) % Self.rangeCount
    }
  }

  /// True when nothing has changed for as long as is looked, or since the beginning.
  private var isSteady: Bool {
    guard let least = values.min(), let most = values.max() else { return true }
    return most - least < Self.steadyRange
  }
}

/// One track's way to the normalized loudness: measured as it is, then amplified. Confined to one thread at a time.
struct TrackLoudness {
  private let meter: LoudnessMeter
  private var normalizer = LoudnessNormalizer()
  /// Samples since the last value was taken.
  private var samples = 0
  /// What the last sample was multiplied by.
  private var factor: Float = 1
  /// The gain as a factor of amplitude, which the next samples reach.
  private var end: Float = 1

  /// Nil when there is no memory.
  init?() {
    guard let meter = LoudnessMeter() else { return nil }
    self.meter = meter
  }

  /// Amplifies the next samples in place, interleaved stereo; the gain moves in a straight line over them.
  mutating func normalize(_ block: UnsafeMutableBufferPointer<Float>) {
    meter.hear(UnsafeBufferPointer(block))
    let count = block.count / 2
    samples += count
    if samples >= LoudnessNormalizer.stepSamples {
      samples -= LoudnessNormalizer.stepSamples
      normalizer.take(meter.momentary)
      // Half the decibels: a factor of amplitude is the root of that of power.
      end = Float(recbot_power(normalizer.gain / 2))
    }
    guard count > 0, factor != 1 || end != 1 else { return }
    let slope = (end - factor) / Float(count)
    for index in 0..<count {
      let here = factor + slope * Float(index + 1)
      block[index * 2] *= here
      block[index * 2 + 1] *= here
    }
    factor = end
  }
}
