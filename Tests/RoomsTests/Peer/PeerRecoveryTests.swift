import MediaCore
import TestKit
import Testing

@testable import Rooms

/// What is lost and how it is to come back, by itself, as in the table at `PeerRecovery`.
@Suite struct PeerRecoveryTests {
  static let now = Instant.seconds(1000)
  static let error = RoomError(.mediaLost, "gone")

  static func recovery(_ change: (inout ReconnectPolicy.Settings) -> Void = { _ in }) -> PeerRecovery {
    var settings = ReconnectPolicy.Settings()
    change(&settings)
    return PeerRecovery(settings: settings, seed: 1)
  }

  static func reset(
    _ recovery: inout PeerRecovery, isMediaFailure: Bool = false, hasRelays: Bool = false, at time: Instant = now
  ) -> Bool {
    recovery.reset(error, isMediaFailure: isMediaFailure, hasRelays: hasRelays, at: time)
  }

  private enum Event: CaseIterable {
    case lost, began, reset, networkChanged, connected, departed
  }

  @Test func theTable() {
    // From which events which state: whether media is lost, whether a restart is due, and how many attempts there were.
    typealias Row = (before: [Event], Event, isLost: Bool, wantsRestart: Bool, attempts: Int)
    let table: [Row] = [
      ([], .began, false, false, 0), ([], .reset, false, false, 0), ([], .networkChanged, false, false, 0),
      ([], .lost, true, true, 0),
      ([.lost], .began, true, false, 1), ([.lost], .reset, true, false, 0), ([.lost], .networkChanged, true, true, 0),
      ([.lost], .connected, false, false, 0), ([.lost, .reset], .departed, false, false, 0),
      ([.lost, .began], .networkChanged, true, true, 1), ([.lost, .began], .reset, true, false, 1),
      ([.lost, .began], .connected, false, false, 0), ([.lost, .began, .reset], .departed, false, false, 0),
      ([.lost, .reset], .began, true, false, 1), ([.lost, .reset, .began], .began, true, false, 2),
    ]
    for (before, event, isLost, wantsRestart, attempts) in table {
      var recovery = Self.recovery()
      for event in before + [event] {
        switch event {
        case .lost: recovery.lost(Self.error, at: Self.now)
        case .began: recovery.began(at: Self.now)
        case .reset: #expect(Self.reset(&recovery))
        case .networkChanged: recovery.networkChanged(isUp: false, canRestart: true, at: Self.now)
        case .connected: recovery.connected()
        case .departed: recovery.departed()
        }
      }
      #expect((recovery.lostAt != nil) == isLost, "\(before) \(event)")
      #expect(recovery.wantsRestart == wantsRestart, "\(before) \(event)")
      #expect(recovery.attempts == attempts, "\(before) \(event)")
    }
  }

  @Test func pausesGrowWithResetsAndBeginAnewWhenMediaFlowed() {
    var recovery = Self.recovery()
    var pauses: [Duration] = []
    for _ in 0..<8 {
      #expect(Self.reset(&recovery))
      pauses.append(recovery.retryAt - Self.now)
    }
    #expect(pauses[0] == .zero, "\(pauses)")
    #expect((Duration.milliseconds(125) ... .milliseconds(250)).contains(pauses[1]), "\(pauses)")
    #expect(pauses[5...].allSatisfy { (Duration.seconds(1) ... .seconds(2)).contains($0) }, "\(pauses)")
    recovery.connected()
    #expect(recovery.resets == 0 && recovery.error == nil && recovery.text == "")
    _ = Self.reset(&recovery)
    #expect(recovery.retryAt == Self.now && recovery.resets == 1)
    // Where the network is another one, nothing is waited for.
    _ = Self.reset(&recovery)
    recovery.networkChanged(isUp: true, canRestart: true, at: Self.now)
    #expect(recovery.retryAt == Self.now && !recovery.wantsRestart)
  }

