import Foundation
import Layouts
import MediaCore
import Session
import TestKit
import Testing

@testable import Recording

/// What is gathered of a recording, and what is made of it.
@Suite struct ManifestTests {
  private let collector = ManifestCollector()
  private let ann = ParticipantIdentity("ann"), bob = ParticipantIdentity("bob")
  private let camera = TrackID("TR_c"), microphone = TrackID("TR_m")

  private func note(_ ms: Int64, _ event: TimelineEvent, session: Int64? = nil) {
    collector.take(
      TimelineEntry(time: .milliseconds(ms), sessionTime: .milliseconds(session ?? ms), event: event))
  }

  private func begin() {
    note(0, .started(room: "talk"))
    note(0, .layout("grid"))
    note(10, .joined(ann, name: "Ann"))
    note(20, .published(camera, ann, .camera))
    note(20, .published(microphone, ann, .microphone))
  }

  private func pictures(_ times: some Sequence<Int64>) {
    for time in times { picture(at: time) }
  }

  /// A picture; `capture`: milliseconds of the sender's wall clock.
  private func picture(at ms: Int64, media: Int64 = 0, capture: Int64? = nil) {
    let frame = EncodedFrame(
      codec: .vp8, payload: MediaBuffer([1]), rtpTime: media * 90,
      captureTime: capture.map { NTPTime(nanoseconds: $0 * 1_000_000) }, isKeyframe: true)
    collector.picture(camera, frame, isShown: true, at: .milliseconds(ms))
  }

  /// Packets of 20 ms but for those that are lost.
  private func sound(_ times: some Sequence<Int64>, isLost: (Int64) -> Bool = { _ in false }) {
    var followsLoss = false
    for ms in times {
      let isLost = isLost(ms)
      let frame = EncodedFrame(
        codec: .opus, payload: MediaBuffer(isLost ? [] : [1]), rtpTime: ms * 48, isKeyframe: true,
        followsLoss: followsLoss)
      collector.audio(microphone, frame, at: .milliseconds(ms))
      followsLoss = isLost
    }
  }

  private func written(length: Int64 = 10_000, _ counts: [TrackID: ReceptionCounts] = [:]) throws -> [UInt8] {
    var settings = RecordingSettings(
      session: SessionCore.Settings(
        canvas: CanvasSize(width: 320, height: 180), layout: .grid, startDate: 1_790_000_000_000_000_000),
      output: "/a/b/talk.webm")
    settings.program = "recbot test"
    var progress = RecordingProgress()
    progress.time = .milliseconds(length)
    progress.title = "Talk"
    collector.finish(at: .milliseconds(length))
    return Array(ManifestWriter(collector.manifest, settings, progress, counts, .roomEnded).text.utf8)
  }

  private func root(_ bytes: [UInt8]) throws -> JSONValue {
    try JSONDocument(bytes, limits: JSONLimits(bytes: 1 << 24, values: 2_000_000)).root
  }

  private func objects(_ root: JSONValue, _ list: String) -> [JSONValue] { root.member(list)?.elements ?? [] }

  private func number(_ value: JSONValue?, _ name: String) -> Int64? { value?.member(name)?.integer(Int64.self) }

