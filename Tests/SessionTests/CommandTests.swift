import Layouts
import MediaCore
import Testing

@testable import Session

/// Commands of the operator, and what is noted of them.
@Suite struct CommandTests {
  private let ann = ParticipantIdentity("ann")

  private func room(_ names: [String] = ["ann", "ben", "cat"]) -> RoomScript {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    for name in names { room.join(name, at: 0) }
    return room
  }

  private func large(_ run: SessionRun, at ms: Int64) -> String? {
    run.plan(at: ms)?.tiles.first { $0.layer.isLarge }?.name
  }

  @Test func theSpotlightHasTheLargePlaceWhoeverTalks() {
    var room = room()
    room.at(0, .setLayout(.speaker))
    room.at(100, .speakers([Speaker(participant: ParticipantIdentity("ben"), level: 700, isActive: true)]))
    room.at(2_000, .spotlight(TileSelector(participant: "Cat")))
    room.at(4_000, .spotlight(nil))
    let run = room.run(until: 6_000)
    #expect(large(run, at: 1_900) == "Ben")
    #expect(large(run, at: 2_034) == "Cat")
    #expect(large(run, at: 4_034) == "Ben")
  }

  @Test func aPinLastsUntilItIsTakenAwayAlsoWhenItsOwnerLeaves() {
    var room = room()
    let pin = TileSelector(participant: "cat")
    room.at(1_000, .pin(pin))
    room.at(2_000, .participantLeft(ParticipantIdentity("cat")))
    room.join("cat", at: 3_000)
    room.at(4_000, .unpin(pin))
    let run = room.run(until: 6_000)
    #expect(run.tile("cat", at: 900)?.isPinned == false)
    #expect(run.tile("cat", at: 1_034)?.isPinned == true)
    #expect(run.tile("cat", at: 3_034)?.isPinned == true)
    #expect(run.tile("cat", at: 4_034)?.isPinned == false)
    #expect(run.notes.map(\.event).contains(.pinned("cat")))
    #expect(run.notes.map(\.event).contains(.unpinned("cat")))
  }

  @Test func aLayoutIsInForceFromItsInstantOn() throws {
    var room = room()
    room.at(1_010, .setLayout(.speaker))
    let run = room.run(until: 3_000)
    #expect(run.plan(at: 1_000)?.layout == "grid")
    #expect(run.plan(at: 1_034)?.layout == "speaker")
    let note = try #require(run.notes.last { $0.event == .layout("speaker") })
    #expect(note.time == .milliseconds(1_010))
  }

