import MediaCore
import TestKit
import Testing

@testable import Rooms

@Suite struct ReconnectPolicyTests {
  let refused = RoomError(.refused)
  let signalLost = RoomError(.signalLost)

  /// A policy that is connected at the time 0.
  func connected(_ change: (inout ReconnectPolicy.Settings) -> Void = { _ in }) -> ReconnectPolicy {
    var settings = ReconnectPolicy.Settings()
    change(&settings)
    var policy = ReconnectPolicy(settings: settings, seed: 42)
    #expect(policy.handle(.start, at: .seconds(-10)) == .attempt(.join(relayOnly: settings.relayOnly)))
    #expect(policy.handle(.joined, at: .seconds(-9)) == .none)
    #expect(policy.handle(.connected, at: .zero) == .none)
    #expect(policy.state == .connected && policy.nextDeadline == nil)
    return policy
  }

  /// Goes on to the next deadline.
  func wait(_ policy: inout ReconnectPolicy, _ now: inout Instant) -> ReconnectPolicy.Decision {
    now = max(now, policy.nextDeadline ?? now)
    return policy.handle(.timer, at: now)
  }

  @Test func aLossIsResumedFirstAndThenJoinedAnew() {
    var policy = connected()
    var now = Instant.nanoseconds(100)
    #expect(policy.handle(.lost(signalLost, canResume: true), at: now) == .attempt(.resume))
    var starts = [now]
    var kinds: [ReconnectPolicy.Attempt] = [.resume]
    while now < .seconds(60) {
      #expect(policy.handle(.failed(refused), at: now) == .none)
      guard case .attempt(let kind) = wait(&policy, &now) else { break }
      starts.append(now)
      kinds.append(kind)
    }
    for (index, pair) in zip(starts, starts.dropFirst()).enumerated() {
      let span = min(ReconnectPolicy.cap, ReconnectPolicy.base * (1 << min(index, 10)))
      #expect((max(span / 2, ReconnectPolicy.spacing)...span).contains(pair.1 - pair.0), "attempt \(index)")
    }
    for (start, kind) in zip(starts, kinds) {
      #expect(kind == (start - .nanoseconds(100) <= ReconnectPolicy.resumeTime ? .resume : .join(relayOnly: false)))
    }
    #expect(policy.state == .rejoining && policy.attempts == starts.count)
    #expect(policy.handle(.joined, at: now) == .none)
    #expect(policy.handle(.connected, at: now) == .none)
    #expect(policy.state == .connected && policy.attempts == 0 && policy.error == nil)
  }

  @Test func pausesBecomeLongerWhenTheLossIsOld() {
    var policy = connected()
    var now = Instant.zero
    _ = policy.handle(.lost(signalLost, canResume: false), at: now)
    now += ReconnectPolicy.patienceAfter + .seconds(1)
    for _ in 0..<8 {
      _ = policy.handle(.failed(refused), at: now)
      _ = wait(&policy, &now)
    }
    let start = now
    _ = policy.handle(.failed(refused), at: now)
    _ = wait(&policy, &now)
    #expect((ReconnectPolicy.patientCap / 2...ReconnectPolicy.patientCap).contains(now - start))
  }

  @Test func theSeedDecidesTheJitter() {
    func deadlines(_ seed: UInt64) -> [Instant?] {
      var policy = ReconnectPolicy(seed: seed)
      var now = Instant.zero
      for event in [ReconnectPolicy.Event.start, .joined, .connected, .lost(signalLost, canResume: false)] {
        _ = policy.handle(event, at: now)
      }
      return (0..<6).map { _ in
        _ = policy.handle(.failed(refused), at: now)
        _ = wait(&policy, &now)
        return now
      }
    }
    #expect(deadlines(1) == deadlines(1))
    #expect(deadlines(1) != deadlines(2))
  }

  @Test func aRefusedResumeIsFollowedByAJoinAtOnceButOnlyOnce() {
    var policy = connected()
    let unknown = RoomError(.sessionUnknown)
    #expect(policy.handle(.lost(signalLost, canResume: true), at: .zero) == .attempt(.resume))
    #expect(policy.handle(.refused(unknown), at: .nanoseconds(5)) == .attempt(.join(relayOnly: false)))
    #expect(policy.attempts == 1 && policy.error == unknown && policy.action == .rejoin)
    #expect(policy.handle(.refused(unknown), at: .nanoseconds(10)) == .none)
    #expect(policy.nextAttemptAt ?? .zero >= .zero + ReconnectPolicy.spacing)
  }