  @Test func saysWhoWasThereAndWhatHappened() throws {
    begin()
    collector.prepare(.participant(Participant(identity: bob, isBot: true)))
    note(1_000, .joined(bob, name: "Bob"))
    note(2_000, .left(ann, name: "Ann"))
    note(3_000, .joined(ann, name: "Ann"))
    note(4_000, .paused(.cut))
    note(4_000, .resumed, session: 9_000)
    note(5_000, .marker("here"), session: 10_000)
    note(6_000, .connectionLost("why"), session: 11_000)
    note(7_000, .connectionRestored, session: 12_000)
    collector.talked(TalkTurn(identity: ann, start: .milliseconds(500), end: .milliseconds(1_700)))
    let root = try root(written())
    #expect(number(root, "version") == 1)
    #expect(root.member("room")?.text == "talk" && root.member("title")?.text == "Talk")
    #expect(root.member("start")?.text == "2026-09-21T14:13:20.000Z")
    #expect(root.member("end")?.text == "room-ended")
    #expect(root.member("file")?.member("name")?.text == "talk.webm")
    let people = objects(root, "people")
    #expect(people.map { $0.member("identity")?.text } == ["ann", "bob"])
    #expect(people.map { $0.member("kind")?.text } == ["person", "bot"])
    #expect(number(people[0], "talked_ms") == 1_200)
    let stays = objects(people[0], "stays")
    #expect(stays.map { number($0, "from_ms") } == [10, 3_000])
    #expect(stays.map { number($0, "to_ms") } == [2_000, nil])
    #expect(number(objects(root, "pauses").first, "lasted_ms") == 5_000)
    #expect(number(objects(root, "gaps").first, "to_ms") == 7_000)
    #expect(objects(root, "markers").first?.member("title")?.text == "here")
    #expect(objects(root, "layouts").first?.member("layout")?.text == "grid")
    #expect(root.member("left_out")?.members?.isEmpty == true)
  }

  @Test func whatIsNotKnownIsLeftOut() throws {
    begin()
    sound([100])
    let tracks = objects(try root(written()), "tracks")
    let (camera, microphone) = (tracks[0], tracks[1])
    #expect(camera.member("codec") == nil && camera.member("first_ms") == nil)
    #expect(camera.member("quality")?.members?.isEmpty == true)
    #expect(microphone.member("quality")?.member("packets_lost") == nil)
    #expect(microphone.member("quality")?.member("freezes") == nil)
    #expect(number(microphone.member("quality"), "concealed_ms") == 0)
  }

  @Test func theTransportsWordIsTold() throws {
    begin()
    pictures(stride(from: 100, to: 1_000, by: 33))
    let counts = ReceptionCounts(expected: 1000, lost: 10, repaired: 30, keyframeRequests: 2)
    let tracks = objects(try root(written(length: 1_000, [camera: counts])), "tracks")
    let quality = tracks[0].member("quality")
    #expect(number(quality, "packets_expected") == 1000 && number(quality, "packets_lost") == 10)
    #expect(number(quality, "packets_repaired") == 30 && number(quality, "keyframes_requested") == 2)
    #expect(number(quality, "freezes") == 0)
  }

  @Test func aPictureThatStandsStillIsAFreeze() {
    begin()
    pictures(stride(from: 0, through: 1_980, by: 33))
    pictures(stride(from: 2_500, through: 4_000, by: 33))
    let freezes = collector.manifest.tracks[camera]?.freezes
    #expect(freezes?.count == 1)
    #expect(freezes?.total == .milliseconds(520) && freezes?.longestAt == .milliseconds(1_980))
  }

  @Test func aLittleJitterIsNone() {
    begin()
    pictures((0..<100).map { (number: Int64) -> Int64 in number * 33 + (number % 7 == 0 ? 120 : 0) })
    #expect(collector.manifest.tracks[camera]?.freezes.count == 0)
  }

  @Test func aLowerRateIsUsualAfterAWhile() {
    begin()
    pictures(stride(from: 0, to: 2_000, by: 33))
    pictures(stride(from: 2_000, to: 60_000, by: 250))
    let count = collector.manifest.tracks[camera]?.freezes.count ?? 0
    #expect(count > 0 && count < 10, "\(count) freezes")
  }

  /// A camera that is off, a track that no tile shows, a pause, an outage and a still page are no freezes.
  @Test(arguments: 0..<4) func whereNoPictureIsExpectedNoneIsMissed(reason: Int) {
    begin()
    pictures(stride(from: 0, through: 1_980, by: 33))
    switch reason {
    case 0: note(2_000, .muted(camera, ann, .camera, true))
    case 1: collector.receive([ReceptionWish(track: camera, reception: .hidden)], at: .milliseconds(2_000))
    case 2: note(2_000, .paused(.slate))
    default: note(2_000, .connectionLost("why"))
    }
    // What was on its way comes still.
    pictures([2_013])
    switch reason {
    case 0: note(9_000, .muted(camera, ann, .camera, false))
    case 1: collector.receive([ReceptionWish(track: camera, reception: .wanted)], at: .milliseconds(9_000))
    case 2: note(9_000, .resumed)
    default: note(9_000, .connectionRestored)
    }
    pictures(stride(from: 9_100, through: 9_900, by: 33))
    collector.finish(at: .milliseconds(10_000))
    #expect(collector.manifest.tracks[camera]?.freezes.count == 0)
  }

