import JobsAPI
import MediaCore
import Testing

@testable import Worker

@Suite struct AdmissionTests {
  private static let start = Timestamp(seconds: 1_000)
  private static func at(_ seconds: Int64) -> Timestamp { start + .seconds(seconds) }
  private static let gigabyte: Int64 = 1 << 30

  private func admission(cores: Double, memory: Int64 = 64 * gigabyte, fixed: Int? = nil) -> Admission {
    Admission(limits: .init(cores: cores, memory: memory), fixed: fixed)
  }

  @Test func aFixedNumberIsExactlyThat() {
    var admission = admission(cores: 0.1, fixed: 3)
    #expect(admission.free == 3 && admission.capacity == 3)
    for name in ["a", "b", "c"] { admission.start(name, now: Self.start) }
    #expect(admission.free == 0 && admission.capacity == 3)
    admission.end("b")
    #expect(admission.free == 1)
  }

  @Test func aMachineThatRunsNothingTakesOneHoweverSmallItIs() {
    var admission = admission(cores: 0.1, memory: 1 << 20)
    #expect(admission.free == 1)
    admission.start("a", now: Self.start)
    #expect(admission.free == 0)
  }

  @Test func newRecordingsCountWithTheEstimateUntilTheyAreMeasured() {
    var admission = admission(cores: 4)
    let first = admission.free
    #expect(first == 4)  // 4 cores * 0.85 / 0.75
    admission.start("a", now: Self.start)
    #expect(admission.free == first - 1)
    // In its first seconds it has cost next to nothing: that says nothing yet.
    admission.measure("a", .init(cores: 0.01, memory: 1 << 20), now: Self.at(5))
    #expect(admission.free == first - 1)
  }

  @Test func cheapRecordingsMakeRoomForMoreAndDearOnesForFewer() {
    for (cores, isMore) in [(0.1, true), (1.6, false)] {
      var admission = admission(cores: 4)
      let first = admission.capacity
      admission.start("a", now: Self.start)
      for second in 1...600 {
        admission.measure("a", .init(cores: cores, memory: 100 << 20), now: Self.at(Int64(second)))
      }
      #expect(isMore ? admission.capacity > first * 3 : admission.capacity < first)
      #expect(abs(admission.estimate.cores - cores) < 0.02)
    }
  }

  @Test func aRecordingThatGetsDearerCountsAtOnce() {
    var admission = admission(cores: 4)
    admission.start("a", now: Self.start)
    for second in 1...300 { admission.measure("a", .init(cores: 0.2, memory: 1 << 20), now: Self.at(Int64(second))) }
    let before = admission.free
    admission.measure("a", .init(cores: 2.5, memory: 1 << 20), now: Self.at(301))
    #expect(admission.free < before)
    #expect(admission.used.cores == 2.5)
  }

  @Test func memoryLimitsAsCoresDo() {
    var admission = admission(cores: 64, memory: Self.gigabyte)
    admission.start("a", now: Self.start)
    for second in 1...60 {
      admission.measure("a", .init(cores: 0.1, memory: 400 << 20), now: Self.at(Int64(second)))
    }
    // 870 MiB in all, 400 of them used, 400 for the next one.
    #expect(admission.free == 1)
  }

  @Test func whatIsMeasuredOfNobodyOrIsNonsenseIsPassedOver() {
    var admission = admission(cores: 4)
    let before = admission
    admission.measure("nobody", .init(cores: 3, memory: 1), now: Self.start)
    #expect(admission == before)
    admission.start("a", now: Self.start)
    let started = admission
    for cores in [Double.nan, .infinity, -1] {
      admission.measure("a", .init(cores: cores, memory: 1), now: Self.at(100))
    }
    admission.measure("a", .init(cores: 1, memory: -1), now: Self.at(100))
    #expect(admission == started)
  }

  /// Whatever recordings cost and however they come and go: what is admitted by the estimate fits, and counts agree.
  @Test(arguments: 1...200) func neverAdmitsMoreThanFits(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var admission = admission(cores: Double(random.next() % 32 + 1), memory: Int64(random.next() % 64 + 1) << 30)
    var names: [String] = []
    for step in 0..<300 {
      let now = Self.at(Int64(step) * 5)
      switch random.next() % 4 {
      case 0:
        let free = admission.free
        #expect(free >= 0 && free <= 64 && admission.capacity == admission.running + free, "seed \(seed)")
        if names.count > 1, free > 0 {
          let after = admission.used.cores + Double(free) * admission.estimate.cores
          #expect(after <= admission.limits.cores * Admission.share + 1e-6, "seed \(seed)")
        }
        if free > 0 {
          names.append("\(step)")
          admission.start("\(step)", now: now)
        }
      case 1:
        if let name = names.popLast() { admission.end(name) }
      default:
        for name in names {
          let cores = Double(random.next() % 300) / 100
          admission.measure(name, .init(cores: cores, memory: Int64(random.next() % 2000) << 20), now: now)
        }
      }
      #expect(admission.running == names.count, "seed \(seed)")
    }
  }
}