  @Test func aFullRoomIsTriedSlowly() {
    var policy = connected { $0.limit = .seconds(100) }
    var now = Instant.zero
    _ = policy.handle(.lost(signalLost, canResume: false), at: now)
    let full = RoomError(.roomFull)
    var pauses: [Duration] = []
    while true {
      let start = now
      #expect(policy.handle(.failed(full), at: now) == .none)
      #expect(policy.action == .wait)
      let decision = wait(&policy, &now)
      guard case .attempt = decision else {
        #expect(decision == .finish(RoomError(.reconnectTimeout, full.summary)))
        break
      }
      pauses.append(now - start)
    }
    #expect(pauses.allSatisfy { $0 >= ReconnectPolicy.slowBase / 2 && $0 <= ReconnectPolicy.slowCap })
    #expect(now == .seconds(100) && pauses.count >= 4 && policy.action == .fail)
  }

  @Test func theLimitCountsFromTheLossAndInterruptsAnAttempt() {
    var policy = connected { $0.limit = .seconds(10) }
    _ = policy.handle(.lost(signalLost, canResume: true), at: .seconds(1))
    _ = policy.handle(.lost(RoomError(.mediaLost), canResume: true), at: .seconds(5))
    #expect(policy.nextDeadline ?? .zero <= .seconds(11))
    guard case .finish(let error) = policy.handle(.timer, at: .seconds(11)) else {
      Issue.record("goes on")
      return
    }
    #expect(error.kind == .reconnectTimeout)
    #expect(policy.state == .ended && policy.nextDeadline == nil)
  }

  @Test(arguments: [1, 3, 7]) func fixedRulesMakeSoManyAttemptsWithTheirInterval(most: Int) {
    var policy = connected { $0.rule = .fixed(attempts: most, interval: .seconds(10)) }
    var now = Instant.zero
    #expect(policy.handle(.lost(signalLost, canResume: true), at: now) == .attempt(.resume))
    for attempt in 1..<max(2, most) where attempt < most {
      #expect(policy.handle(.failed(refused), at: now + .nanoseconds(5)) == .none)
      guard case .attempt = wait(&policy, &now) else {
        Issue.record("no attempt \(attempt + 1)")
        return
      }
      #expect(now == .seconds(Int64(attempt) * 10))
    }
    guard case .finish(let error) = policy.handle(.failed(refused), at: now) else {
      Issue.record("goes on")
      return
    }
    #expect(error.kind == .connectionLost && error.codes.enablex == 5087)
  }

  @Test func withoutReconnectionALossIsTheEnd() {
    for error in [signalLost, RoomError(.serverSilent), RoomError(.mediaLost), RoomError(.serverLeaves)] {
      var policy = connected { $0.allowsReconnect = false }
      #expect(policy.handle(.lost(error, canResume: true), at: .zero) == .finish(error))
      #expect(policy.action == .fail)
    }
  }

  @Test func theFirstJoinFailsAtOnceWithoutWaiting() {
    for kind in RoomError.Kind.allCases where kind.row.exitCode != nil {
      var policy = ReconnectPolicy(seed: 1)
      _ = policy.handle(.start, at: .zero)
      #expect(policy.handle(.failed(RoomError(kind)), at: .nanoseconds(5)) == .finish(RoomError(kind)))
      #expect(policy.action == .fail)
    }
  }

  @Test func aRoomIsWaitedForUntilTheTimeIsOver() {
    var settings = ReconnectPolicy.Settings()
    settings.waitForRoom = .seconds(60)
    var policy = ReconnectPolicy(settings: settings, seed: 1)
    var now = Instant.zero
    _ = policy.handle(.start, at: now)
    let missing = RoomError(.roomNotFound)
    var attempts = 1
    while policy.handle(.failed(missing), at: now) == .none {
      #expect(policy.state == .waitingForRoom && policy.action == .wait)
      #expect(wait(&policy, &now) == .attempt(.join(relayOnly: false)))
      attempts += 1
    }
    // The last attempt is made when the time is over.
    #expect(policy.state == .ended && policy.error == missing && now == .seconds(60) && attempts > 5)
  }