  @Test func whatNeverComesAgainStoodStillToTheEnd() {
    begin()
    pictures(stride(from: 0, through: 1_980, by: 33))
    collector.finish(at: .milliseconds(10_000))
    #expect(collector.manifest.tracks[camera]?.freezes.total == .milliseconds(8_020))
  }

  @Test func lostSoundHasItsWorstTenSeconds() throws {
    begin()
    sound(stride(from: 0, to: 30_000, by: 20)) { ms in ms == 5_000 || (12_000..<12_200).contains(ms) }
    let concealed = collector.manifest.tracks[microphone]?.concealed
    #expect(concealed?.total == .milliseconds(220) && concealed?.worst == .milliseconds(200))
    #expect(concealed?.worstAt == .seconds(10))
    let report = try QualityReport(written(length: 30_000))
    let track = try #require(report.tracks.first { $0.source == "microphone" })
    #expect(track.judgement == "0.7 % of the sound was lost")
    #expect(track.grade == .slight && track.worstAt == 10_000 && track.lost == nil)
  }

  /// Sound that the packet behind it carried again is heard.
  @Test func restoredSoundIsNotLost() throws {
    begin()
    for ms in stride(from: Int64(0), to: 10_000, by: 20) {
      // Two in a row of each fifty are missing; of the second there is a copy.
      let place = ms / 20 % 50
      let frame = EncodedFrame(
        codec: .opus, payload: MediaBuffer([10, 11].contains(place) ? [] : [1]), rtpTime: ms * 48, isKeyframe: true,
        followsLoss: place == 12)
      collector.audio(microphone, frame, isCopy: place == 11, at: .milliseconds(ms))
    }
    let quality = objects(try root(written()), "tracks")[1].member("quality")
    #expect(number(quality, "concealed_ms") == 200 && number(quality, "restored_ms") == 200)
  }

  /// Ten seconds of sound and pictures, captured together, shown `skew` milliseconds apart; the reports of both are wrong by
  /// something between, at first.
  private func talk(skew: Int64) {
    begin()
    for ms in stride(from: Int64(0), to: 10_000, by: 20) {
      let media = ms + 5_000, wall = ms + 90_000 + (ms < 500 ? 60 : ms / 500 % 3)
      let frame = EncodedFrame(
        codec: .opus, payload: MediaBuffer([1]), rtpTime: media * 48,
        captureTime: NTPTime(nanoseconds: wall * 1_000_000),
        isKeyframe: true)
      collector.audio(microphone, frame, at: .milliseconds(ms + 600))
      if ms % 40 == 0 { picture(at: ms + 600 + skew, media: ms + 70_000, capture: ms + 90_000 + ms / 500 % 3) }
    }
  }

