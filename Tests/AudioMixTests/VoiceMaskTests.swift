import MediaCore
import Testing

@testable import AudioMix

/// A voice that is nobody's.
@Suite struct VoiceMaskTests {
  /// So much is needed until all filters have settled, and as much again to look at.
  private static let length = 9_600

  /// A buzz of this pitch, as vowels are made of, for as long as `length`.
  private func buzz(period: Int, amplitude: Float = 0.3) -> [Float] {
    (0..<Self.length).flatMap { index in
      let sample = amplitude * (2 * Float(index % period) / Float(period) - 1)
      return [sample, sample]
    }
  }

  private func masked(_ samples: [Float], blocks: Int = 960) -> [Float] {
    var mask = VoiceMask()
    var samples = samples
    samples.withUnsafeMutableBufferPointer { all in
      for start in stride(from: 0, to: all.count, by: blocks * 2) {
        mask.process(UnsafeMutableBufferPointer(rebasing: all[start..<min(start + blocks * 2, all.count)]))
      }
    }
    return samples
  }

  /// How like a signal its second half is to itself `lag` samples before, 0...1.
  private func likeness(_ samples: [Float], lag: Int) -> Double {
    let one = left(samples).suffix(Self.length / 2)
    var (both, own, other) = (0.0, 0.0, 0.0)
    for index in one.indices {
      let (a, b) = (Double(one[index]), Double(samples[(index - lag) * 2]))
      both += a * b
      own += a * a
      other += b * b
    }
    return both / (own * other).squareRoot()
  }

  private func power(_ samples: some Collection<Float>) -> Double {
    samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(samples.count)
  }

  @Test func twoVoicesOfDifferentPitchBecomeOne() {
    // 240 and 145 Hz. The mask's own pitch is 117 Hz: 410 samples.
    for period in [200, 331] {
      let voice = buzz(period: period)
      #expect(likeness(voice, lag: period) > 0.99)
      let masked = masked(voice)
      #expect(likeness(masked, lag: 410) > 0.9, "\(period)")
      #expect(likeness(masked, lag: period) < 0.6, "\(period)")
    }
  }

  @Test func itIsAboutAsLoudAndSilenceStaysSilence() {
    let voice = buzz(period: 300)
    let ratio = power(masked(voice).suffix(Self.length)) / power(voice.suffix(Self.length))
    // Within 6 dB.
    #expect(ratio > 0.25 && ratio < 4, "\(ratio)")
    let silence = masked([Float](repeating: 0, count: Self.length))
    #expect(silence.allSatisfy { $0.magnitude < 1e-4 })
  }

  @Test func itFollowsWordsAndPauses() {
    var voice = buzz(period: 300)
    for index in voice.indices.suffix(voice.count / 2) { voice[index] = 0 }
    let masked = masked(voice)
    // 80 ms after the end of a word nothing is left of it.
    #expect(power(masked.suffix(voice.count / 2 - 2 * 3840)) < power(masked.prefix(voice.count / 2)) / 1000)
  }

  @Test func theSizeOfBlocksDoesNotMatter() {
    let voice = Array(buzz(period: 300).prefix(1_920))
    #expect(masked(voice) == masked(voice, blocks: 7))
  }

  @Test func aTrackIsMaskedSilencedAndLeftAsItComesFromTheNextBlockOn() throws {
    let mixer = Mixer()
    let track = mixer.addTrack()
    let voice = Array(buzz(period: 300).prefix(5 * 1920))
    mixer.insert(voice, at: 0, track: track)
    var tapped: [[Float]] = []
    func next() -> [Float] {
      var out = [Float](repeating: .nan, count: 1920)
      out.withUnsafeMutableBufferPointer { _ = mixer.mix(into: $0) { tapped.append(Array($1)) } }
      return out
    }
    let came = next()
    #expect(came.suffix(960) == voice[960..<1920])
    mixer.process(.silence, track: track)
    #expect(next().allSatisfy { $0 == 0 })
    #expect(mixer.level(of: track) != .silence)
    mixer.process(.voiceMask, track: track)
    let masked = next()
    #expect(masked != Array(voice[(2 * 1920)..<(3 * 1920)]) && masked.contains { $0 != 0 })
    mixer.process(nil, track: track)
    #expect(next() == Array(voice[(3 * 1920)..<(4 * 1920)]))
    // Who listens to one track hears no more than who listens to all.
    #expect(tapped[1].allSatisfy { $0 == 0 })
    #expect(tapped[2] == masked)
  }
}