  /// Whatever the server says of why there is no room to join, and however long it lasts.
  @Test(arguments: [RoomError.Kind.roomNotFound, .roomFull, .busy, .refused, .tokenNotYetValid])
  func aRoomThatIsWaitedForIsTriedAtLeastEachSecond(kind: RoomError.Kind) {
    for seed in 0..<20 as Range<UInt64> {
      var settings = ReconnectPolicy.Settings()
      settings.waitForRoom = .seconds(3600)
      var policy = ReconnectPolicy(settings: settings, seed: seed)
      var now = Instant.zero
      _ = policy.handle(.start, at: now)
      var last = now
      while now < .seconds(1200) {
        #expect(policy.handle(.failed(RoomError(kind)), at: now) == .none)
        #expect(wait(&policy, &now) == .attempt(.join(relayOnly: false)))
        guard now - last <= .seconds(1) else {
          Issue.record("seed \(seed): \(now - last) between two attempts")
          return
        }
        last = now
      }
    }
  }

  @Test func aRoomThatIsToldToBeThereIsTriedAtOnce() {
    var settings = ReconnectPolicy.Settings()
    settings.waitForRoom = .seconds(600)
    var policy = ReconnectPolicy(settings: settings, seed: 1)
    let missing = RoomError(.roomNotFound)
    var now = Instant.zero
    _ = policy.handle(.start, at: now)
    for _ in 0..<8 {
      _ = policy.handle(.failed(missing), at: now)
      _ = wait(&policy, &now)
    }
    // An attempt is under way, which comes too early; the one after it follows soon.
    let early = now
    #expect(policy.handle(.roomSeen, at: early + .milliseconds(10)) == .none)
    #expect(policy.handle(.failed(missing), at: early + .milliseconds(20)) == .none)
    #expect(wait(&policy, &now) == .attempt(.join(relayOnly: false)))
    #expect(now - early <= ReconnectPolicy.base)
    _ = policy.handle(.failed(missing), at: now)
    #expect(policy.handle(.roomSeen, at: now + ReconnectPolicy.spacing) == .attempt(.join(relayOnly: false)))
    // Whoever is in the room hears nothing new.
    _ = policy.handle(.joined, at: now)
    #expect(policy.handle(.roomSeen, at: now + .seconds(1)) == .none && policy.state == .joined)
  }

  @Test func theRoomThatComesIntoBeingIsJoined() {
    var settings = ReconnectPolicy.Settings()
    settings.waitForRoom = .seconds(60)
    var policy = ReconnectPolicy(settings: settings, seed: 1)
    var now = Instant.zero
    _ = policy.handle(.start, at: now)
    _ = policy.handle(.failed(RoomError(.roomNotFound)), at: now)
    _ = wait(&policy, &now)
    #expect(policy.handle(.joined, at: now) == .none)
    #expect(policy.state == .joined && policy.error == nil)
    #expect(policy.handle(.failed(RoomError(.roomNotFound)), at: now) == .finish(RoomError(.roomNotFound)))
    #expect(policy.action == .complete)
  }

  @Test func admissionHasATimeOfItsOwn() {
    var settings = ReconnectPolicy.Settings()
    var policy = ReconnectPolicy(settings: settings, seed: 1)
    _ = policy.handle(.start, at: .zero)
    #expect(policy.handle(.held, at: .nanoseconds(1)) == .finish(RoomError(.notPermitted, "canSubscribe is false")))
    settings.waitForAdmission = .seconds(30)
    policy = ReconnectPolicy(settings: settings, seed: 1)
    _ = policy.handle(.start, at: .zero)
    #expect(policy.handle(.held, at: .seconds(1)) == .none)
    #expect(policy.state == .waitingForAdmission && policy.nextDeadline == .seconds(31))
    // A broken connection is made again, and the time goes on.
    #expect(policy.handle(.lost(signalLost, canResume: true), at: .seconds(5)) == .attempt(.join(relayOnly: false)))
    var now = Instant.seconds(5)
    #expect(policy.handle(.failed(refused), at: now) == .none)
    #expect(wait(&policy, &now) == .attempt(.join(relayOnly: false)))
    #expect(policy.handle(.held, at: now) == .none)
    #expect(policy.nextDeadline == .seconds(31))
    #expect(wait(&policy, &now) == .finish(RoomError(.notAdmitted)))
    policy = ReconnectPolicy(settings: settings, seed: 1)
    _ = policy.handle(.start, at: .zero)
    _ = policy.handle(.held, at: .seconds(1))
    #expect(policy.handle(.admitted, at: .seconds(2)) == .none)
    #expect(policy.state == .joined && policy.nextDeadline == nil)
  }

