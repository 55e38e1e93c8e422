import MediaCore
import TestKit
import Testing

@testable import Rooms

/// The states of the signal connection by themselves, as drawn at `SignalLink`.
@Suite struct SignalLinkTests {
  static let settings = LiveKitSettings(
    tokens: .given("T0"), connectTimeout: .seconds(15), mediaTimeout: .seconds(15), iceServers: [],
    wallClockOffset: 0
  )
  static let now = Instant.seconds(1000)

  /// What can happen to it.
  enum Step: CaseIterable {
    case connect, open, failed, refused, close, leave, end
  }

  static func link(_ steps: Step...) -> SignalLink {
    var link = SignalLink(settings: settings)
    for step in steps { apply(step, &link, at: now) }
    return link
  }

  static func apply(_ step: Step, _ link: inout SignalLink, at now: Instant) {
    switch step {
    case .connect: _ = try? link.connect(.resume, isReturn: true, autoSubscribe: true, at: now)
    case .open: link.open(at: now)
    case .failed: link.failed()
    case .refused: link.refused()
    case .close: link.close()
    case .leave: link.leave(at: now)
    case .end: link.end()
    }
  }

  @Test func theTable() {
    let table: [(steps: [Step], phase: SignalLink.Phase, attempt: Int)] = [
      ([], .idle, 0),
      ([.connect], .connecting(.resume), 1),
      ([.connect, .failed], .closed, 1),
      ([.connect, .refused], .closed, 2),
      ([.connect, .close], .closed, 2),
      ([.connect, .open], .open, 1),
      ([.connect, .open, .close], .closed, 2),
      ([.connect, .open, .close, .connect], .connecting(.resume), 3),
      ([.connect, .open, .leave], .leaving(until: Self.now + SignalLink.leaveTime), 1),
      ([.connect, .open, .leave, .end], .ended, 1),
      ([.end], .ended, 0),
    ]
    for (steps, phase, attempt) in table {
      var link = SignalLink(settings: Self.settings)
      for step in steps { Self.apply(step, &link, at: Self.now) }
      #expect(link.phase == phase && link.attempt == attempt, "\(steps)")
      #expect(link.isInUse == (phase != .idle && phase != .closed), "\(steps)")
    }
  }

  @Test func whatIsDueInEachPhase() {
    let now = Self.now
    #expect(Self.link().nextDeadline == nil)
    var link = Self.link(.connect)
    #expect(link.nextDeadline == now + SignalLink.reachTime)
    link.reached(isReturn: true, at: now)
    #expect(link.nextDeadline == now + SignalLink.answerTime)
    #expect(!link.isOverdue(at: now) && link.isOverdue(at: now + SignalLink.answerTime))
    link.answered()
    link.joined(as: "PA_1", pingInterval: 2, pingTimeout: 0)
    link.open(at: now)
    #expect(link.nextDeadline == now + .seconds(2) && link.isPingDue(at: now + .seconds(2)))
    _ = link.ping(at: now + .seconds(2))
    #expect(link.nextDeadline == now + .seconds(4))
    #expect(!link.isServerSilent(at: now + .nanoseconds(14_999_999_999)))
    #expect(link.isServerSilent(at: now + .seconds(15)))
    link.heard(at: now + .nanoseconds(1))
    #expect(!link.isServerSilent(at: now + .seconds(15)))
    link.close()
    #expect(link.nextDeadline == nil)
    #expect(!link.isServerSilent(at: .distantFuture) && !link.isPingDue(at: .distantFuture))
    link = Self.link(.connect, .open, .leave)
    #expect(link.nextDeadline == now + SignalLink.leaveTime)
    #expect(!link.hasLeft(at: now) && link.hasLeft(at: now + SignalLink.leaveTime))
  }

  @Test func aResumeNamesTheSessionAndAJoinDoesNot() throws {
    var link = Self.link(.connect, .open)
    link.joined(as: "PA_7", pingInterval: 5, pingTimeout: 15)
    link.note(.rrSignalDisconnected)
    link.refresh("T1")
    link.refresh("")
    link.close()
    let resume = try link.connect(.resume, isReturn: true, autoSubscribe: true, at: Self.now)
    #expect(resume.query.reconnect && resume.query.participantSID == "PA_7" && resume.token.wrappedValue == "T1")
    let join = try link.connect(.join(relayOnly: false), isReturn: true, autoSubscribe: false, at: Self.now)
    #expect(!join.query.reconnect && !join.query.autoSubscribe)
  }

  @Test func oneQuestionUntilItIsAnswered() {
    var link = Self.link(.connect, .open)
    let asked = Self.now + .nanoseconds(1)
    #expect(link.ask(at: asked) != nil && link.ask(at: asked + .seconds(10)) == nil)
    #expect(link.unanswered(at: asked + .nanoseconds(5)) == .nanoseconds(5))
    link.heard(at: asked + .nanoseconds(6))
    let soon = asked + .nanoseconds(7)
    #expect(link.unanswered(at: soon) == .zero && link.ask(at: soon) == nil, "not twice in a second")
    link.allowQuestion()
    #expect(link.ask(at: asked + .nanoseconds(8)) != nil)
    link.ponged(asked.nanoseconds / 1_000_000 - 300, at: asked)
    #expect(link.patience == SignalLink.pongTime + .milliseconds(600))
    link.close()
    #expect(link.unanswered(at: .distantFuture) == .zero && link.ask(at: .distantFuture) == nil)
  }

  /// Whatever happens in whatever order: numbers only grow, and what is due belongs to the phase.
  @Test func anyOrderMakesSense() {
    var random = SeededRandom(seed: 1)
    for run in 0..<2000 {
      var link = SignalLink(settings: Self.settings)
      var now = Self.now
      for _ in 0..<20 {
        let before = link.attempt
        let step = Step.allCases.randomElement(using: &random) ?? .connect
        if step == .open, link.attempted == nil { continue }
        if step == .failed || step == .refused, link.attempted == nil { continue }
        if step == .leave, !link.isOpen { continue }
        if link.phase == .ended { break }
        if !link.isLive, step != .end { continue }
        if step == .connect, link.isInUse { link.close() }
        Self.apply(step, &link, at: now)
        #expect(link.attempt >= before, "run \(run)")
        switch link.phase {
        case .idle, .closed, .ended: #expect(link.nextDeadline == nil, "run \(run): \(link.phase)")
        case .connecting, .open, .leaving: #expect(link.nextDeadline.map { $0 >= now } == true, "run \(run)")
        }
        now += .milliseconds(1)
      }
    }
  }
}
