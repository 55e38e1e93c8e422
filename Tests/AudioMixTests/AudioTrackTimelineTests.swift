import MediaCore
import Testing

@testable import AudioMix

@Suite struct AudioTrackTimelineTests {
  private let fade = AudioTrackTimeline.fadeSamples

  @Test func silenceIsExactWhereNothingWasInserted() {
    let timeline = AudioTrackTimeline()
    #expect(timeline.read(4800).allSatisfy { $0 == 0 })
    #expect(timeline.readPosition == 4800)
    #expect(timeline.isDrained)
  }

  @Test func contiguousStretchesAreJoinedSampleExactly() {
    let timeline = AudioTrackTimeline()
    let sound = tone(count: 9600, period: 100)
    for block in 0..<10 {
      timeline.insert(Array(sound[(block * 1920)..<((block + 1) * 1920)]), at: Int64(1000 + block * 960))
    }
    let out = timeline.read(1000 + 9600 + fade + 1000)
    #expect(out[..<2000].allSatisfy { $0 == 0 })
    #expect(Array(out[(2000 + fade * 2)..<(2000 + 19_200)]) == Array(sound[(fade * 2)...]))
    #expect(out[(2000 + 19_200 + fade * 2)...].allSatisfy { $0 == 0 })
    #expect(timeline.statistics.anchors == 1)
    #expect(timeline.statistics.correctedSamples == 0)
  }

  @Test func soundFadesInAndOutWithoutAStep() {
    let timeline = AudioTrackTimeline()
    // A constant, which is the worst case: a step of 0.8 at both ends.
    timeline.insert([Float](repeating: 0.8, count: 1920), at: 500)
    let out = left(timeline.read(3000))
    #expect(largestStep(out) < 0.8 / Float(fade) + 0.001)
    #expect(out[500 + fade..<1460].allSatisfy { $0 == 0.8 })
    #expect(out[..<500].allSatisfy { $0 == 0 })
    #expect(out[(1460 + fade)...].allSatisfy { $0 == 0 })
  }

  @Test func stretchesShorterThanAFadeLeaveNoStep() {
    for count in [1, 2, 7, 120, 239, 240, 241] {
      let timeline = AudioTrackTimeline()
      timeline.insert([Float](repeating: 0.8, count: count * 2), at: 100)
      let out = left(timeline.read(1500))
      #expect(largestStep(out) < 0.01, "\(count) samples")
      #expect(out[(100 + count + fade)...].allSatisfy { $0 == 0 })
    }
  }

  @Test func aGapIsSilentForExactlyItsLength() {
    let timeline = AudioTrackTimeline()
    let sound = [Float](repeating: 0.5, count: 4800 * 2)
    timeline.insert(sound, at: 0)
    timeline.insert(sound, at: 4800 + 12_000)
    let out = left(timeline.read(24_000))
    #expect(out[(4800 + fade)..<16_800].allSatisfy { $0 == 0 })
    #expect(out[16_800] > 0 && out[16_800 + fade] == 0.5)
    #expect(largestStep(out) < 0.01)
    #expect(timeline.statistics.anchors == 2)
  }

  @Test func aJumpBackReplacesWhatWasPlacedThere() {
    let timeline = AudioTrackTimeline()
    timeline.insert([Float](repeating: 0.5, count: 9600 * 2), at: 0)
    timeline.insert([Float](repeating: -0.5, count: 960 * 2), at: 4800)
    let out = left(timeline.read(12_000))
    #expect(out[4799] == 0.5)
    #expect(out[(4800 + fade)..<5760].allSatisfy { $0 == -0.5 })
    #expect(out[(5760 + fade)...].allSatisfy { $0 == 0 })
    #expect(largestStep(out) < 0.01)
  }