  @Test func relaysAreTheNextStepAfterMediaFailed() {
    let failed = RoomError(.mediaFailed)
    var policy = connected()
    policy.hasRelays = true
    _ = policy.handle(.lost(RoomError(.mediaLost), canResume: true), at: .zero)
    _ = policy.handle(.joined, at: .nanoseconds(5))
    #expect(policy.handle(.mediaFailed(failed), at: .seconds(4)) == .attempt(.join(relayOnly: true)))
    #expect(policy.state == .relaying)
    _ = policy.handle(.joined, at: .seconds(4))
    _ = policy.handle(.connected, at: .seconds(5))
    // What worked is used again, until it fails or the network changes.
    let again = policy.handle(.lost(signalLost, canResume: false), at: .seconds(60))
    #expect(again == .attempt(.join(relayOnly: true)))
    #expect(policy.handle(.networkChanged, at: .seconds(61)) == .attempt(.join(relayOnly: false)))
  }

  @Test func mediaThatNeverWorkedIsGivenUp() {
    let failed = RoomError(.mediaFailed)
    func joins(hasRelays: Bool, relayOnly: Bool) -> Int {
      var settings = ReconnectPolicy.Settings()
      settings.relayOnly = relayOnly
      var policy = ReconnectPolicy(settings: settings, seed: 1)
      policy.hasRelays = hasRelays
      var now = Instant.zero
      var decision = policy.handle(.start, at: now)
      var joins = 0
      while joins < 10, case .attempt = decision {
        joins += 1
        _ = policy.handle(.joined, at: now)
        now += .seconds(15)
        decision = policy.handle(.mediaFailed(failed), at: now)
      }
      #expect(decision == .finish(failed))
      return joins
    }
    #expect(joins(hasRelays: false, relayOnly: false) == 2)
    #expect(joins(hasRelays: true, relayOnly: false) == 3)
    #expect(joins(hasRelays: true, relayOnly: true) == 2)
    #expect(joins(hasRelays: false, relayOnly: true) == 1)
  }

  @Test func anExpiredTokenIsRenewedOnceAndNeverTriedAgain() {
    let expired = RoomError(.tokenExpired)
    var policy = connected()
    policy.canRenewToken = true
    _ = policy.handle(.lost(signalLost, canResume: true), at: .zero)
    #expect(policy.handle(.failed(expired), at: .seconds(1)) == .attempt(.join(relayOnly: false)))
    #expect(policy.handle(.failed(expired), at: .seconds(2)) == .finish(expired))
    policy = connected()
    _ = policy.handle(.lost(signalLost, canResume: true), at: .zero)
    #expect(policy.handle(.failed(expired), at: .seconds(1)) == .finish(expired))
  }

  @Test(arguments: [RoomError.Kind.evicted, .removed, .roomEnded, .unauthorized, .notPermitted])
  func theServersEndIsNeverFought(kind: RoomError.Kind) {
    for loss in [false, true] {
      var policy = connected()
      if loss { _ = policy.handle(.lost(signalLost, canResume: true), at: .zero) }
      #expect(policy.handle(.over(RoomError(kind)), at: .seconds(1)) == .finish(RoomError(kind)))
      for event in [ReconnectPolicy.Event.networkChanged, .timer, .lost(signalLost, canResume: true), .start] {
        #expect(policy.handle(event, at: .seconds(100)) == .none)
      }
      #expect(policy.nextDeadline == nil)
    }
  }

  @Test func aChangedNetworkMakesTheNextAttemptAtOnce() {
    var policy = connected()
    var now = Instant.zero
    _ = policy.handle(.lost(signalLost, canResume: false), at: now)
    for _ in 0..<6 {
      _ = policy.handle(.failed(refused), at: now)
      _ = wait(&policy, &now)
    }
    _ = policy.handle(.failed(refused), at: now)
    now += ReconnectPolicy.spacing
    #expect(policy.nextAttemptAt ?? .zero > now)
    #expect(policy.handle(.networkChanged, at: now) == .attempt(.join(relayOnly: false)))
  }

