/// Says somebody's words in a voice that is nobody's: a channel vocoder. Of the voice only its loudness in sixteen bands is kept,
/// as it changes slower than any voice swings; each band of a made sound of constant pitch is as loud.
///
/// The pitch and its course are gone, but for what is 38 dB down, and so is what is finer than a band. Words, their pace and an
/// accent stay, by which those who know somebody well may know them still.
struct VoiceMask: Sendable {
  private typealias Bands = SIMD16<Float>

  /// Two band filters one after another for each band: state-variable filters with trapezoidal integration, two poles each.
  private struct FilterBank: Sendable {
    private var states = (Bands.zero, Bands.zero, Bands.zero, Bands.zero)

    /// What of a sample lies in each band.
    mutating func filter(_ sample: Float) -> Bands {
      let first = Self.step(Bands(repeating: sample), &states.0, &states.1)
      return Self.step(first, &states.2, &states.3)
    }

    private static func step(_ input: Bands, _ one: inout Bands, _ two: inout Bands) -> Bands {
      let difference = input - two
      let band = coefficients.a1 * one + coefficients.a2 * difference
      let low = two + coefficients.a2 * one + coefficients.a3 * difference
      one = 2 * band - one
      two = 2 * low - two
      return damping * band
    }

    /// 1/Q: where two bands meet both are 4 dB down.
    private static let damping: Float = 0.35
    /// Middles of the bands: from 120 Hz on, each 1.305 times the one before, to 6.5 kHz.
    private static let coefficients: (a1: Bands, a2: Bands, a3: Bands) = {
      var slopes = Bands.zero
      var angle = Float.pi * 120 / 48_000
      for band in 0..<Bands.scalarCount {
        // The tangent (Padé, good to 1e-5 here), so that each middle is where it should be.
        slopes[band] = angle * (15 - angle * angle) / (15 - 6 * angle * angle)
        angle *= 1.305
      }
      let a1 = 1 / (1 + slopes * (slopes + damping))
      return (a1, slopes * a1, slopes * slopes * a1)
    }()
  }

  /// The made sound: a sawtooth in the lower bands, noise in the upper ones, where speech hisses.
  private struct Carrier: Sendable {
    private static let firstNoisyBand = 12
    /// 117 Hz, between the voices of men and women.
    private static let step: Float = 117.0 / 48_000
    private static let isNoisy = {
      var mask = SIMDMask<SIMD16<Int32>>(repeating: false)
      for band in firstNoisyBand..<Bands.scalarCount { mask[band] = true }
      return mask
    }()

    private var phase: Float = 0
    private var random: UInt32 = 0x1234_5678
    private var voiced = FilterBank()
    private var hissing = FilterBank()

    mutating func next() -> Bands {
      phase += Self.step
      if phase >= 1 { phase -= 1 }
      // Numerical Recipes' generator: good enough for noise, and the same every time.
      random = random &* 1_664_525 &+ 1_013_904_223
      let noise = Float(Int32(bitPattern: random)) / Float(Int32.max)
      return voiced.filter(2 * phase - 1).replacing(with: hissing.filter(noise), where: Self.isNoisy)
    }
  }

  /// How quickly a band's loudness follows: four poles at 30 Hz, so that the swings of words (up to 13 Hz) come through, and
  /// those of the lowest voices (85 Hz) do not.
  private static let follow: Float = 2 * .pi * 30 / 48_000
  /// Mean squares below this are silence (-100 dBFS), and noise in it is not brought up.
  private static let floor: Float = 1e-10
  /// What lies between the bands' middles is brought up again: speech is then as loud as before, within 3 dB.
  private static let gain: Float = 1.5

  private var analysis = FilterBank()
  private var carrier: Carrier
  private var power = (Bands.zero, Bands.zero, Bands.zero, Bands.zero)
  /// What each band of the carrier has on average.
  private let carrierPower: Bands

  /// A mask that has heard nothing.
  init() {
    (carrier, carrierPower) = Self.warm
  }

  /// The carrier after its filters have settled, and the power of its bands.
  private static let warm: (Carrier, Bands) = {
    var carrier = Carrier()
    for _ in 0..<2400 { _ = carrier.next() }
    var sum = Bands.zero
    let count = 4800
    for _ in 0..<count {
      let bands = carrier.next()
      sum += bands * bands
    }
    return (carrier, sum / Float(count))
  }()

  /// Puts the other voice in the place of what is there: interleaved stereo at 48 kHz, both sides the same afterwards.
  mutating func process(_ block: UnsafeMutableBufferPointer<Float>) {
    for index in stride(from: 0, to: block.count - 1, by: 2) {
      // So that filters never count with numbers that are too small for the processor to be quick with.
      let bands = analysis.filter((block[index] + block[index + 1]) / 2 + 1e-12)
      power.0 += Self.follow * (bands * bands - power.0)
      power.1 += Self.follow * (power.0 - power.1)
      power.2 += Self.follow * (power.1 - power.2)
      power.3 += Self.follow * (power.2 - power.3)
      let gains = (power.3 / carrierPower).squareRoot().replacing(with: 0, where: power.3 .< Self.floor)
      let sample = Self.gain * (gains * carrier.next()).sum()
      block[index] = sample
      block[index + 1] = sample
    }
  }
}
