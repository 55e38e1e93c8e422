import MediaCore
import Session
import Signaling
import TestKit
import Testing

@testable import Rooms

/// What is so and what was told, by itself, as listed at `RoomReport`; and what is asked for.
@Suite struct RoomReportTests {
  static let camera = TrackID("TR_V1")

  static func report(_ people: [Livekit_ParticipantInfo]) -> RoomReport {
    var report = RoomReport(selection: RoomSelection(), keys: nil)
    report.reset(own: .with { ($0.sid, $0.identity) = ("PA_me", "bot") }, others: people)
    return report
  }

  static func section(_ track: String) -> MediaSection {
    MediaSection(mid: MID("0"), kind: .video, streamID: "PA_x|\(track)", trackID: track, isActive: true)
  }

  static func lines(_ actions: [LiveKitSession.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .emit(let event): Script.text(event)
      case .bind(let tracks): "bind \(tracks.values.map(\.rawValue).sorted().joined(separator: " "))"
      default: "\(action)"
      }
    }
  }

  /// One track's way through the table.
  @Test func aTrackIsToldStepByStep() {
    var report = Self.report([Script.person("ann", tracks: ["TR_V1"])])
    #expect(Self.lines(report.announce()) == ["participant ann", "track TR_V1 ann"])
    #expect(report.announce().isEmpty && !report.expectsMedia())
    report.bind([Self.section("TR_V1")], trackOfMID: [:])
    #expect(Self.lines(report.announce()) == ["subscribed TR_V1 true", "bind TR_V1"])
    #expect(report.expectsMedia() == true)
    report.apply([.with { ($0.trackSid, $0.state) = ("TR_V1", .paused) }])
    #expect(Self.lines(report.announce()) == ["paused TR_V1 true"] && !report.expectsMedia())
    report.apply([.with { ($0.trackSid, $0.state) = ("TR_V1", .active) }])
    #expect(Self.lines(report.announce()) == ["paused TR_V1 false"] && report.expectsMedia())
    #expect(report.refuse(Self.camera, "why") == "the camera of ann (TR_V1) is not received: why")
    #expect(Self.lines(report.announce()) == ["subscribed TR_V1 false", "bind "] && !report.expectsMedia())
    report.bind([Self.section("TR_V1")], trackOfMID: [:])
    #expect(Self.lines(report.announce()) == ["subscribed TR_V1 true", "bind TR_V1"])
    report.apply(Script.person("ann", version: 2))
    report.forgetEnded()
    #expect(Self.lines(report.announce()) == ["unpublished TR_V1", "bind "])
    #expect(report.current == report.announced)
  }

  @Test func aWishIsKeptOnceAndCountsForWhatIsExpected() {
    var report = Self.report([Script.person("ann", tracks: ["TR_V1"])])
    report.bind([Self.section("TR_V1")], trackOfMID: [:])
    _ = report.announce()
    #expect(report.keep(ReceptionWish(track: TrackID("TR_V9"), reception: .hidden)) == nil, "nobody publishes it")
    #expect(report.keep(ReceptionWish(track: Self.camera, reception: .hidden)) == true && !report.expectsMedia())
    #expect(report.keep(ReceptionWish(track: Self.camera, reception: .hidden)) == false)
    #expect(report.keep(ReceptionWish(track: Self.camera, reception: .wanted)) == true && report.expectsMedia())
  }

  /// A room that is not told piece by piece is told as a whole: the listener then knows the same.
  @Test func whatIsToldAtOnceIsWhatWasToldInSteps() {
    var random = SeededRandom(seed: 7)
    for run in 0..<500 {
      var (often, once) = (Self.report([]), Self.report([]))
      for version in 1...12 {
        let tracks = ["TR_V1", "TR_A1", "TR_V2"].filter { _ in Bool.random(using: &random) }
        var info = Script.person("p\(Int.random(in: 0..<2, using: &random))", version: UInt32(version), tracks: tracks)
        if Int.random(in: 0..<4, using: &random) == 0 { info.state = .disconnected }
        let section = Self.section(Bool.random(using: &random) ? "TR_V1" : "TR_V2")
        for tells in [true, false] {
          var report = tells ? often : once
          report.apply(info)
          report.bind([section], trackOfMID: [:])
          report.forgetEnded()
          if tells { _ = report.announce() }
          if tells { often = report } else { once = report }
        }
      }
      _ = once.announceAll()
      #expect(often.announced == often.current, "run \(run)")
      #expect(often.announced == once.announced && often.bound == once.bound, "run \(run)")
    }
  }

  @Test func aCrowdIsJoinedAnotherWayOnce() {
    let people = (0..<300).map { Script.person("p\($0)", tracks: ["TR_V\($0)"]) }
    let roster = Self.report(people).roster
    var subscriptions = Subscriptions(receivesMedia: true, selection: RoomSelection())
    #expect(subscriptions.isAutomatic && !subscriptions.needsAnotherJoin(Self.report([]).roster))
    #expect(subscriptions.needsAnotherJoin(roster) && !subscriptions.needsAnotherJoin(roster))
    #expect(!subscriptions.isAutomatic)
    subscriptions.begin()
    #expect(subscriptions.update(roster).first?.subscription.trackSids.count == SubscriptionBudget.limit)
    #expect(subscriptions.state.trackSids.count == SubscriptionBudget.limit && subscriptions.state.subscribe)
    var off = Subscriptions(receivesMedia: false, selection: RoomSelection())
    #expect(!off.isAutomatic && off.update(roster).isEmpty && !off.needsAnotherJoin(roster))
  }

  @Test func onRequestOnlyWhatIsWishedForIsAskedForAlsoAfterAnotherJoin() {
    let people = (0..<3).map { Script.person("p\($0)", tracks: ["TR_V\($0)"]) }
    let roster = Self.report(people).roster
    var subscriptions = Subscriptions(receivesMedia: true, selection: RoomSelection(), autoSubscribe: false)
    subscriptions.begin()
    #expect(!subscriptions.isAutomatic && subscriptions.update(roster).isEmpty)
    #expect(subscriptions.state.trackSids.isEmpty && subscriptions.state.subscribe)
    let wanted = TrackID("TR_V1")
    #expect(subscriptions.wish(for: wanted, in: roster).first?.subscription.trackSids == ["TR_V1"])
    #expect(subscriptions.wish(for: wanted, in: roster).isEmpty)
    #expect(subscriptions.wish(for: TrackID("TR_V9"), in: roster).isEmpty)
    #expect(subscriptions.state.trackSids == ["TR_V1"])
    subscriptions.begin()
    #expect(subscriptions.update(roster).first?.subscription.trackSids == ["TR_V1"])
    // One that has ended is as new when it comes again.
    let gone = Self.report([people[0]]).roster
    subscriptions.forgetEnded(gone)
    #expect(subscriptions.update(gone).isEmpty && subscriptions.state.trackSids.isEmpty)
    #expect(subscriptions.update(roster).isEmpty)
    var automatic = Subscriptions(receivesMedia: true, selection: RoomSelection())
    #expect(automatic.update(roster).isEmpty && automatic.wish(for: wanted, in: roster).isEmpty)
  }

  @Test func aTrackIsAskedForAgainAfterAWhile() throws {
    let roster = Self.report([Script.person("ann", tracks: ["TR_V1"])]).roster
    let track = try #require(roster.track(Self.camera))
    var subscriptions = Subscriptions(receivesMedia: true, selection: RoomSelection())
    let first = subscriptions.ask(for: track, in: roster, at: .zero)
    #expect(first.requests.count == 1 && !first.isRepeated)
    let due = Instant.zero + Subscriptions.interval
    #expect(subscriptions.ask(for: track, in: roster, at: due - .nanoseconds(1)).requests.isEmpty)
    let again = subscriptions.ask(for: track, in: roster, at: due)
    #expect(again.requests.first?.subscription.trackSids == ["TR_V1"] && again.isRepeated)
  }
}