  /// Whatever happens in whatever order: no two attempts within the spacing (but for the join after a refused resume,
  /// once a loss), during a loss something is always under way or planned within the cap, never anything after the
  /// end, and every state can be left.
  @Test(arguments: 0..<400)
  func attemptsKeepTheirDistanceAndNeverStop(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var settings = ReconnectPolicy.Settings()
    if seed % 5 == 0 { settings.rule = .fixed(attempts: 50, interval: .seconds(3)) }
    if seed % 3 == 0 { settings.waitForRoom = .seconds(1000) }
    if seed % 4 == 0 { settings.waitForAdmission = .seconds(1000) }
    var policy = ReconnectPolicy(settings: settings, seed: UInt64(seed))
    policy.hasRelays = seed % 2 == 0
    var now = Instant.zero
    var lastStart: Instant?
    var isUnderWay = false
    var immediate = 0
    var event = ReconnectPolicy.Event.start
    var log: [String] = []
    for _ in 0..<300 {
      let before = policy.state
      let decision = policy.handle(event, at: now)
      log.append("\(now) s \(before) \(event) -> \(policy.state) \(decision)")
      func fault(_ text: String) { Issue.record("seed \(seed): \(text)\n\(log.suffix(12).joined(separator: "\n"))") }
      if before == .ended, decision != .none { return fault("something after the end") }
      if !policy.isLost { immediate = 0 }
      switch decision {
      case .none: break
      case .attempt:
        if let lastStart, now - lastStart < ReconnectPolicy.spacing {
          immediate += 1
          if immediate > 1 { return fault("attempts too close") }
        }
        lastStart = now
        isUnderWay = true
      case .finish: isUnderWay = false
      }
      if policy.state == .ended { return }
      if policy.nextAttemptAt != nil { isUnderWay = false }
      if policy.isLost, !isUnderWay {
        guard let next = policy.nextDeadline else { return fault("nothing planned") }
        if next - now > ReconnectPolicy.slowCap { return fault("the next attempt is too late") }
      }
      (event, now) = Self.next(after: policy, isUnderWay: isUnderWay, now: now, &random)
      if case .connected = event { isUnderWay = false }
    }
  }

  /// Something that can happen in this state.
  static func next(
    after policy: ReconnectPolicy, isUnderWay: Bool, now: Instant, _ random: inout SeededRandom
  ) -> (ReconnectPolicy.Event, Instant) {
    let later = now + .nanoseconds(Int64.random(in: 0...4_000_000_000, using: &random))
    if !isUnderWay, let deadline = policy.nextDeadline, Int.random(in: 0..<4, using: &random) > 0 {
      return (.timer, max(now, deadline))
    }
    let errors: [RoomError.Kind] = [.refused, .timeout, .busy, .roomFull, .protocolError, .dnsFailure]
    let error = RoomError(errors[Int.random(in: 0..<errors.count, using: &random)])
    let choices: [ReconnectPolicy.Event] =
      switch policy.state {
      case .idle: [.start]
      case .connecting, .waitingForRoom:
        isUnderWay ? [.joined, .held, .failed(error), .roomSeen] : [.networkChanged, .roomSeen]
      case .waitingForAdmission: [.admitted, .lost(RoomError(.signalLost), canResume: true)]
      case .joined, .connected:
        [
          .connected, .lost(RoomError(.signalLost), canResume: true), .lost(RoomError(.mediaLost), canResume: false),
          .networkChanged,
        ]
      case .resuming, .rejoining, .relaying:
        isUnderWay
          ? [
            .joined, .connected, .failed(error), .refused(RoomError(.sessionUnknown)), .networkChanged,
            .mediaFailed(RoomError(.mediaFailed)), .lost(RoomError(.signalLost), canResume: true),
          ] : [.networkChanged]
      case .ended: [.timer]
      }
    return (choices[Int.random(in: 0..<choices.count, using: &random)], later)
  }

  @Test func everyStateCanBeReachedAndLeft() {
    var reached: Set<ReconnectPolicy.State> = [.idle, .ended]
    for state in ReconnectPolicy.State.allCases {
      var ways = 0
      for trigger in ReconnectPolicy.Trigger.allCases {
        guard let (next, _) = ReconnectPolicy.transition(from: state, on: trigger) else { continue }
        reached.insert(next)
        if next != state { ways += 1 }
      }
      #expect((ways > 0) == (state != .ended), "\(state)")
    }
    #expect(reached == Set(ReconnectPolicy.State.allCases))
  }
}
