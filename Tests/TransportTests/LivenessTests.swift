import MediaCore
import TestKit
import Testing

@testable import Transport

/// What is known of the peer without input and output: whether it lives, and what it is told of.
@Suite struct LivenessTests {
  static let now = Instant.seconds(1000)

  @Test func silenceAndDeathByTheClock() {
    // After so many seconds of silence, and whether another pair is looked for: what is so then.
    typealias Row = (seconds: Int64, mayDie: Bool, isSilent: Bool, isDead: Bool)
    let table: [Row] = [
      (0, true, false, false), (10, true, false, false), (11, true, true, false), (30, true, true, false),
      (31, true, true, true), (31, false, true, false),
    ]
    for (seconds, mayDie, isSilent, isDead) in table {
      var liveness = Liveness()
      liveness.begin(at: Self.now)
      #expect(liveness.check(mayDie: mayDie, at: Self.now + .seconds(seconds)) == isDead, "\(seconds) s")
      #expect(liveness.isSilent == isSilent && liveness.isDead == isDead, "\(seconds) s")
    }
  }

  @Test func whatIsHeardEndsSilenceButNotDeath() {
    var liveness = Liveness()
    liveness.begin(at: Self.now)
    _ = liveness.check(mayDie: true, at: Self.now + .seconds(11))
    liveness.heard(at: Self.now + .seconds(11))
    _ = liveness.check(mayDie: true, at: Self.now + .seconds(12))
    #expect(!liveness.isSilent && liveness.heardAt == Self.now + .seconds(11))
    let late = Self.now + .seconds(60)
    #expect(liveness.check(mayDie: true, at: late) == true)
    // It is given up once, and stays so.
    liveness.heard(at: late)
    #expect(liveness.check(mayDie: true, at: late) == false)
    #expect(liveness.isDead)
    liveness.doubt()
    #expect(!liveness.isDead && liveness.isSilent)
    _ = liveness.check(mayDie: true, at: late + .seconds(31))
    liveness.begin(at: late + .seconds(32))
    #expect(!liveness.isDead && !liveness.isSilent)
  }

  @Test func loopbackIsToldOnlyWhenThereIsNoOther() throws {
    func candidate(_ address: String, _ kind: String = "host") throws -> ICECandidate {
      try #require(ICECandidate(line: "candidate:1 1 udp 2130706431 \(address) 5000 typ \(kind)"))
    }
    let (loopback, lan) = (try candidate("127.0.0.1"), try candidate("192.0.2.1"))
    typealias Row = (holds: Bool, gathered: [ICECandidate], told: [Bool], atTheEnd: Int)
    let table: [Row] = [
      (true, [loopback], [false], 1), (true, [loopback, lan], [false, true], 0), (true, [lan], [true], 0),
      (false, [loopback], [true], 0), (true, [], [], 0),
    ]
    for (holds, gathered, told, atTheEnd) in table {
      var candidates = LoopbackFilter()
      candidates.begin(holdsLoopback: holds)
      #expect(gathered.map { candidates.tellsAtOnce($0) } == told)
      #expect(candidates.finish().count == atTheEnd)
      // What was told is told once, and another generation begins without it.
      #expect(candidates.finish().isEmpty)
      _ = candidates.tellsAtOnce(loopback)
      candidates.begin(holdsLoopback: true)
      #expect(candidates.finish().isEmpty)
    }
  }
}
