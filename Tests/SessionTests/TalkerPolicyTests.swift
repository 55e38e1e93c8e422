import MediaCore
import Testing

@testable import Session

@Suite struct TalkerPolicyTests {
  private let ann = ParticipantIdentity("ann")
  private let ben = ParticipantIdentity("ben")

  private func talking(_ who: ParticipantIdentity, _ level: Int = 500) -> Speaker {
    Speaker(participant: who, level: level, isActive: true)
  }
  private func silent(_ who: ParticipantIdentity) -> Speaker { Speaker(participant: who, level: 0, isActive: false) }

  private func advance(_ policy: inout TalkerPolicy, to ms: Int64) { policy.advance(to: .milliseconds(ms)) }

  @Test func theFirstToTalkLongEnoughIsTheTalker() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 300)
    #expect(policy.talker == nil)
    advance(&policy, to: 400)
    #expect(policy.talker == ann)
  }

  @Test func aCoughDoesNotSwitch() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.update([silent(ann)], at: .milliseconds(5_000))
    policy.update([talking(ben)], at: .milliseconds(5_100))
    advance(&policy, to: 5_300)
    policy.update([silent(ben)], at: .milliseconds(5_300))
    advance(&policy, to: 9_000)
    #expect(policy.talker == ann)
  }

  @Test func theTalkerIsHeldForTheMinimum() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.update([silent(ann), talking(ben)], at: .milliseconds(600))
    advance(&policy, to: 2_300)
    #expect(policy.talker == ann)
    advance(&policy, to: 2_400)
    #expect(policy.talker == ben)
  }

  @Test func silenceKeepsTheLastTalker() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.update([silent(ann)], at: .milliseconds(1_000))
    advance(&policy, to: 600_000)
    #expect(policy.talker == ann)
    #expect(!policy.isTalking(ann))
  }

  @Test func whoTalksAtTheSameTimeMustBeMuchLouderForLonger() {
    var policy = TalkerPolicy()
    policy.update([talking(ann, 500)], at: .zero)
    advance(&policy, to: 400)
    policy.update([talking(ben, 600)], at: .milliseconds(3_000))
    advance(&policy, to: 8_000)
    #expect(policy.talker == ann)
    policy.update([talking(ben, 800)], at: .milliseconds(8_000))
    advance(&policy, to: 9_000)
    #expect(policy.talker == ann)
    advance(&policy, to: 9_500)
    #expect(policy.talker == ben)
  }

  @Test func whoLeavesIsNoLongerTheTalker() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.silence(ann, hasLeft: true)
    #expect(policy.talker == nil)
  }

  @Test func theSwitchesOfAFastConversationAreLimitedByTheHold() {
    var policy = TalkerPolicy()
    var switches = 0
    var last: ParticipantIdentity?
    for step in 0..<Int64(600) {
      let now = step * 100
      // Somebody else talks every 600 ms.
      let isAnn = step / 6 % 2 == 0
      policy.update(isAnn ? [talking(ann), silent(ben)] : [talking(ben), silent(ann)], at: .milliseconds(now))
      advance(&policy, to: now)
      if policy.talker != last { switches += 1 }
      last = policy.talker
    }
    #expect(switches <= 31)
  }
}
