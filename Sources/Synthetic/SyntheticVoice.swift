import MediaCore

/// A voice that says nothing: pulses of a slowly changing pitch through the resonances of vowels, in syllables, phrases
/// and pauses, at about -20 dBFS while it speaks. For demos and tests. 48 kHz. The same seed, identity and calls give
/// the same sound on every machine.
///
/// Large: the parts of a voice and their phases.
public struct SyntheticVoice: Sendable {
  /// Samples per second.
  public static let sampleRate = 48_000
  /// Root mean square that speech comes to, full scale 1: -20 dBFS.
  static let targetLevel: Float = 0.1

  /// How loud the voice is at this moment, 0 ... 1: for a mouth that moves with it.
  public private(set) var level: Float = 0

  private static let controlSamples = 96
  private var random: SeededRandom
  private var noise: UInt32
  private let basePitch: Float
  private let tractScale: Float
  private let tempo: Float
  private var gain: Float = 1

  // What is being said.
  private var syllablesLeft = 0
  private var syllablesInPhrase = 1
  private var stepsLeft = 0
  private var stepsInSyllable = 1
  private var isPausing = true
  private var accent: Float = 0
  private var fricativeSteps = 0
  private var target = SyntheticVoice.vowels[0]

  // Where the voice is, changing slowly.
  private var envelope: Float = 0
  private var hiss: Float = 0
  private var pitch: Float
  private var formants = SyntheticVoice.vowels[0]
  private var phase: Float = 0
  private var vibrato: Float = 0
  private var previous: Float = 0
  private var first = Resonator()
  private var second = Resonator()
  private var third = Resonator()
  private var sibilant = Resonator()
  private var controlLeft = 0
  private var meter: Float = 0

  private struct Vowel {
    var f1: Float
    var f2: Float
    var f3: Float
  }

  // Peterson and Barney's averages for men, Hz.
  private static let vowels: [Vowel] = [
    Vowel(f1: 730, f2: 1090, f3: 2440), Vowel(f1: 530, f2: 1840, f3: 2480), Vowel(f1: 390, f2: 1990, f3: 2550),
    Vowel(f1: 570, f2: 840, f3: 2410), Vowel(f1: 440, f2: 1020, f3: 2240), Vowel(f1: 500, f2: 1500, f3: 2500),
    Vowel(f1: 640, f2: 1190, f3: 2390),
  ]

  /// Makes a voice. `identity` is the participant's number, from 0: neighbours differ in pitch and timbre.
  public init(seed: UInt64, identity: Int) {
    let index = ((identity % 8) + 8) % 8
    random = SeededRandom(seed: seed ^ (UInt64(truncatingIfNeeded: identity) &* 0x2545_f491_4f6c_dd1d))
    noise = UInt32(truncatingIfNeeded: random.next()) | 1
    basePitch = [118, 205, 96, 178, 132, 225, 106, 190][index]
    tractScale = basePitch > 160 ? 1.16 : 1
    tempo = [1, 1.08, 0.92, 1.04, 0.97, 1.1, 0.94, 1.02][index]
    pitch = basePitch
    // A trial with another copy tells how loud this voice comes out.
    var trial = self
    gain = Self.targetLevel / max(0.000_1, trial.measure())
  }

  /// Adds nothing, overwrites all: the next samples of the voice.
  ///
  /// - Parameters:
  ///   - output: interleaved stereo (the same on both sides), full scale 1; an odd last float is left alone.
  ///   - isSpeaking: false lets the voice fall silent within a tenth of a second, then gives exact silence.
  public mutating func render(into output: UnsafeMutableBufferPointer<Float>, isSpeaking: Bool) {
    guard let base = output.baseAddress else { return }
    for index in 0..<(output.count / 2) {
      let value = next(isSpeaking: isSpeaking)
      base[index * 2] = value
      base[index * 2 + 1] = value
    }
  }

  private mutating func measure() -> Float {
    var sum: Float = 0
    var count: Float = 0
    for _ in 0..<(Self.sampleRate * 4) {
      let value = next(isSpeaking: true)
      // Pauses don't count, or voices that pause more would speak louder.
      if envelope > 0.2 {
        sum += value * value
        count += 1
      }
    }
    return count > 0 ? (sum / count).squareRoot() : 1
  }

  @inline(__always)
  private mutating func whiteNoise() -> Float {
    noise ^= noise << 13
    noise ^= noise >> 17
    noise ^= noise << 5
    return Float(Int32(bitPattern: noise)) / 2_147_483_648
  }

