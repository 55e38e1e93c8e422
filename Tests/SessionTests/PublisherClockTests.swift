import MediaCore
import Testing

@testable import Session

@Suite struct PublisherClockTests {
  private static let ms: Int64 = 1_000_000
  private let track = RoomScript.track("ann", .microphone)

  private func frame(level: UInt8? = nil) -> EncodedFrame {
    EncodedFrame(
      codec: .opus, payload: MediaBuffer([1]), rtpTime: 0, isKeyframe: true, audioLevel: level)
  }

  /// Gives frames to a clock, and says by how much the place of each differs from its media time, milliseconds; nil for
  /// what is left out. Each frame is placed half a second after it arrived, as the core does it.
  private func places(_ frames: [(media: Int64, arrival: Int64)], level: UInt8? = nil) -> [Int64?] {
    var clock = PublisherClock()
    var places: [Int64?] = []
    var observed = 0
    var now: Int64 = 0
    while places.count < frames.count, now < 120_000 {
      now += 10
      while observed < frames.count, frames[observed].arrival <= now + 500 {
        let (media, arrival) = frames[observed]
        let farewell = clock.observe(frame(level: level), media: media * Self.ms, of: track, arrival: arrival * Self.ms)
        while let farewell, frames[places.count].arrival * Self.ms < farewell.before {
          clock.settled(track.id, at: frames[places.count].media * Self.ms &+ farewell.offset)
          places.append(farewell.offset / Self.ms)
        }
        observed += 1
      }
      while places.count < observed {
        let (media, arrival) = frames[places.count]
        let place = clock.place(
          frame(level: level), of: track.id, media: media * Self.ms, arrival: arrival * Self.ms, now: now * Self.ms,
          until: (now + 60) * Self.ms, seen: (now + 500) * Self.ms)
        if place == .later { break }
        if case .at(let time) = place { places.append(time / Self.ms - media) } else { places.append(nil) }
      }
    }
    return places
  }

  /// Frames of 20 ms, the way of which takes 30 ms; capture stops once, for so many milliseconds, before frame 100.
  private func stalled(by stall: Int64, count: Int64) -> [(media: Int64, arrival: Int64)] {
    var frames: [(media: Int64, arrival: Int64)] = []
    for number in 0..<count {
      let delay: Int64 = number < 100 ? 30 : 30 + stall
      frames.append((number * 20, number * 20 + delay))
    }
    return frames
  }