  @Test func lateSoundIsDroppedAndWhatRemainsFadesIn() {
    let timeline = AudioTrackTimeline()
    _ = timeline.read(960)
    timeline.insert([Float](repeating: 0.5, count: 960 * 2), at: 480)
    timeline.insert([Float](repeating: 0.5, count: 100 * 2), at: 100)
    #expect(timeline.statistics.lateSamples == 480 + 100)
    let out = left(timeline.read(1920))
    #expect(largestStep([0] + out) < 0.01)
    #expect(out[fade..<480].allSatisfy { $0 == 0.5 })
    #expect(out[(480 + fade)...].allSatisfy { $0 == 0 })
  }

  @Test func aLateStretchDoesNotDisturbSoundThatIsStillToBeRead() {
    let timeline = AudioTrackTimeline()
    _ = timeline.read(4800)
    timeline.insert([Float](repeating: 0.5, count: 960 * 2), at: 4800)
    timeline.insert([Float](repeating: 0.5, count: 960 * 2), at: 960)
    timeline.insert([Float](repeating: 0.5, count: 960 * 2), at: 5760)
    #expect(left(timeline.read(1920))[fade...].allSatisfy { $0 == 0.5 })
    #expect(timeline.statistics.anchors == 1)
  }

  @Test func soundBeyondTheBufferIsDroppedAndCounted() {
    let timeline = AudioTrackTimeline(capacity: 12_000)
    timeline.insert([Float](repeating: 0.5, count: 20_000 * 2), at: 0)
    #expect(timeline.statistics.overflowSamples == 8000)
    timeline.insert([Float](repeating: 0.5, count: 960 * 2), at: 1_000_000_000)
    #expect(timeline.statistics.overflowSamples == 8960)
    let out = left(timeline.read(24_000))
    #expect(out[fade..<12_000].allSatisfy { $0 == 0.5 })
    #expect(out[(12_000 + fade)...].allSatisfy { $0 == 0 })
    #expect(largestStep(out) < 0.01)
  }

  @Test func absurdInputNeitherTrapsNorLeavesTraces() {
    let timeline = AudioTrackTimeline()
    for position in [Int64.min, .max, -1 << 59, 1 << 59, 0] {
      timeline.insert([], at: position)
      timeline.insert([.nan], at: position)
      timeline.insert([.nan, .infinity, -.infinity, 1e30, 0, 0], at: position)
    }
    #expect(timeline.read(4800).allSatisfy { $0.magnitude <= 8 })
    #expect(timeline.read(4800).allSatisfy { $0 == 0 })
  }

  /// For three minutes; the tool `hearing` goes on for longer, optimized.
  @Test(arguments: [-500, -200, 200, 500])
  func aClockThatRunsWrongStaysWithinFiveMilliseconds(partsPerMillion: Int) {
    let timeline = AudioTrackTimeline()
    let period: Float = 480
    let amplitude: Float = 0.5
    let lead: Int64 = 4800
    // The publisher's crystal is off: what it calls 20 ms takes 20 ms x (1 + ppm) on our clock.
    let blocks = 3 * 60 * 50
    var worst: Int64 = 0
    var step: Float = 0
    var previous: Float = 0
    var isBroken = false
    var out = [Float](repeating: 0, count: 960 * 2)
    // 960 samples are two periods, so every block is the same.
    let sound = tone(count: 960, period: period, amplitude: amplitude)
    for block in 0..<blocks {
      let desired = Int64(block) * 960 + Int64(block) * 960 * Int64(partsPerMillion) / 1_000_000 + lead
      timeline.insert(sound, at: desired)
      worst = max(worst, Int64(timeline.positionError.magnitude))
      // Read in real time, that is as far behind the publisher as at the start.
      while timeline.readPosition + 960 <= desired {
        let isSounding = timeline.readPosition > lead + 240
        out.withUnsafeMutableBufferPointer { samples in
          timeline.read(into: samples)
          var loudest: Float = 0
          var index = 0
          while index < 1920 {
            step = max(step, (samples[index] - previous).magnitude)
            previous = samples[index]
            loudest = max(loudest, previous)
            index += 2
          }
          // Every block of the tone has a crest in it.
          if isSounding, loudest < amplitude * 0.98 { isBroken = true }
        }
      }
    }
    #expect(worst < 240, "worst \(worst) samples")
    // The steepest step of the tone itself, and a little for the change of pitch.
    let steepest = amplitude * 2 * Float.pi / period
    #expect(step < steepest * 1.02, "\(step) against \(steepest)")
    #expect(!isBroken)
    #expect(timeline.statistics.anchors == 1 && timeline.statistics.softJoins == 0)
    #expect(timeline.statistics.lateSamples == 0 && timeline.statistics.overflowSamples == 0)
    let drift = blocks * 960 * partsPerMillion / 1_000_000
    #expect((timeline.statistics.correctedSamples - drift).magnitude < 240)
  }