  private mutating func next(isSpeaking: Bool) -> Float {
    if controlLeft == 0 {
      controlLeft = Self.controlSamples
      control(isSpeaking: isSpeaking)
    }
    controlLeft -= 1
    if envelope == 0, hiss == 0 {
      level = 0
      return 0
    }
    phase += pitch / Float(Self.sampleRate)
    if phase >= 1 {
      phase -= 1
      // No two periods of a voice are alike.
      vibrato = 0.012 * whiteNoise()
    }
    // Rosenberg's glottal pulse: opens for 40 % of the period, closes within 16 %.
    let flow: Float
    if phase < 0.4 {
      let t = phase / 0.4
      flow = t * t * (3 - 2 * t)
    } else if phase < 0.56 {
      let t = (phase - 0.4) / 0.16
      flow = 1 - t * t
    } else {
      flow = 0
    }
    let breath = whiteNoise()
    let voiced = third.filter(second.filter(first.filter((flow + 0.02 * breath * flow) * envelope)))
    // The mouth radiates the change of the flow.
    let radiated = voiced - previous
    previous = voiced
    let value = (radiated + 0.022 * hiss * sibilant.filter(breath)) * gain
    meter += (value * value - meter) * 0.001
    return min(max(value, -0.9), 0.9)
  }

  // MARK: - Slow changes, every 2 ms

  private mutating func control(isSpeaking: Bool) {
    if stepsLeft == 0 { advance(isSpeaking: isSpeaking) }
    stepsLeft = max(0, stepsLeft - 1)
    let place = 1 - Float(stepsLeft) / Float(stepsInSyllable)
    let isVoiced = isSpeaking && !isPausing
    // A syllable rises for its first fifth and falls in its last third.
    let shape = isVoiced ? smoothStep(place / 0.2) * (1 - 0.75 * smoothStep((place - 0.62) / 0.38)) : 0
    envelope += (shape * (0.8 + 0.2 * accent) - envelope) * (isSpeaking ? 0.09 : 0.18)
    if envelope < 0.000_5, shape == 0 { envelope = 0 }
    if fricativeSteps > 0 { fricativeSteps -= 1 }
    hiss += ((isVoiced && fricativeSteps > 0 ? 1 : 0) - hiss) * 0.2
    if hiss < 0.000_5 { hiss = 0 }
    if envelope == 0, hiss == 0 {
      // At rest: what rings on in the filters is not heard any more.
      previous = 0
      meter = 0
      first.rest()
      second.rest()
      third.rest()
      sibilant.rest()
    }
    let declination = 0.12 * (Float(syllablesLeft) / Float(max(1, syllablesInPhrase)) - 0.4)
    let wanted = basePitch * (1 + declination + 0.09 * accent * sine(turns: place * 0.5) + vibrato)
    pitch += (wanted - pitch) * 0.05
    formants.f1 += (target.f1 - formants.f1) * 0.055
    formants.f2 += (target.f2 - formants.f2) * 0.055
    formants.f3 += (target.f3 - formants.f3) * 0.055
    first.tune(frequency: formants.f1 * tractScale, bandwidth: 75)
    second.tune(frequency: formants.f2 * tractScale, bandwidth: 105)
    third.tune(frequency: formants.f3 * tractScale, bandwidth: 170)
    sibilant.tune(frequency: 5200, bandwidth: 1900)
    level += (min(1, meter.squareRoot() / (Self.targetLevel * 1.5)) - level) * 0.06
    if envelope == 0 { level = 0 }
  }

  /// Chooses the next syllable or pause.
  private mutating func advance(isSpeaking: Bool) {
    if !isSpeaking {
      isPausing = true
      stepsInSyllable = 10
      stepsLeft = 10
      syllablesLeft = 0
      return
    }
    if syllablesLeft == 0 {
      if isPausing {
        syllablesInPhrase = 5 + Int(random.next() % 7)
        syllablesLeft = syllablesInPhrase
        isPausing = false
      } else {
        isPausing = true
        stepsInSyllable = 110 + Int(random.next() % 130)
        stepsLeft = stepsInSyllable
        return
      }
    }
    syllablesLeft -= 1
    let length = 95 + Float(random.next() % 60)
    stepsInSyllable = max(20, Int(length / tempo))
    if syllablesLeft == 0 { stepsInSyllable = stepsInSyllable * 4 / 3 }
    stepsLeft = stepsInSyllable
    accent = random.next() % 3 == 0 ? 1 : Float(random.next() % 100) / 250
    fricativeSteps = random.next() % 5 < 2 ? 22 + Int(random.next() % 16) : 0
    target = Self.vowels[Int(random.next() % UInt64(Self.vowels.count))]
  }
}

/// One resonance: a two-pole filter with a gain of 1 at zero frequency (Klatt's).
private struct Resonator: Sendable {
  private var a: Float = 1
  private var b: Float = 0
  private var c: Float = 0
  private var y1: Float = 0
  private var y2: Float = 0

  mutating func tune(frequency: Float, bandwidth: Float) {
    let radius = exponential(small: -3.141_592_7 * bandwidth / Float(SyntheticVoice.sampleRate))
    c = -radius * radius
    b = 2 * radius * cosine(smallRadians: 6.283_185_3 * frequency / Float(SyntheticVoice.sampleRate))
    a = 1 - b - c
  }

  @inline(__always)
  mutating func filter(_ x: Float) -> Float {
    let y = a * x + b * y1 + c * y2
    y2 = y1
    y1 = y
    return y
  }

  mutating func rest() {
    y1 = 0
    y2 = 0
  }
}
