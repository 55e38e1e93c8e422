import CEBUR128
import Testing

@testable import AudioMix

/// Two seconds and a half of somebody who talks, in syllables of 160 ms that are not alike, and a pause of a second: 48 kHz,
/// stereo, the loudest of full scale.
private let sentence: [Float] = {
  var samples = tone(count: 14 * 12_000, period: 240, amplitude: 1)
  let syllables: [Float] = [1, 0.4, 0.8, 0.3, 1, 0.25, 0.7, 1, 0.5, 0.6, 0, 0, 0, 0]
  for (index, amplitude) in syllables.enumerated() {
    for sample in (index * 24_000)..<((index + 1) * 24_000) {
      samples[sample] *= sample - index * 24_000 < 15_360 ? amplitude : 0
    }
  }
  return samples
}()

/// Half a second of a fan.
private let fan: [Float] = {
  var random = SplitMix(state: 1)
  return (0..<48_000).map { _ in Float.random(in: -1...1, using: &random) }
}()

private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// One speaker who is normalized, and what is heard.
private struct Speaker {
  var track: TrackLoudness
  let meter: LoudnessMeter
  /// Momentary loudness each 100 ms, as it comes out.
  var loudness: [Double] = []

  init() throws {
    track = try #require(TrackLoudness())
    meter = try #require(LoudnessMeter())
  }

  /// Plays a sound so often.
  mutating func play(_ sound: [Float], amplitude: Float, times: Int) {
    var quieter = sound
    for index in quieter.indices { quieter[index] *= amplitude }
    for _ in 0..<times {
      var copy = quieter
      copy.withUnsafeMutableBufferPointer { samples in
        for start in stride(from: 0, to: samples.count, by: 1920) {
          let block = UnsafeMutableBufferPointer(rebasing: samples[start..<(start + 1920)])
          track.normalize(block)
          meter.hear(UnsafeBufferPointer(block))
          if start / 1920 % 5 == 4 { loudness.append(meter.momentary) }
        }
      }
    }
  }

  /// Mean of what is speech in a range, LUFS.
  func spoken(_ range: some RangeExpression<Int>) -> Double {
    let spoken = loudness[range].filter { $0 > -40 }
    return recbot_decibels(spoken.reduce(0) { $0 + recbot_power($1) } / Double(max(1, spoken.count)))
  }
}

@Suite struct LoudnessTests {
  @Test func aMeterIsRight() throws {
    // ITU-R BS.1770: a tone of 997 Hz of full scale in one channel is -3.01 LUFS, in both 0.
    let meter = try #require(LoudnessMeter())
    #expect(meter.momentary == -.infinity)
    tone(count: 48_000, period: 48_000 / 997, amplitude: 1).withUnsafeBufferPointer { meter.hear($0) }
    #expect(abs(meter.momentary) < 0.1, "\(meter.momentary)")
  }

  @Test(arguments: [Float(0.04), 0.1, 0.3, 0.9])
  func speakersAreBroughtToOneLoudness(amplitude: Float) throws {
    var speaker = try Speaker()
    speaker.play(sentence, amplitude: amplitude, times: 5)
    let (early, late) = (speaker.spoken(20..<26), speaker.spoken(65...))
    #expect(abs(late - LoudnessNormalizer.target) < 1, "\(late) LUFS")
    #expect(abs(early - LoudnessNormalizer.target) < 3, "\(early) LUFS after two seconds")
  }

  @Test func aFanIsNotAmplified() throws {
    var track = try #require(TrackLoudness())
    var samples = fan
    for index in samples.indices { samples[index] *= 0.01 }
    let before = samples
    for _ in 0..<20 {
      samples.withUnsafeMutableBufferPointer { samples in
        for start in stride(from: 0, to: samples.count, by: 1920) {
          track.normalize(UnsafeMutableBufferPointer(rebasing: samples[start..<(start + 1920)]))
        }
      }
    }
    #expect(samples.elementsEqual(before))
  }

  @Test func aFanDoesNotSwellInAPause() throws {
    var speaker = try Speaker()
    speaker.play(sentence, amplitude: 0.1, times: 4)
    speaker.play(fan, amplitude: 0.004, times: 60)
    let (early, late) = (speaker.loudness[160], speaker.loudness[420])
    #expect(early > -60 && abs(early - late) < 0.5, "\(early), then \(late)")
  }