  @Test func everythingThatHappensIsNotedInOrder() {
    var room = RoomScript()
    room.at(0, .joined(room: "r"))
    room.join("ann", at: 100)
    room.at(200, .participant(Participant(identity: ann, name: "Anna")))
    room.at(300, .track(RoomScript.track("ann", .camera, isMuted: true)))
    room.at(400, .track(RoomScript.track("ann", .camera)))
    room.publish("ann", .screenShare, at: 500)
    room.at(600, .trackPaused(TrackID("ann.camera"), true))
    room.at(700, .trackUnpublished(TrackID("ann.screenShare")))
    room.at(800, .title("Talk"))
    room.at(900, .marker("here"))
    room.at(1_000, .connectionLost("gone"))
    room.at(2_000, .connectionRestored)
    room.at(3_000, .participantLeft(ann))
    room.at(4_000, .ended(.roomEnded))
    let notes = room.run(until: 4_000).notes
    #expect(
      notes.map { "\($0.time) \($0.event.name)" } == [
        "0.000 started", "0.000 layout", "0.100 joined", "0.100 published", "0.100 published", "0.200 renamed",
        "0.300 muted", "0.400 unmuted", "0.500 published", "0.500 talker", "0.500 scene", "0.600 low-bandwidth",
        "0.600 bandwidth-alert", "0.700 unpublished", "0.700 scene", "0.800 title", "0.800 bandwidth-alert",
        "0.900 marker", "1.000 connection-lost",
        "2.000 connection-restored", "3.000 unpublished", "3.000 unpublished", "3.000 left", "3.000 bandwidth-alert",
        "4.000 ended",
      ])
  }

  @Test func anEntryIsALineOfJSON() {
    let entry = TimelineEntry(
      time: .milliseconds(1_500), sessionTime: .milliseconds(2_500),
      event: .joined(ann, name: "A \"quoted\"\nname \u{2028}"))
    #expect(
      entry.json(startDate: 1_700_000_000_000_000_000)
        == #"{"time_ms":1500,"session_ms":2500,"at":"2023-11-14T22:13:22.500Z","event":"joined","participant":"ann","#
        + #""name":"A \"quoted\"\nname \u2028"}"#)
  }

  @Test func overlaysSayTitleClockAndLength() {
    var layout = Layout.grid
    let clock = ClockFormat("%H:%M:%S") ?? .standard
    layout.overlays = [
      Overlay(.text(.title), anchor: .top), Overlay(.text(.clock(clock)), anchor: .topLeft),
      Overlay(.text(.elapsed), anchor: .topRight),
    ]
    var settings = SessionCore.Settings.test
    settings.layout = layout
    settings.title = "Before"
    settings.startDate = 1_700_000_000_000_000_000
    settings.utcOffset = 3600
    var room = room()
    room.at(1_000, .title("After"))
    room.at(2_000, .pause(.cut))
    room.at(62_000, .resume)
    let run = room.run(settings, until: 70_000, every: 50)
    #expect(run.plan(at: 500)?.overlays.map(\.text) == ["Before", "23:13:20", "00:00"])
    #expect(run.plan(at: 1_500)?.overlays.map(\.text) == ["After", "23:13:21", "00:01"])
    #expect(run.plan(at: 3_500)?.overlays.map(\.text) == ["After", "23:14:23", "00:03"], "the clock goes on in a cut")
  }

  // MARK: Glides

  private static let gliding: Layout = {
    var layout = Layout.grid
    layout.transition = .glide(.milliseconds(600))
    return layout
  }()

  @Test func tilesGlideAndArrive() throws {
    var settings = SessionCore.Settings.test
    settings.layout = Self.gliding
    var room = room(["ann"])
    room.join("ben", at: 1_000)
    let run = room.run(settings, until: 3_000)
    let before = try #require(run.tile("ann", at: 990)?.layer.rect)
    let after = try #require(run.tile("ann", at: 2_000)?.layer.rect)
    #expect(before != after)
    let rects = run.plans.compactMap { plan in plan.tiles.first { $0.name == "Ann" }?.layer.rect }
    let moving = rects.filter { $0 != before && $0 != after }
    #expect((15...18).contains(moving.count))
    for rect in rects { #expect([rect.x, rect.y, rect.width, rect.height].allSatisfy { $0 % 2 == 0 }) }
    for (a, b) in zip(rects, rects.dropFirst()) { #expect(b.width <= a.width, "a glide never turns back") }
    // Ben fades in where he will be.
    let ben = run.plans.compactMap { plan in plan.tiles.first { $0.name == "Ben" }?.layer }
    #expect(Set(ben.map(\.rect)).count == 1)
    #expect(ben.first?.look.opacity ?? 255 < 20)
    #expect(ben.last?.look.opacity == 255)
  }

  @Test func aGlideThatIsInterruptedGoesOnFromWhereItIs() {
    var settings = SessionCore.Settings.test
    settings.layout = Self.gliding
    var room = room(["ann"])
    room.join("ben", at: 1_000)
    room.at(1_300, .participantLeft(ParticipantIdentity("ben")))
    let run = room.run(settings, until: 3_000)
    let widths = run.plans.compactMap { plan in plan.tiles.first { $0.name == "Ann" }?.layer.rect.width }
    for (a, b) in zip(widths, widths.dropFirst()) { #expect(abs(a - b) <= 64) }
    #expect(widths.first == widths.last)
  }
}
