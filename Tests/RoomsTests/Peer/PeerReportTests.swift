import MediaCore
import Session
import Signaling
import TestKit
import Testing
import Transport

@testable import Rooms

/// What the recording of a two-party room is told, by itself, as drawn at `PeerReport`.
@Suite struct PeerReportTests {
  static let now = Instant.seconds(1000)

  static func media(isUp: Bool = true, generations: Int = 1) -> PeerMedia {
    var media = PeerMedia()
    for _ in 0..<generations { media.open() }
    media.applied([MediaSection(mid: MID("1"), kind: .video, isActive: true)])
    if isUp { _ = media.changed(.connected, at: now) }
    return media
  }

  static func report(session: String = "T") -> PeerReport {
    var report = PeerReport()
    report.sees(.init(identity: "ann", name: "Ann", session: session))
    return report
  }

  static func lines(_ actions: [PeerReport.Action]) -> [String] {
    actions.map {
      switch $0 {
      case .emit(let event): Script.text(event)
      case .bind(let tracks): "bind \(tracks.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " "))"
      default: "\($0)"
      }
    }
  }

  @Test func aTrackIsToldBeforeItsFramesPass() {
    var report = Self.report()
    #expect(Self.lines(report.tell(PeerMedia())) == ["participant Ann"])
    #expect(Self.lines(report.tell(Self.media(isUp: false))) == ["track ann/camera/1 ann"])
    #expect(Self.lines(report.tell(Self.media())) == ["subscribed ann/camera/1 true", "bind 1=ann/camera/1"])
    #expect(report.tell(Self.media()).isEmpty)
  }

  @Test func duringALossNothingIsToldAndAfterwardsEverything() {
    var report = Self.report()
    _ = report.tell(Self.media())
    #expect(Self.lines(report.tellLoss("gone")).count == 1 && report.isLossTold)
    #expect(report.tellLoss("gone").isEmpty)
    report.rename("Anna")
    #expect(report.tell(Self.media(isUp: false)).isEmpty)
    #expect(Self.lines(report.bind(PeerMedia())) == ["bind "])
    let restored = Self.lines(report.tellRestored(Self.media(generations: 2)))
    #expect(
      restored == [
        "restored", "unpublished ann/camera/1", "participant Anna", "track ann/camera/2 ann",
        "subscribed ann/camera/2 true", "bind 1=ann/camera/2", "synchronized",
      ])
    // Without a loss only the difference is.
    #expect(!report.isLossTold && report.tellRestored(Self.media(generations: 2)).isEmpty)
  }

  @Test func whoComesWithAnotherSessionHasLeftAndComeBack() {
    var report = Self.report()
    _ = report.tell(Self.media())
    report.sees(.init(identity: "ann", name: "Ann", session: "U"))
    #expect(Self.lines(report.tell(Self.media(generations: 2))).prefix(2) == ["left ann", "participant Ann"])
    // Who had no tracks yet has lost nothing by that.
    report = Self.report()
    _ = report.tell(PeerMedia())
    report.sees(.init(identity: "ann", name: "Ann", session: "U"))
    #expect(report.tell(PeerMedia()).isEmpty)
  }

  @Test func aGoodbyeEndsALossAndEverythingThatWasThere() {
    var report = Self.report()
    _ = report.tell(Self.media())
    _ = report.tellLoss("gone")
    #expect(Self.lines(report.tellGoodbye()) == ["restored", "left ann", "bind "])
    #expect(report.person == nil && report.tellGoodbye().isEmpty)
  }

  @Test func namesFromTheOtherSideAreBounded() {
    var report = Self.report()
    report.rename("")
    report.rename(String(repeating: "x", count: PeerReport.nameLimit + 1))
    #expect(report.person?.name == "Ann")
    report.rename("Anna")
    #expect(report.person?.name == "Anna")
    report.forget()
    report.rename("nobody")
    #expect(report.person == nil)
  }

  @Test func aStatusIsToldWhenItIsNewsAndATimeThatMovesIsNone() {
    let settings = PeerSettings(room: "booth", session: "S", seed: 1)
    var (status, mailbox) = (PeerStatus(), MailboxLink(settings: settings))
    let negotiation = PeerNegotiation(session: "S")
    var recovery = PeerRecovery(settings: .init(), seed: 1)
    func news(_ phase: PeerFlow.Phase, _ media: PeerMedia) -> RoomStatus? {
      status.news(phase, mailbox, negotiation, media, recovery, at: Self.now)
    }
    #expect(news(.idle, PeerMedia()) == nil)
    #expect(news(.joining(by: .zero), PeerMedia())?.state == .connecting)
    recovery.joinFailed(RoomError(.roomFull))
    mailbox.retryJoin(by: .distantFuture, at: Self.now)
    let waiting = news(.joining(by: .zero), PeerMedia())
    #expect(waiting?.state == .waitingForRoom && waiting?.attempts == 1 && waiting?.error?.kind == .roomFull)
    #expect(waiting?.nextAttemptIn.map { $0 > .zero } == true)
    #expect(news(.joining(by: .zero), PeerMedia()) == nil)
    #expect(news(.running, Self.media())?.state == .connected)
    recovery.lost(RoomError(.mediaLost, "gone"), at: Self.now)
    #expect(news(.running, Self.media(isUp: false))?.state == .rejoining)
    _ = recovery.reset(RoomError(.mediaLost, "gone"), isMediaFailure: true, hasRelays: true, at: Self.now)
    #expect(news(.running, PeerMedia())?.state == .relaying)
    _ = recovery.reset(RoomError(.mediaLost, "gone"), isMediaFailure: false, hasRelays: true, at: Self.now)
    #expect(news(.running, PeerMedia()) == nil)
    recovery.connected()
    recovery.networkChanged(isUp: false, canRestart: false, at: Self.now)
    #expect(news(.running, PeerMedia())?.state == .joined)
    #expect(PeerStatus.end(nil) == RoomStatus(state: .ended) && PeerStatus.end(RoomError(.evicted)).action == .fail)
  }
}