  @Test func aStepOfTheClockIsWorkedOffAtFiveMillisecondsPerSecondAtMost() {
    let timeline = AudioTrackTimeline(capacity: 480_000)
    for block in 0..<700 {
      let shift: Int64 = block < 50 ? 0 : 1500
      timeline.insert(tone(count: 960, period: 96), at: Int64(block) * 960 + shift)
      if block == 100 { #expect(timeline.positionError > 1500 - 245) }
      _ = timeline.read(480)
      _ = timeline.read(480)
    }
    #expect(timeline.positionError <= 60)
    #expect(timeline.statistics.anchors == 1)
  }

  @Test(arguments: 0..<6)
  func outputDoesNotDependOnWhenStretchesAreInserted(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var stretches: [(Int64, [Float])] = []
    var position: Int64 = 9600
    while position < 240_000 {
      let count = [120, 480, 960, 960, 960, 2880, 5760][Int(random.next() % 7)]
      stretches.append((position, tone(count: count, period: Float(20 + random.next() % 400))))
      position += Int64(count)
      switch random.next() % 8 {
      case 0: position += Int64(random.next() % 9600)
      case 1: position += Int64(random.next() % 1500) - 750
      default: break
      }
    }
    // Everything just in time, block by block, against as early as the buffer allows.
    func run(lead: Int64) -> [Float] {
      let timeline = AudioTrackTimeline(capacity: 96_000)
      var out: [Float] = []
      var next = 0
      while timeline.readPosition < 260_000 {
        while next < stretches.count, stretches[next].0 < timeline.readPosition + lead {
          timeline.insert(stretches[next].1, at: stretches[next].0)
          next += 1
        }
        out += timeline.read(960)
      }
      #expect(timeline.statistics.lateSamples == 0 && timeline.statistics.overflowSamples == 0, "seed \(seed)")
      return out
    }
    let early = run(lead: 80_000)
    for lead: Int64 in [9000, 30_000] {
      // Not as two arrays: to say how half a million samples differ takes minutes.
      let isSame = early == run(lead: lead)
      #expect(isSame, "seed \(seed), lead \(lead)")
    }
  }

  @Test(arguments: 0..<20)
  func randomSoundNeverStepsMoreThanItsOwnSlope(seed: UInt64) {
    var random = SeededRandom(seed: seed &+ 77)
    let timeline = AudioTrackTimeline()
    var out: [Float] = []
    for block in 0..<200 {
      // Losses, bursts and jumps of a slow tone, whose phase belongs to its position.
      if random.next() % 5 != 0 {
        let jump = random.next() % 20 == 0 ? Int64(random.next() % 100) * 120 - 6000 : 0
        let position = Int64(block) * 960 + 9600 + jump
        timeline.insert(tone(count: 960, period: 4800, phase: Float(position % 4800)), at: position)
      }
      out += left(timeline.read(960))
    }
    // The tone's own slope and the one of the fades, which may overlap with one another.
    #expect(largestStep(out) < 0.5 * 2 * Float.pi / 4800 + 3 * 0.5 / Float(fade), "seed \(seed)")
  }
}
