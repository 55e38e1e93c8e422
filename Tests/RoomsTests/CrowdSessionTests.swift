import MediaCore
import Session
import Signaling
import TestKit
import Testing

@testable import Rooms

/// Rooms with more people than a recorder can receive.
@Suite struct CrowdSessionTests {
  private static func name(_ prefix: String, _ number: Int) -> String {
    let digits = String(number)
    return prefix + String(repeating: "0", count: 4 - digits.count) + digits
  }

  private static func guest(_ number: Int, version: UInt32 = 1, muted: Bool = true) -> Livekit_ParticipantInfo {
    let (camera, microphone) = (name("TR_V", number), name("TR_A", number))
    return Script.person(
      name("guest", number), version: version, tracks: [camera, microphone], muted: muted ? [camera, microphone] : [])
  }

  /// What is sent about subscriptions: how many tracks, and whether they are wanted.
  private static func subscriptions(_ lines: [String]) -> [String] {
    lines.filter { $0.hasPrefix("send subscribe") }.map { line in
      "\(line.split(separator: "]").first?.split(separator: ",").count ?? 0) \(line.hasSuffix("true"))"
    }
  }

  private static func speaking(_ number: Int) -> (inout Livekit_SignalResponse) -> Void {
    { message in
      message.speakersChanged.speakers = [
        .with { ($0.sid, $0.level, $0.active) = ("PA_" + name("guest", number), 0.5, true) }
      ]
    }
  }

  @Test func aHundredPeopleAreReceivedAsTheServerSendsThem() {
    var script = Script()
    _ = script.handle(.connect)
    let lines = script.receive { $0.join = Script.join((0..<100).map { Self.guest($0, muted: false) }) }
    #expect(Self.subscriptions(lines).isEmpty)
    #expect(lines.count { $0.hasPrefix("> participant") } == 100 && lines.count { $0.hasPrefix("> track") } == 200)
  }

  @Test func ofThreeThousandPeopleThoseWhoMatterAreReceived() {
    var script = Script()
    #expect(script.handle(.connect).first?.contains("auto_subscribe=1") == true)
    let crowd = Script.join((0..<3000).map { Self.guest($0, muted: $0 != 2999) })
    let again = script.receive { $0.join = crowd }
    // The server must not send them all before it can be told: the room is joined anew, and nothing was told.
    #expect(again.count { $0.contains("auto_subscribe=0") } == 1 && !again.contains { $0.hasPrefix(">") }, "\(again)")
    let lines = script.receive { $0.join = crowd }
    #expect(Self.subscriptions(lines) == ["400 true"])
    #expect(lines.count { $0.hasPrefix("> participant") } == 3000 && lines.count { $0.hasPrefix("media") } == 1)
    // Who can be seen and heard goes first.
    #expect(script.session.room.subscriptions.pictures.received[TrackID("TR_V2999")] != nil)
    #expect(script.session.room.subscriptions.audio.received[TrackID("TR_A2999")] != nil)
    // Somebody talks whose microphone is on.
    _ = script.receive { $0.update.participants = [Self.guest(1500, version: 2, muted: false)] }
    let talk = script.receive(Self.speaking(1500))
    #expect(talk.contains("send subscribe [\"TR_A1500\"] [\"PA_guest1500\"] true"), "\(talk)")
    #expect(Self.subscriptions(talk) == ["1 false", "1 true"])
    #expect(Self.subscriptions(script.receive(Self.speaking(1500))).isEmpty)
    // The recording shows somebody.
    let seen = script.handle(.subscribe(TrackID("TR_V1500")))
    #expect(seen.contains("send subscribe [\"TR_V1500\"] [\"PA_guest1500\"] true"), "\(seen)")
    #expect(
      script.session.room.subscriptions.pictures.received.count == 200
        && script.session.room.subscriptions.audio.received.count == 200)
    // The others leave, and all who are left are received again.
    var wanted = 0
    for number in 150..<3000 where number != 1500 {
      let left = script.receive { message in
        message.update.participants = [
          .with {
            ($0.sid, $0.identity) = ("PA_" + Self.name("guest", number), Self.name("guest", number))
            ($0.state, $0.version) = (.disconnected, 9)
          }
        ]
      }
      wanted += Self.subscriptions(left).count { $0.hasSuffix("true") }
    }
    #expect(wanted > 0)
    #expect(
      script.session.room.subscriptions.pictures.omitted.isEmpty
        && script.session.room.subscriptions.audio.omitted.isEmpty)
    #expect(script.session.room.subscriptions.pictures.received.count == 151)
  }

  @Test func whatIsSaidOfOneOfManyIsToldOfOne() {
    var script = Script()
    _ = script.handle(.connect)
    let crowd = (0..<3000).map { Self.guest($0) }
    _ = script.receive { $0.join = Script.join(crowd) }
    _ = script.receive { $0.join = Script.join(crowd) }
    let lines = script.receive { $0.update.participants = [Self.guest(77, version: 2, muted: false)] }
    #expect(lines == ["> track TR_A0077 guest0077", "> track TR_V0077 guest0077"])
    // Bound, then unmuted by the room: only that.
    let offered = script.offer(["0": "TR_V0077"])
    #expect(offered.suffix(2) == ["> subscribed TR_V0077 true", "bind 0=TR_V0077"], "\(offered)")
    let paused = script.receive { message in
      message.streamStateUpdate.streamStates = [.with { ($0.trackSid, $0.state) = ("TR_V0077", .paused) }]
    }
    #expect(paused == ["> paused TR_V0077 true"])
    #expect(script.session.room.report.announced == script.session.room.report.current)
  }

  @Test func aRoomThatGrowsIsReceivedUpToTheLimit() {
    var script = Script()
    script.joined((0..<199).map { Self.guest($0) })
    let last = script.receive { $0.update.participants = [Self.guest(199)] }
    #expect(Self.subscriptions(last).isEmpty)
    let more = script.receive { $0.update.participants = [Self.guest(200)] }
    #expect(Self.subscriptions(more) == ["2 false"], "\(more)")
    // What the server is told when the session goes on.
    #expect(script.session.room.subscriptions.pictures.omitted == [TrackID("TR_V0200")])
  }

  @Test func whoIsInViewIsReceivedAndGivenUpForNobody() {
    var script = Script()
    _ = script.handle(.connect)
    let crowd = Script.join((0..<300).map { Self.guest($0, muted: false) })
    _ = script.receive { $0.join = crowd }
    _ = script.receive { $0.join = crowd }
    // The first of all, as if its id came first; it has been received from the beginning and nobody has asked for it.
    let shown = Set([0, 1, 250].map { TrackID(Self.name("TR_V", $0)) })
    let lines = script.handle(.view(shown))
    #expect(Self.subscriptions(lines) == ["1 false", "1 true"])
    #expect(lines.contains("send subscribe [\"TR_V0250\"] [\"PA_guest0250\"] true"), "\(lines)")
    #expect(script.handle(.view(shown)).isEmpty)
    for number in 251..<300 { _ = script.handle(.subscribe(TrackID(Self.name("TR_V", number)))) }
    #expect(shown.isSubset(of: script.session.room.subscriptions.pictures.received.keys))
    // What is in view is received at once after the room was joined anew.
    _ = script.receive { $0.leave.action = .reconnect }
    #expect(script.passUntilSocket(seconds: 10).last?.contains("auto_subscribe=0") == true)
    _ = script.receive { $0.join = crowd }
    #expect(shown.isSubset(of: script.session.room.subscriptions.pictures.received.keys))
    // Out of view, it keeps its place for a while.
    _ = script.handle(.view([]))
    _ = script.handle(.subscribe(TrackID("TR_V0249")))
    #expect(shown.isSubset(of: script.session.room.subscriptions.pictures.received.keys))
  }

  @Test func aPlaceIsGivenUpOnlyByWhoHasNotBeenWantedLately() {
    var budget = SubscriptionBudget(isAutomatic: true)
    var change = SubscriptionBudget.Change()
    let ids = (0..<400).map { TrackID(Self.name("t", $0)) }
    for id in ids { budget.add(id, &change) }
    #expect(change.unwanted == Array(ids[200...]))
    // All two hundred places are taken by others within a second; then none is free for ten.
    var second = Instant.seconds(1)
    for id in ids[200...] { budget.use(id, at: second, &change) }
    change = SubscriptionBudget.Change()
    budget.use(ids[0], at: second + .seconds(9), &change)
    #expect(change == .init())
    second += .seconds(10)
    budget.use(ids[399], at: second, &change)
    budget.use(ids[0], at: second, &change)
    #expect(change == .init(wanted: [ids[0]], unwanted: [ids[200]]))
    #expect(budget.received.count == 200 && budget.omitted.count == 200)
    // Somebody goes: another of those who wait takes the place.
    change = .init()
    budget.remove(ids[0], &change)
    #expect(change.wanted.count == 1 && budget.received.count == 200)
  }
}