  @Test func somebodyWhoMovesAwayIsBroughtBack() throws {
    var speaker = try Speaker()
    speaker.play(sentence, amplitude: 0.5, times: 4)
    speaker.play(sentence, amplitude: 0.05, times: 12)
    let late = speaker.spoken((speaker.loudness.count - 65)...)
    #expect(abs(late - LoudnessNormalizer.target) < 1.5, "\(late) LUFS")
  }

  @Test func theHissBeforeTheFirstWordsIsNoSpeech() {
    // A recording that begins in the middle of a word hears the hiss behind it, louder than silence, before it knows the speaker.
    var normalizer = LoudnessNormalizer()
    for _ in 0..<24 { normalizer.take(-31.4) }
    for _ in 0..<50 { normalizer.take(-54) }
    for _ in 0..<30 { normalizer.take(-31.4) }
    #expect(abs(normalizer.gain - 15.4) < 0.1, "\(normalizer.gain) dB")
  }

  @Test func aGainHasBounds() {
    var normalizer = LoudnessNormalizer()
    for index in 0..<600 { normalizer.take(index % 8 < 5 ? -50 : -58) }
    #expect(normalizer.gain == LoudnessNormalizer.mostGain)
    for index in 0..<600 { normalizer.take(index % 8 < 5 ? 15 : -70) }
    #expect(normalizer.gain == -LoudnessNormalizer.mostGain)
    for value in [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude] {
      normalizer.take(value)
      #expect(normalizer.gain.magnitude <= LoudnessNormalizer.mostGain, "\(value)")
    }
  }

  @Test func silenceChangesNothing() {
    var normalizer = LoudnessNormalizer()
    for index in 0..<100 { normalizer.take(index % 8 < 5 ? -30 : -60) }
    let gain = normalizer.gain
    for _ in 0..<1000 { normalizer.take(-.infinity) }
    #expect(gain > 10 && normalizer.gain == gain)
  }

  @Test func aMixerNormalizesWhenItIsTold() {
    for isTold in [false, true] {
      let mixer = Mixer(normalizesLoudness: isTold)
      let track = mixer.addTrack()
      var peak: Float = 0
      for start in stride(from: 0, to: sentence.count, by: 1920) {
        let block = sentence[start..<(start + 1920)].map { $0 * 0.1 }
        mixer.insert(block, at: Int64(start / 2), track: track)
        peak = max(peak, mixer.mix().map(\.magnitude).max() ?? 0)
      }
      // As it comes, or some 13 dB louder.
      #expect(isTold ? peak > 0.3 : abs(peak - 0.1) < 0.001, "\(peak)")
    }
  }

  /// One is brought to the loudness that `--loudness` gives to all, and stays there until it is taken back.
  @Test(arguments: [false, true]) func oneTrackAloneMayBeNormalized(isNormalizedAnyway: Bool) throws {
    let mixer = Mixer(trackCapacity: 480_000, normalizesLoudness: isNormalizedAnyway)
    let track = mixer.addTrack()
    mixer.process(.loudness, track: track)
    var speaker = try Speaker()
    var alike = 0
    var out = [Float](repeating: 0, count: 1920)
    let quiet = sentence.prefix(8 * 24_000).map { $0 * 0.1 }
    for turn in 0..<2 {
      var spoken = quiet
      if turn == 1 { mixer.process(nil, track: track) }
      mixer.insert(quiet, at: mixer.position, track: track)
      spoken.withUnsafeMutableBufferPointer { samples in
        for start in stride(from: 0, to: samples.count, by: 1920) {
          let block = UnsafeMutableBufferPointer(rebasing: samples[start..<(start + 1920)])
          // Taken back, sound is as it comes, or as all sound is made.
          if turn == 0 || isNormalizedAnyway { speaker.track.normalize(block) }
          out.withUnsafeMutableBufferPointer { _ = mixer.mix(into: $0) }
          if zip(out, block).allSatisfy({ abs($0 - $1) < 1e-4 }) { alike += 1 }
        }
      }
      #expect((spoken != quiet) == (turn == 0 || isNormalizedAnyway))
    }
    // The first block fades in.
    #expect(alike >= 2 * quiet.count / 1920 - 1, "\(alike)")
  }
}