  @Test func fixedRulesCountAttemptsFromTheBeginningOfTheLast() {
    let interval = Duration.seconds(30)
    var recovery = Self.recovery { $0.rule = .fixed(attempts: 2, interval: interval) }
    recovery.lost(Self.error, at: Self.now)
    #expect(Self.reset(&recovery) && recovery.retryAt == Self.now)
    recovery.began(at: Self.now)
    #expect(Self.reset(&recovery, at: Self.now + .nanoseconds(4)) && recovery.retryAt == Self.now + interval)
    recovery.began(at: Self.now + interval)
    #expect(!Self.reset(&recovery, at: Self.now + interval + .nanoseconds(4)))
  }

  @Test func relaysTakeTurnsWithTheDirectWayAfterConnectionsThatNeverStood() {
    var recovery = Self.recovery()
    let turns = (0..<4).map { _ in
      _ = Self.reset(&recovery, isMediaFailure: true, hasRelays: true)
      return recovery.relayOnly
    }
    #expect(turns == [true, false, true, false])
    _ = Self.reset(&recovery, isMediaFailure: true, hasRelays: true)
    _ = Self.reset(&recovery, isMediaFailure: false, hasRelays: true)
    #expect(recovery.prefersRelay)
    recovery.networkChanged(isUp: false, canRestart: false, at: Self.now)
    #expect(!recovery.prefersRelay)
    _ = Self.reset(&recovery, isMediaFailure: true, hasRelays: false)
    #expect(!recovery.prefersRelay)
    var forced = Self.recovery { $0.relayOnly = true }
    _ = Self.reset(&forced, isMediaFailure: true, hasRelays: true)
    #expect(forced.relayOnly && !forced.prefersRelay)
  }

  @Test func patienceIsCountedFromTheFirstLoss() {
    var recovery = Self.recovery { $0.limit = .seconds(20) }
    #expect(recovery.nextDeadline == nil && !recovery.isOver(at: .distantFuture))
    recovery.lost(Self.error, at: Self.now)
    recovery.lost(Self.error, at: Self.now + .nanoseconds(5))
    let end = Self.now + .seconds(20)
    #expect(recovery.nextDeadline == end)
    #expect(!recovery.isOver(at: end - .nanoseconds(1)) && recovery.isOver(at: end))
    recovery.reached()
    #expect(recovery.nextDeadline == nil)
    var patient = Self.recovery()
    patient.lost(Self.error, at: Self.now)
    #expect(patient.nextDeadline == nil)
  }

  @Test func aMailboxThatIsAwayIsToldOfAfterAWhile() {
    var recovery = Self.recovery()
    let error = RoomError(.refused)
    #expect(recovery.unreachable(error, at: Self.now) == false)
    let end = Self.now + PeerRecovery.unreachableTime
    #expect(recovery.unreachable(error, at: end - .nanoseconds(1)) == false)
    #expect(recovery.unreachable(error, at: end) == true)
    #expect(recovery.text == error.summary)
    // Of lost media only the detail is said: the table's sentence speaks of a server.
    recovery.lost(Self.error, at: Self.now)
    #expect(recovery.text == "gone")
  }

  @Test func pausesOfABackOffStayInTheirSpans() {
    var backOff = BackOff(seed: 7)
    let (base, cap) = (Duration.nanoseconds(100), Duration.nanoseconds(1000))
    for attempt in [-1, 0, 1] { #expect(backOff.pause(before: attempt, base: base, cap: cap) == .zero) }
    for (attempt, span) in [(2, 100), (3, 200), (4, 400), (5, 800), (6, 1000), (Int.max, 1000)] {
      for _ in 0..<100 {
        let pause = backOff.pause(before: attempt, base: base, cap: cap)
        #expect((Duration.nanoseconds(span / 2) ... .nanoseconds(span)).contains(pause), "attempt \(attempt)")
      }
    }
    var (one, same) = (BackOff(seed: 3), BackOff(seed: 3))
    let (odd, oddCap) = (Duration.nanoseconds(999), Duration.nanoseconds(99_999))
    #expect(
      (2..<20).allSatisfy {
        one.pause(before: $0, base: odd, cap: oddCap) == same.pause(before: $0, base: odd, cap: oddCap)
      })
  }
}
