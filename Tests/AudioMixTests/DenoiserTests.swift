import MediaCore
import Testing

@testable import AudioMix

/// Less of what goes on behind a voice.
@Suite struct DenoiserTests {
  /// Samples of a second, of a word and of the pause behind it.
  private static let second = 48_000, word = 16_800, pause = 12_000

  /// Words with pauses, of a voice of 150 Hz, both sides alike.
  private func words(seconds: Int) -> [Float] {
    (0..<seconds * Self.second).flatMap { index -> [Float] in
      let isWord = index % (Self.word + Self.pause) < Self.word
      let sample: Float = isWord ? 0.2 * (2 * Float(index % 320) / 320 - 1) : 0
      return [sample, sample]
    }
  }

  /// White noise of this amplitude, on each side another.
  private func noise(seconds: Int, amplitude: Float) -> [Float] {
    var random = SeededRandom(seed: 7)
    return (0..<seconds * Self.second * 2).map { _ in Float.random(in: -amplitude...amplitude, using: &random) }
  }

  private func denoised(_ samples: [Float], block: Int = 960) throws -> [Float] {
    let denoiser = try #require(Denoiser())
    var samples = samples
    samples.withUnsafeMutableBufferPointer { all in
      for start in stride(from: 0, to: all.count, by: block * 2) {
        denoiser.process(UnsafeMutableBufferPointer(rebasing: all[start..<min(start + block * 2, all.count)]))
      }
    }
    return samples
  }

  /// The mean square of what lies in words or in pauses of the fourth second and later, `delay` samples behind; but not next to
  /// their ends.
  private func power(_ samples: [Float], inWords: Bool, delay: Int) -> Double {
    let margin = 2_400
    var (sum, count) = (0.0, 0)
    for index in (3 * Self.second)..<(samples.count / 2 - delay) {
      let place = index % (Self.word + Self.pause)
      let part = inWords ? 0..<Self.word : Self.word..<(Self.word + Self.pause)
      guard (part.lowerBound + margin..<part.upperBound - margin).contains(place) else { continue }
      sum += Double(samples[2 * (index + delay)] * samples[2 * (index + delay)])
      count += 1
    }
    return sum / Double(count)
  }

  @Test func pausesAreTenTimesQuieterAndWordsAsLoudAsBefore() throws {
    let voice = words(seconds: 8)
    let came = zip(voice, noise(seconds: 8, amplitude: 0.02)).map { $0 + $1 }
    let went = try denoised(came)
    let delay = Denoiser.delay
    #expect(power(went, inWords: false, delay: delay) < power(came, inWords: false, delay: 0) / 10)
    let ratio = power(went, inWords: true, delay: delay) / power(voice, inWords: true, delay: 0)
    // Within 1 dB.
    #expect(ratio > 0.8 && ratio < 1.26, "\(ratio)")
  }

  @Test func aVoiceWithoutNoiseComesTenMillisecondsLater() throws {
    let voice = words(seconds: 5)
    let went = try denoised(voice)
    var (both, own, other) = (0.0, 0.0, 0.0)
    for index in (4 * Self.second)..<(5 * Self.second - Denoiser.delay) {
      let (a, b) = (Double(voice[2 * index]), Double(went[2 * (index + Denoiser.delay)]))
      both += a * b
      own += a * a
      other += b * b
    }
    #expect(both / (own * other).squareRoot() > 0.98)
  }

  @Test func silenceStaysSilenceAndBothSidesAreOne() throws {
    #expect(try denoised([Float](repeating: 0, count: Self.second * 2)).allSatisfy { $0.magnitude < 1e-4 })
    let went = try denoised(noise(seconds: 1, amplitude: 0.5))
    #expect(stride(from: 0, to: went.count, by: 2).allSatisfy { went[$0] == went[$0 + 1] })
  }

  @Test func whatIsNoNumberAndWhatIsTooLoudDoesNoHarm() throws {
    let strange: [Float] = [.nan, .infinity, -.infinity, 1e30, -1e30, 5, -5, .leastNonzeroMagnitude]
    let went = try denoised((0..<Self.second).map { strange[$0 % strange.count] })
    #expect(went.allSatisfy { $0.isFinite && $0.magnitude <= 1.001 })
  }

  @Test func aBlockThatIsNoMultipleKeepsItsRest() throws {
    let came = [Float](repeating: 0.25, count: 2 * 700)
    let went = try denoised(came, block: 700)
    #expect(went.suffix(2 * 220) == came.suffix(2 * 220))
    #expect(went.prefix(960) != came.prefix(960))
    #expect(try denoised([0.25, 0.25]) == [0.25, 0.25])
  }

  @Test func aTrackIsDenoisedFromTheNextBlockOn() {
    let mixer = Mixer()
    let (one, other) = (mixer.addTrack(), mixer.addTrack())
    let came = noise(seconds: 2, amplitude: 0.02)
    var tapped: [Mixer.Track: [Float]] = [:]
    for block in 0..<100 {
      for track in [one, other] {
        came[(block * 1920)..<((block + 1) * 1920)].withUnsafeBufferPointer {
          mixer.insert(UnsafeBufferPointer(rebasing: $0[...]), at: Int64(block * 960), track: track)
        }
      }
      if block == 1 { mixer.process(.denoise, track: one) }
      var out = [Float](repeating: .nan, count: 1920)
      out.withUnsafeMutableBufferPointer { _ = mixer.mix(into: $0) { tapped[$0, default: []] += $1 } }
    }
    func power(_ samples: some Collection<Float>) -> Float { samples.reduce(0) { $0 + $1 * $1 } }
    #expect(tapped[one]?.prefix(1920) == tapped[other]?.prefix(1920))
    #expect(power(tapped[one]?.suffix(19_200) ?? []) < power(tapped[other]?.suffix(19_200) ?? []) / 3)
    mixer.process(nil, track: one)
  }
}