  @Test(arguments: [0, 40, 60, 100, 499, 900, -40, -130, -200, -590] as [Int64])
  func picturesThatAreNotWithTheirSoundAreTold(skew: Int64) throws {
    talk(skew: skew)
    let quality = objects(try root(written()), "tracks")[0].member("quality")
    let (late, early) = (number(quality, "picture_late_ms") ?? -1, number(quality, "picture_early_ms") ?? -1)
    #expect(abs(late - min(500, max(0, skew))) <= 5 && abs(early - min(500, max(0, -skew))) <= 5, "\(late), \(early)")
    let track = try #require(QualityReport(written()).tracks.first { $0.source == "camera" })
    let grade: QualityReport.Grade =
      switch skew {
      case ..<(-185), 90...: .bad
      case ..<(-125), 45...: .slight
      default: .clean
      }
    #expect(track.grade == grade, "\(track.judgement)")
    if skew == 100 { #expect(track.judgement == "the picture came 100 ms after its sound") }
  }

  /// Without sound, and before there are reports enough, nobody can say.
  @Test func skewThatIsNotKnownIsNotTold() throws {
    begin()
    for ms in stride(from: Int64(0), to: 10_000, by: 40) { picture(at: ms, media: ms, capture: ms + ms / 500) }
    sound(stride(from: 0, to: 10_000, by: 20))
    #expect(number(objects(try root(written()), "tracks")[0].member("quality"), "picture_late_ms") == nil)
  }

  /// Who is muted, and a connection that is lost, lose no sound.
  @Test func whereNoSoundIsExpectedNoneIsLost() {
    begin()
    for isMute in [true, false] {
      sound(stride(from: 0, to: 1_000, by: 20))
      note(1_000, isMute ? .muted(microphone, ann, .microphone, true) : .connectionLost("why"))
      note(5_000, isMute ? .muted(microphone, ann, .microphone, false) : .connectionRestored)
      sound(stride(from: 4_980, to: 6_000, by: 20)) { $0 == 4_980 }
    }
    #expect(collector.manifest.tracks[microphone]?.concealed.total == .zero)
  }

  /// However many come, what is kept is bounded, and the manifest says what it lacks.
  @Test func thousandsOfPeopleHaveTheirPlace() throws {
    begin()
    for index in 0..<10_000 {
      let identity = ParticipantIdentity("p\(index)")
      note(100, .joined(identity, name: "P"))
      note(100, .published(TrackID("a\(index)"), identity, .camera))
      note(100, .published(TrackID("b\(index)"), identity, .microphone))
    }
    for _ in 0..<100 {
      note(200, .left(ann, name: "Ann"))
      note(300, .joined(ann, name: "Ann"))
    }
    let bytes = try written()
    #expect(bytes.count < QualityReport.longest)
    let leftOut = try root(bytes).member("left_out")
    #expect(number(leftOut, "people") == Int64(10_001 - Manifest.mostPeople))
    #expect(number(leftOut, "tracks") == Int64(20_002 - Manifest.mostTracks))
    #expect(number(leftOut, "stays") == Int64(101 - Manifest.mostOfOne))
    #expect(try QualityReport(bytes).people.count == Manifest.mostPeople)
  }

  @Test func aPartHasOnlyWhatIsInIt() throws {
    for (ms, event) in [
      (0, .started(room: "talk")), (0, .layout("grid")), (10, .joined(ann, name: "Ann")),
      (10, .joined(bob, name: "Bob")), (20, .published(camera, ann, .camera)),
      (20, .published(microphone, bob, .microphone)), (500, .marker("before")), (600, .layout("speaker")),
      (700, .unpublished(microphone, bob, .microphone)), (700, .left(bob, name: "Bob")),
    ] as [(Int64, TimelineEvent)] {
      collector.remember(TimelineEntry(time: .milliseconds(ms), sessionTime: .milliseconds(ms), event: event))
    }
    note(1_000, .marker("in it"))
    let root = try root(written())
    #expect(objects(root, "people").map { $0.member("identity")?.text } == ["ann"])
    #expect(objects(root, "tracks").map { $0.member("id")?.text } == ["TR_c"])
    #expect(objects(root, "markers").map { $0.member("title")?.text } == ["in it"])
    #expect(objects(root, "layouts").map { $0.member("layout")?.text } == ["speaker"])
  }

  @Test func theWorstTrackIsTheFirst() throws {
    begin()
    pictures(stride(from: 0, to: 10_000, by: 33))
    sound(stride(from: 0, to: 10_000, by: 20)) { $0 % 1_000 < 60 }
    let report = try QualityReport(written([microphone: ReceptionCounts(expected: 500, lost: 30, repaired: 4)]))
    #expect(report.tracks.map(\.source) == ["microphone", "camera"])
    #expect(report.tracks.map(\.grade) == [.bad, .clean])
    #expect(report.tracks[0].lost == 600 && report.tracks[0].repaired == 4)
    #expect(report.tracks[1].judgement == "clean")
  }

  @Test(arguments: [
    "", "no", "[]", "{}", "{\"version\":2,\"tracks\":[]}", "{\"version\":1}", "{\"version\":\"1\",\"tracks\":[]}",
    String(repeating: "[", count: 600),
  ])
  func whatIsNoManifestIsSaidToBeNone(text: String) {
    #expect(throws: QualityReport.Unreadable.self) { try QualityReport(Array(text.utf8)) }
  }

  @Test func strangeNumbersAreNotTold() throws {
    let text = """
      {"version":1,"length_ms":-4,"people":[{"stays":[{"from_ms":9e99,"to_ms":-1}]},7],"tracks":[{"first_ms":9,"last_ms":1,
      "quality":{"packets_expected":0,"packets_lost":9223372036854775807,"freezes":1,"freezes_ms":281474976710655,
      "concealed_ms":99999999999999999999}},"x"],"gaps":[[]],"left_out":{"a":[]}}
      """
    let report = try QualityReport(Array(text.utf8))
    #expect(report.tracks.count == 2 && report.people.count == 2)
    #expect(report.tracks[0].grade == .bad && report.tracks[0].lost == nil)
  }

  @Test func turnsComeInTheOrderInWhichTheyBegan() {
    var turns = TalkTurns()
    var all: [TalkTurn] = []
    for (ms, talking) in [(0, [ann]), (1_000, [ann, bob]), (2_000, [ann]), (3_000, []), (4_000, [bob])]
      as [(
        Int64, [ParticipantIdentity]
      )]
    { all += turns.take(talking, at: .milliseconds(ms)) }
    all += turns.finish(at: .milliseconds(5_000))
    #expect(all.map(\.identity) == [ann, bob, bob])
    #expect(all.map(\.start) == [.zero, .milliseconds(1_000), .milliseconds(4_000)])
    #expect(all.map(\.end) == [.milliseconds(3_000), .milliseconds(2_000), .milliseconds(5_000)])
  }

  /// Somebody who never stops must not hold back all the others.
  @Test func whoTalksOnAndOnHasATurnEachHalfMinute() {
    var turns = TalkTurns()
    var all: [TalkTurn] = []
    var heldBack = 0
    for slot in 0..<36_000 {
      let talking = slot % 60 < 20 ? [ann, bob] : [ann]
      all += turns.take(talking, at: .milliseconds(Int64(slot) * 100 / 3))
      heldBack = max(heldBack, slot / 60 - all.count { $0.identity == bob })
    }
    all += turns.finish(at: .seconds(1_200))
    #expect(heldBack < 20, "\(heldBack) turns were held back")
    #expect(all.map(\.start) == all.map(\.start).sorted())
    let ofAnn = all.filter { $0.identity == ann }
    #expect(ofAnn.reduce(.zero) { $0 + ($1.end - $1.start) } == Duration.seconds(1_200))
  }

  @Test func whatTheTransportCountsGrowsOnly() {
    var counts = ReceptionCounts(expected: 10, lost: 2)
    #expect(
      counts.advance(to: ReceptionCounts(expected: 15, lost: 1, repaired: 3))
        == ReceptionCounts(expected: 5, repaired: 3))
    #expect(counts.advance(to: ReceptionCounts(expected: 15, lost: 2, repaired: 3)) == ReceptionCounts(lost: 1))
  }

  @Test func aFileIsThereAsAWholeAndReplacesNone() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "recbot-manifest-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "a.json").path
    // What a kill has left is no hindrance.
    try Data("half".utf8).write(to: URL(fileURLWithPath: path + ".part"))
    try WholeFile.write("whole", to: path)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "whole")
    #expect(throws: RecordingError.self) { try WholeFile.write("other", to: path) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.json"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "whole")
  }
}
