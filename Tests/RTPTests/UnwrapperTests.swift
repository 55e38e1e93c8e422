import MediaCore
import Testing

@testable import RTP

@Suite struct UnwrapperTests {
  @Test func sequenceGoesOnOverTheWrap() {
    var unwrapper = SequenceUnwrapper()
    #expect(unwrapper.unwrap(65_534) == 65_534)
    #expect(unwrapper.unwrap(1) == 65_537)
    #expect(unwrapper.unwrap(65_535) == 65_535)
    #expect(unwrapper.unwrap(0) == 65_536)
    #expect(unwrapper.highest == 65_537)
  }

  @Test func packetBeforeTheFirstIsNegativeNotATrap() {
    var unwrapper = SequenceUnwrapper()
    #expect(unwrapper.unwrap(0) == 0)
    #expect(unwrapper.unwrap(65_535) == -1)
    #expect(unwrapper.unwrap(1) == 1)
  }

  @Test func restartFarBehindBecomesAJumpAhead() {
    var unwrapper = SequenceUnwrapper()
    _ = unwrapper.unwrap(30_000)
    #expect(unwrapper.unwrap(10_000) == 10_000)
    #expect(unwrapper.unwrap(10_001) == 75_537)
    #expect(unwrapper.unwrap(10_002) == 75_538)
  }

  @Test func oneStrayPacketIsNoRestart() {
    var unwrapper = SequenceUnwrapper()
    _ = unwrapper.unwrap(30_000)
    #expect(unwrapper.unwrap(10_000) == 10_000)
    #expect(unwrapper.unwrap(30_001) == 30_001)
    #expect(unwrapper.unwrap(10_001) == 10_001)
    #expect(unwrapper.unwrap(30_002) == 30_002)
  }

  @Test(arguments: 0..<20) func anyOrderWithinTheWindowComesBackExactly(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var unwrapper = SequenceUnwrapper()
    let start = Int64.random(in: 0..<65_536, using: &random)
    #expect(unwrapper.unwrap(UInt16(start)) == start)
    var highest = start
    for _ in 0..<5000 {
      let next = highest + Int64.random(in: -2000...2000, using: &random)
      let found = unwrapper.unwrap(UInt16(truncatingIfNeeded: next))
      #expect(found == next, "seed \(seed)")
      highest = max(highest, next)
    }
  }

  @Test(arguments: 0..<20) func timestampsComeBackExactly(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var unwrapper = TimestampUnwrapper()
    var time = Int64.random(in: 0..<(1 << 32), using: &random)
    #expect(unwrapper.unwrap(UInt32(time)) == time)
    for _ in 0..<2000 {
      time += Int64.random(in: -90_000...2_000_000_000, using: &random)
      let found = unwrapper.unwrap(UInt32(truncatingIfNeeded: time))
      #expect(found == time, "seed \(seed)")
    }
  }
}
