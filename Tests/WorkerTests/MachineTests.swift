import Glibc
import Testing

@testable import Worker

@Suite struct MachineTests {
  @Test func quotasOfControlGroupsAreRead() {
    #expect(Machine.quota("50000 100000\n") == 0.5)
    #expect(Machine.quota("250000 100000") == 2.5)
    for none in ["max 100000", "", "1", "0 100000", "-1 100000", "100000 0", "a b", "1 2 3"] {
      #expect(Machine.quota(none) == nil, "\(none)")
    }
  }

  @Test func processorTimeIsFoundBehindAnyName() {
    let rest = "S 1 2 3 4 5 6 7 8 9 10 300 200 0 0 20 0 4 0 1000"
    let tick = 1_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK)))
    #expect(Machine.processorTime("42 (recbot) \(rest)") == 500 * tick)
    #expect(Machine.processorTime("42 (a) b) S 9 (x) \(rest)") == 500 * tick)
    for bad in ["", "42 (recbot", "42 (recbot) S 1 2 3", "42 (recbot) S 1 2 3 4 5 6 7 8 9 10 x y 0"] {
      #expect(Machine.processorTime(bad) == nil, "\(bad)")
    }
  }

  @Test func thisMachineHasSomethingAndThisProcessUsesIt() throws {
    let limits = Machine.limits()
    #expect(limits.cores >= 0.1 && limits.memory >= 64 << 20)
    let use = try #require(Machine.use(of: getpid()))
    #expect(use.memory > 1 << 20 && use.time >= 0)
    #expect(Machine.use(of: -1) == nil)
  }
}
