import Testing

@testable import Rooms

@Suite struct ReconnectPolicyTests {
  @Test func waitsDoubleWithJitterUpToTheCap() {
    var policy = ReconnectPolicy(seed: 42)
    policy.lost(at: 0, canResume: true)
    var steps: [ReconnectPolicy.Step] = []
    for _ in 0..<12 { steps += policy.next(at: 0).map { [$0] } ?? [] }
    #expect(steps.count == 12)
    #expect(steps[0] == .init(delay: 0, resumes: true))
    #expect(steps.map(\.resumes) == Array(repeating: true, count: 12))
    #expect(policy.next(at: policy.resumeTime)?.resumes == true)
    #expect(policy.next(at: policy.resumeTime + 1)?.resumes == false)
    for (index, step) in steps.enumerated().dropFirst() {
      let span = min(7_000_000_000, 300_000_000 << Int64(index - 1))
      #expect(step.delay >= span / 2 && step.delay <= span, "attempt \(index)")
    }
  }

  @Test func theSeedDecidesTheJitter() {
    func delays(_ seed: UInt64) -> [Int64] {
      var policy = ReconnectPolicy(seed: seed)
      policy.lost(at: 0, canResume: false)
      return (0..<6).compactMap { _ in policy.next(at: 0)?.delay }
    }
    #expect(delays(1) == delays(1))
    #expect(delays(1) != delays(2))
  }

  @Test func aRefusedResumeIsFollowedByAJoinAtOnceButOnlyOnce() {
    var policy = ReconnectPolicy(seed: 1)
    policy.lost(at: 0, canResume: true)
    _ = policy.next(at: 0)
    _ = policy.next(at: 0)
    policy.refusedResume()
    #expect(policy.next(at: 0) == .init(delay: 0, resumes: false))
    policy.refusedResume()
    #expect((policy.next(at: 0)?.delay ?? 0) > 0)
  }

  @Test func theLimitCountsFromTheLoss() {
    var policy = ReconnectPolicy(seed: 1)
    policy.limit = 10
    policy.lost(at: 100, canResume: false)
    policy.lost(at: 105, canResume: false)
    #expect(policy.next(at: 110) != nil)
    #expect(policy.next(at: 111) == nil)
    policy.restored()
    policy.lost(at: 200, canResume: false)
    #expect(policy.next(at: 205)?.delay == 0)
  }

  @Test func manyAttemptsDoNotOverflow() {
    var policy = ReconnectPolicy(seed: 1)
    policy.lost(at: 0, canResume: false)
    for _ in 0..<1000 { #expect((policy.next(at: .max)?.delay ?? -1) <= policy.cap) }
  }
}