  @Test func aDelayOfTheNetworkIsWorkedOffInSilence() {
    // 1 s is held up and comes at once; from then on everything is in time again.
    var frames = stalled(by: 0, count: 400)
    for index in frames.indices where (2_000..<3_000).contains(frames[index].arrival) { frames[index].arrival = 3_000 }
    let spoken = places(frames, level: 20)
    // It could not be heard in its place any more, so it is late, without a gap, and moves back by 5 ms a second.
    #expect(spoken.allSatisfy { $0 != nil })
    let delays = spoken.compactMap { $0 }
    #expect((400...600).contains(delays[150]))
    for index in 101..<delays.count { #expect(abs(delays[index] - delays[index - 1]) <= 1) }
    let silent = places(frames, level: 80)
    #expect(silent.last == 30)
    #expect(silent.contains(nil))
  }

  /// Where a connection begins over TCP, its first second may come in one piece.
  @Test(arguments: [200, 1_000, 10_000] as [Int64]) func whatIsHeldUpBeforeAStreamBeginsDelaysNothing(_ hold: Int64) {
    var frames = stalled(by: 0, count: 800)
    for index in frames.indices where frames[index].arrival < hold { frames[index].arrival = hold }
    let spoken = places(frames, level: 20)
    // What lies before its arrival can't be heard in its place any more, and nothing behind it is late, but for what the
    // last frame that was held up, by which it is placed, had still to wait.
    #expect(spoken.compactMap { $0 }.allSatisfy { (30...40).contains($0) }, "\(Set(spoken.compactMap { $0 }))")
    #expect(spoken.last == 30)
    #expect(spoken.drop { $0 == nil }.allSatisfy { $0 != nil })
    let leftOut = Int64(spoken.prefix { $0 == nil }.count)
    #expect(abs(leftOut - max(0, hold - 530) / 20) <= 2, "\(leftOut) of \(hold / 20)")
  }

  @Test(arguments: [3_000, 5_000, 60_000] as [Int64]) func aDelayThatIsTooLongIsNotMadeUpFor(_ hold: Int64) {
    var frames = stalled(by: 0, count: hold / 20 + 400)
    for index in frames.indices where (2_000..<2_000 + hold).contains(frames[index].arrival) {
      frames[index].arrival = 2_000 + hold
    }
    let spoken = places(frames, level: 20)
    let last = spoken.compactMap { $0 }.last ?? 0
    #expect(hold > 4_000 ? last == 30 : spoken.allSatisfy { $0 != nil } && last > 2_000, "\(last) ms")
  }

  @Test func whatStandsForLostSoundHoldsNothingUp() {
    var clock = PublisherClock()
    _ = clock.observe(frame(), media: 0, of: track, arrival: 30 * Self.ms)
    var lost = frame()
    lost.payload = MediaBuffer([])
    // Its instant, 50 ms, has passed when it is known to be lost.
    for (number, now, place) in [(0, 0, .at(30)), (1, 60, .nowhere), (2, 60, .at(70))]
      as [(Int64, Int64, PublisherClock.Place)]
    {
      let found = clock.place(
        number == 1 ? lost : frame(), of: track.id, media: number * 20 * Self.ms, arrival: 30 * Self.ms,
        now: now * Self.ms, until: (now + 60) * Self.ms, seen: (now + 500) * Self.ms)
      if case .at(let time) = place { #expect(found == .at(time * Self.ms)) } else { #expect(found == place) }
    }
  }

  @Test func aStallMovesEveryFrameBehindItByItsLength() {
    for stall in [100, 300, 1_000, 30_000] as [Int64] {
      let frames = stalled(by: stall, count: 200)
      let found = places(frames)
      #expect(found.prefix(100).allSatisfy { $0 == 30 })
      #expect(found.dropFirst(100).allSatisfy { $0 == 30 + stall }, "stall of \(stall) ms")
    }
  }

  @Test func soundThatIsWorkingOffADelayDoesNotCoverWhatComesBeforeANewClock() {
    // 1 s is held up, so that sound is late; then, without a pause, the timestamps begin anew.
    var frames = stalled(by: 0, count: 400)
    for index in frames.indices {
      if (2_000..<3_000).contains(frames[index].arrival) { frames[index].arrival = 3_000 }
      if index >= 250 { frames[index].media += 8_000_000 }
    }
    let found = places(frames, level: 20)
    let before = found[249].map { $0 + frames[249].media } ?? 0
    let behind = found[250].map { $0 + frames[250].media } ?? 0
    // Half a second of the way back, 5 ms a second, lies between the two decisions.
    #expect((16...21).contains(behind - before), "\(behind - before) ms from one packet to the next")
  }

  @Test func aWordBetweenAStallAndSilenceIsHeard() {
    // Three frames after the stall, then nothing: there is nothing more to wait for.
    #expect(places(stalled(by: 2_000, count: 103)).dropFirst(100) == [2_030, 2_030, 2_030])
  }

  @Test func whateverComesNothingTraps() {
    var random = SeededRandom(seed: 5)
    var clock = PublisherClock()
    let camera = RoomScript.track("ann", .camera)
    for _ in 0..<50_000 {
      let magnitude = Int64(1) << Int64.random(in: 0...62, using: &random)
      let media = Int64.random(in: -magnitude...magnitude, using: &random)
      let arrival = Int64.random(in: -1_000...magnitude, using: &random)
      var frame = frame(level: UInt8.random(in: 0...127, using: &random))
      frame.captureTime = NTPTime(UInt64.random(in: 0...(.max), using: &random))
      frame.followsLoss = Bool.random(using: &random)
      let isPicture = Bool.random(using: &random)
      let source = isPicture ? camera : track
      _ = clock.observe(frame, media: media, of: source, arrival: arrival)
      _ = clock.place(
        frame, of: source.id, media: media, arrival: arrival, now: arrival, until: .max, seen: arrival &+ 500 * Self.ms)
    }
  }
}
