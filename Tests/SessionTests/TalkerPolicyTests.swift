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
    policy.update([talking(ben, 1000)], at: .milliseconds(8_000))
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

  // MARK: Sound

  /// Sound of somebody in packets of 20 ms, all of one level.
  private func hear(
    _ policy: inout TalkerPolicy, _ who: ParticipantIdentity, _ decibels: Int, from start: Int64, to end: Int64
  ) {
    for ms in stride(from: start, to: end, by: 20) { policy.heard(who, decibels: decibels, at: .milliseconds(ms)) }
  }

  /// A voice: syllables of 200 ms with 60 ms of quiet between them.
  private func talk(
    _ policy: inout TalkerPolicy, _ who: ParticipantIdentity, _ decibels: Int = -25, from start: Int64, to end: Int64
  ) {
    for ms in stride(from: start, to: end, by: 20) {
      policy.heard(who, decibels: (ms - start) % 260 < 200 ? decibels : -70, at: .milliseconds(ms))
      policy.advance(to: .milliseconds(ms))
    }
  }

  @Test func aVoiceIsFoundInTheSound() {
    var policy = TalkerPolicy()
    hear(&policy, ann, -70, from: 0, to: 1_000)
    advance(&policy, to: 1_000)
    #expect(!policy.isTalking(ann))
    talk(&policy, ann, from: 1_000, to: 1_200)
    #expect(policy.isTalking(ann))
    talk(&policy, ann, from: 1_200, to: 2_000)
    #expect(policy.talker == ann)
    #expect(policy.meter(ann) > 300)
    hear(&policy, ann, -70, from: 2_000, to: 3_000)
    advance(&policy, to: 3_000)
    #expect(!policy.isTalking(ann))
    #expect(policy.talker == ann)
  }

  @Test func aCoughInTheSoundDoesNotSwitch() {
    var policy = TalkerPolicy()
    talk(&policy, ann, from: 0, to: 3_000)
    hear(&policy, ben, -15, from: 4_000, to: 4_300)
    for ms in stride(from: Int64(4_000), to: 8_000, by: 33) { advance(&policy, to: ms) }
    #expect(policy.talker == ann)
    #expect(policy.ranking == [ann])
  }

  @Test func steadyNoiseIsNoVoice() {
    var policy = TalkerPolicy()
    hear(&policy, ann, -35, from: 0, to: 20_000)
    advance(&policy, to: 20_000)
    #expect(!policy.isTalking(ann))
    talk(&policy, ann, -20, from: 20_000, to: 21_000)
    #expect(policy.isTalking(ann))
  }

  @Test func soundGoesBeforeTheRoomsWordAsLongAsThereIsSome() {
    var policy = TalkerPolicy()
    hear(&policy, ann, -80, from: 0, to: 1_000)
    policy.update([talking(ann), talking(ben)], at: .milliseconds(500))
    advance(&policy, to: 1_000)
    #expect(!policy.isTalking(ann))
    #expect(policy.isTalking(ben))
    advance(&policy, to: 2_500)
    #expect(policy.isTalking(ann), "no sound comes any more: the room's word counts")
  }

  @Test func theSourceOfLevelsIsASetting() {
    for levels in TalkerPolicy.Levels.allCases {
      var settings = TalkerPolicy.Settings()
      settings.levels = levels
      var policy = TalkerPolicy(settings: settings)
      policy.update([talking(ben)], at: .zero)
      talk(&policy, ann, from: 0, to: 1_000)
      #expect(policy.isTalking(ann) == (levels != .room))
      #expect(policy.isTalking(ben) == (levels != .sound))
    }
  }

  @Test func packetsOfSixtyMillisecondsAreAVoiceToo() {
    var policy = TalkerPolicy()
    for ms in stride(from: Int64(0), to: 900, by: 60) {
      policy.heard(ann, decibels: -25, at: .milliseconds(ms))
      for step in stride(from: ms, to: ms + 60, by: 20) { advance(&policy, to: step) }
    }
    #expect(policy.talker == ann)
  }

  // MARK: Who talked before

  private func people(_ count: Int) -> [ParticipantIdentity] {
    (0..<count).map { ParticipantIdentity("p\($0 < 10 ? "0" : "")\($0)") }
  }

  @Test func theNewestTalkerMovesUpAndTheOldestIsForgotten() {
    var settings = TalkerPolicy.Settings()
    settings.atMost = 3
    var policy = TalkerPolicy(settings: settings)
    let people = people(5)
    for (index, person) in people.enumerated() {
      let now = Int64(index) * 3_000
      policy.update(people.map { $0 == person ? talking($0) : silent($0) }, at: .milliseconds(now))
      advance(&policy, to: now + 2_500)
    }
    #expect(policy.ranking == [people[4], people[3], people[2]])
    policy.update([silent(people[4]), talking(people[2])], at: .milliseconds(20_000))
    advance(&policy, to: 21_000)
    #expect(policy.ranking == [people[2], people[4], people[3]])
  }

  @Test func pinnedTalkersStay() {
    var settings = TalkerPolicy.Settings()
    settings.atMost = 2
    var policy = TalkerPolicy(settings: settings)
    let people = people(5)
    policy.pinned = [people[0]]
    for (index, person) in people.enumerated() {
      let now = Int64(index) * 3_000
      policy.update(people.map { $0 == person ? talking($0) : silent($0) }, at: .milliseconds(now))
      advance(&policy, to: now + 2_500)
    }
    #expect(policy.ranking == [people[4], people[0]])
  }

  @Test func whoTalksWithoutTheFloorIsRememberedBehindTheTalker() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.update([talking(ben, 300)], at: .milliseconds(500))
    advance(&policy, to: 1_000)
    #expect(policy.ranking == [ann, ben])
  }

  @Test func whenTheTalkerLeavesTheOneBeforeHasTheFloor() {
    var policy = TalkerPolicy()
    policy.update([talking(ann)], at: .zero)
    advance(&policy, to: 400)
    policy.update([silent(ann), talking(ben)], at: .milliseconds(3_000))
    advance(&policy, to: 4_000)
    #expect(policy.talker == ben)
    policy.silence(ben, hasLeft: true)
    #expect(policy.talker == ann)
  }

  // MARK: Presenters

  @Test func whoSharesAScreenIsTheTalkerUntilSomebodyTalksAndAfterALongSilence() {
    var policy = TalkerPolicy()
    policy.presenter = ann
    advance(&policy, to: 100)
    #expect(policy.talker == ann)
    policy.update([talking(ben)], at: .milliseconds(3_000))
    advance(&policy, to: 3_500)
    #expect(policy.talker == ben)
    for ms in stride(from: Int64(3_500), to: 6_000, by: 50) { advance(&policy, to: ms) }
    policy.update([silent(ben)], at: .milliseconds(6_000))
    advance(&policy, to: 10_000)
    #expect(policy.talker == ben)
    advance(&policy, to: 10_900)
    #expect(policy.talker == ben)
    advance(&policy, to: 11_100)
    #expect(policy.talker == ann)
  }

  @Test func thePresenterCountsAsLouder() {
    // Ben is 6 dB louder: enough against anybody but the presenter, who has 3 dB more.
    for isPresenting in [false, true] {
      var policy = TalkerPolicy()
      policy.update([talking(ann, 500)], at: .zero)
      advance(&policy, to: 400)
      if isPresenting { policy.presenter = ann }
      policy.update([talking(ben, 1000)], at: .milliseconds(3_000))
      for ms in stride(from: Int64(3_000), to: 8_000, by: 33) { advance(&policy, to: ms) }
      #expect(policy.talker == (isPresenting ? ann : ben))
    }
  }

  // MARK: Properties

  @Test(arguments: 0..<50) func theFloorIsHeldAndTheListIsSound(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var settings = TalkerPolicy.Settings()
    settings.atMost = Int.random(in: 1...6, using: &random)
    var policy = TalkerPolicy(settings: settings)
    let people = people(8)
    var present = Set(people)
    var since = SessionTime.zero
    var last: ParticipantIdentity?
    for step in 0..<Int64(1_500) {
      let now = SessionTime.milliseconds(step * 20)
      let who = people[Int.random(in: 0..<8, using: &random)]
      var hasLeft = false
      switch Int.random(in: 0..<40, using: &random) {
      case 0:
        policy.silence(who, hasLeft: true)
        present.remove(who)
        hasLeft = who == last
      case 1:
        policy.update([talking(who, Int.random(in: 0...1000, using: &random))], at: now)
        present.insert(who)
      case 2: policy.update([silent(who)], at: now)
      case 3: policy.presenter = present.contains(who) ? who : nil
      case 4...20:
        policy.heard(who, decibels: Int.random(in: -90...0, using: &random), at: now)
        present.insert(who)
      default: break
      }
      policy.advance(to: now)
      #expect(Set(policy.ranking).count == policy.ranking.count, "seed \(seed)")
      #expect(policy.ranking.count <= settings.atMost, "seed \(seed)")
      #expect(present.isSuperset(of: policy.ranking), "seed \(seed), step \(step)")
      if policy.talker != last {
        #expect(last == nil || hasLeft || now - since >= settings.minimumHold, "seed \(seed), step \(step)")
        if !hasLeft { since = now }
        last = policy.talker
      }
    }
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
