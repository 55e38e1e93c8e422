import MediaCore
import Testing

@testable import AudioMix

@Suite struct MixerTests {
  @Test func durationIsExactWhateverIsInserted() {
    let mixer = Mixer()
    let track = mixer.addTrack()
    for block in 0..<100 {
      if block % 3 == 0 {
        mixer.insert(tone(count: 960, period: 100), at: mixer.position + 960, track: track)
      }
      #expect(mixer.mix().count == 1920)
      #expect(mixer.position == Int64(block + 1) * 960)
    }
  }

  @Test func whatCameTooLateIsCountedAlsoOfTracksThatAreGone() {
    let mixer = Mixer()
    let a = mixer.addTrack()
    let b = mixer.addTrack()
    for _ in 0..<3 { _ = mixer.mix() }
    mixer.insert(tone(count: 960, period: 100), at: 960, track: a)
    mixer.insert(tone(count: 960, period: 100), at: 2400, track: b)
    #expect(mixer.droppedSamples == 960 + 480)
    mixer.removeTrack(a)
    mixer.removeTrack(b)
    for _ in 0..<3 { _ = mixer.mix() }
    #expect(mixer.trackCount == 0)
    #expect(mixer.droppedSamples == 960 + 480)
  }

  @Test func nobodyIsExactSilence() {
    let mixer = Mixer()
    #expect(mixer.mix().allSatisfy { $0 == 0 })
    let track = mixer.addTrack()
    #expect(mixer.mix().allSatisfy { $0 == 0 })
    #expect(mixer.level(of: track) == .silence)
    #expect(mixer.level(of: track).headerExtensionValue == 127)
  }

  @Test func quietTracksAreAddedUntouched() {
    let mixer = Mixer()
    let a = mixer.addTrack()
    let b = mixer.addTrack()
    let one = tone(count: 1920, period: 100, amplitude: 0.25)
    let two = tone(count: 1920, period: 77, amplitude: 0.25)
    mixer.insert(one, at: 0, track: a)
    mixer.insert(two, at: 0, track: b)
    _ = mixer.mix()
    let second = mixer.mix()
    #expect(second == zip(one, two).map { $0 + $1 }.suffix(1920))
    #expect(mixer.limiterGain == 1)
  }

  @Test func manyLoudTracksStayBelowFullScaleAndRecover() {
    let mixer = Mixer()
    let tracks = (0..<9).map { _ in mixer.addTrack() }
    var out: [Float] = []
    for block in 0..<100 {
      if block < 30 {
        for (index, track) in tracks.enumerated() {
          mixer.insert(
            tone(count: 960, period: Float(90 + index * 7), phase: Float(block * 960)), at: mixer.position,
            track: track)
        }
      }
      out += mixer.mix()
    }
    #expect(out.allSatisfy { $0.magnitude <= 1 })
    #expect(out.map(\.magnitude).max() ?? 0 > 0.8)
    #expect(mixer.limiterGain == 1)
    #expect(out.suffix(960).allSatisfy { $0 == 0 })
  }

  @Test func theLimiterMovesWithoutSteps() {
    var limiter = Limiter()
    var out: [Float] = []
    for block in 0..<60 {
      // 12 dB too loud for a while.
      let amplitude: Float = (20..<40).contains(block) ? 4 : 0.5
      var samples = tone(count: 960, period: 960, phase: 0, amplitude: amplitude)
      samples.withUnsafeMutableBufferPointer { limiter.process($0) }
      out += left(samples)
    }
    #expect(out.allSatisfy { $0.magnitude <= 1 })
    // 4 x the tone's slope is 0.026; a gain that jumped would step by far more.
    #expect(largestStep(out) < 0.05)
    #expect(Array(out[..<19_200]) == (0..<20).flatMap { _ in left(tone(count: 960, period: 960)) })
  }

  @Test func soundBelowTheCeilingPassesTheLimiterBitByBit() {
    var limiter = Limiter()
    let samples = tone(count: 4800, period: 50, amplitude: 0.89)
    var copy = samples
    copy.withUnsafeMutableBufferPointer { limiter.process($0) }
    #expect(copy == samples)
  }

  @Test(arguments: 0..<30)
  func theLimiterKeepsAnythingWithinFullScale(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var limiter = Limiter()
    for _ in 0..<50 {
      let count = Int(random.next() % 1000)
      let scale = Float(random.next() % 16)
      var samples = (0..<(count * 2)).map { _ in scale * (Float(random.next() % 2001) / 1000 - 1) }
      samples.withUnsafeMutableBufferPointer { limiter.process($0) }
      #expect(samples.allSatisfy { $0.magnitude <= 1 }, "seed \(seed)")
      #expect(limiter.gain > 0 && limiter.gain <= 1, "seed \(seed)")
    }
  }

  @Test func aRemovedTrackPlaysWhatItHasAndIsForgotten() {
    let mixer = Mixer()
    let track = mixer.addTrack()
    mixer.insert([Float](repeating: 0.5, count: 1440 * 2), at: 0, track: track)
    mixer.removeTrack(track)
    mixer.insert([Float](repeating: 0.5, count: 960 * 2), at: 1440, track: track)
    let out = left(mixer.mix() + mixer.mix() + mixer.mix())
    #expect(out[240..<1440].allSatisfy { $0 == 0.5 })
    #expect(out[(1440 + 240)...].allSatisfy { $0 == 0 })
    #expect(mixer.trackCount == 0)
  }

  @Test func tracksComeAndGoWithoutMovingTheOthers() {
    let mixer = Mixer()
    let steady = mixer.addTrack()
    var out: [Float] = []
    for block in 0..<40 {
      mixer.insert(
        tone(count: 960, period: 480, phase: 0, amplitude: 0.25), at: Int64(block) * 960, track: steady)
      if block % 5 == 0 {
        let guest = mixer.addTrack()
        mixer.removeTrack(guest)
      }
      out += left(mixer.mix())
    }
    // 960 samples are two periods, so every block is the same.
    let block = left(tone(count: 960, period: 480, amplitude: 0.25))
    #expect(out.indices.dropFirst(240).allSatisfy { out[$0] == block[$0 % 960] })
  }

  @Test func levelsAreInDecibelsBelowOverload() {
    let sine = tone(count: 4800, period: 48, amplitude: 1)
    let level = sine.withUnsafeBufferPointer { AudioLevel(of: $0) }
    #expect((level.decibels + 3.01).magnitude < 0.01)
    #expect((level.peakDecibels - 0).magnitude < 0.01)
    #expect(level.headerExtensionValue == 3)
    let quiet = AudioLevel(meanSquare: 0.01 * 0.01, peak: 0.01)
    #expect((quiet.decibels + 40).magnitude < 0.01)
    #expect((quiet.peakDecibels + 40).magnitude < 0.01)
    #expect(AudioLevel.silence.decibels == -127)
    #expect(AudioLevel(meanSquare: 1, peak: 1).decibels.magnitude < 0.001)
    #expect(AudioLevel(meanSquare: 64, peak: 8).decibels == 0)
    #expect(AudioLevel(meanSquare: .infinity, peak: .nan).headerExtensionValue == 0)
  }

  @Test func buffersOfAnotherSizeAreRefused() {
    let mixer = Mixer()
    var wrong = [Float](repeating: 0.25, count: 100)
    #expect(wrong.withUnsafeMutableBufferPointer { mixer.mix(into: $0) } == false)
    #expect(wrong.allSatisfy { $0 == 0.25 })
    #expect(mixer.position == 0)
  }
}
