import MediaCore
import Testing

@testable import Recording

/// One manifest, and one file of who talks when, of those of parts.
@Suite struct ManifestJoinTests {
  private typealias Part = ManifestJoin.Part

  /// A part's manifest of 10 s: Ann all the time with a camera, and who else is said.
  private func manifest(
    _ people: String = "", layout: String = "grid", gaps: String = "", end: String = "stopped", late: Int = 20,
    spared: Int = 0
  ) -> [UInt8] {
    Array(
      """
      {"version": 1, "program": "recbot test", "room": "talk", "title": "Talk", "start": "2026-11-25T04:00:00.000Z",
       "length_ms": 10000, "end": "\(end)",
       "file": {"bytes": 5, "video": {"codec": "vp8", "width": 320, "height": 180, "fps": 25, "bitrate": 9, "frames": 250,
        "dropped_frames": 1\(spared > 0 ? ", \"spared_frames\": \(spared)" : "")}, "audio": {"codec": "opus", "bitrate": 8}},
       "people": [{"identity": "ann", "name": "Ann", "kind": "person", "talked_ms": 2000, "stays": [{"from_ms": 0}]}\(people)],
       "tracks": [{"id": "TR_c", "participant": "ann", "source": "camera", "kind": "video", "codec": "vp8", "from_ms": 0,
        "first_ms": 100, "last_ms": 9900, "frames": 240, "sizes": [{"at_ms": 100, "width": 640, "height": 360}],
        "quality": {"packets_expected": 100, "packets_lost": 2, "freezes": 1, "freezes_ms": 300,
         "longest_freeze_ms": 300, "longest_freeze_at_ms": 4000, "picture_late_ms": \(late), "picture_early_ms": 10, "decode_errors": 0}}],
       "layouts": [{"at_ms": 0, "layout": "\(layout)"}], "gaps": [\(gaps)], "pauses": [],
       "markers": [{"at_ms": 500, "title": "here"}], "left_out": {"sizes": 3}}
      """.utf8)
  }

  private let bob =
    #", {"identity": "bob", "name": "Bob", "kind": "bot", "talked_ms": 5, "stays": [{"from_ms": 5, "to_ms": 700}]}"#

  private func joined(_ parts: [ManifestJoin.Part], length: Int64 = 23_000) throws -> (JSONValue, QualityReport) {
    let file = ManifestJoin.File(name: "talk.webm", bytes: 77, length: length, title: "?", start: 0)
    let bytes = Array(ManifestJoin(parts).manifest(of: file).utf8)
    return (
      try JSONDocument(bytes, limits: JSONLimits(bytes: 1 << 24, values: 1 << 20)).root, try QualityReport(bytes)
    )
  }

  private func list(_ root: JSONValue, _ name: String) -> [JSONValue] { root.member(name)?.elements ?? [] }
  private func number(_ value: JSONValue?, _ name: String) -> Int64? { value?.member(name)?.integer(Int64.self) }
  private func spans(_ values: [JSONValue]) -> [[Int64?]] {
    values.map { [number($0, "from_ms"), number($0, "to_ms")] }
  }

  @Test func whatPartsSparedIsAddedUp() throws {
    let parts = [
      Part(start: 0, end: 10_000, manifest: manifest(spared: 40)),
      Part(start: 10_000, end: 20_000, manifest: manifest(spared: 2)),
    ]
    let (root, report) = try joined(parts, length: 20_000)
    #expect(number(root.member("file")?.member("video"), "spared_frames") == 42)
    #expect(report.remarks.contains("42 pictures were left out, to save processor time"))
    #expect(
      try joined([Part(start: 0, end: 10_000, manifest: manifest())]).0.member("file")?.member("video")?.member(
        "spared_frames") == nil)
  }

  @Test func onePartIsAsItWas() throws {
    let (root, report) = try joined([Part(start: 0, end: 10_000, manifest: manifest())], length: 10_000)
    #expect(spans(list(root, "people")[0].member("stays")?.elements ?? []) == [[0, nil]])
    #expect(spans(list(root, "tracks")) == [[0, nil]])
    #expect(list(root, "gaps").isEmpty && root.member("end")?.text == "stopped")
    // The part doesn't say how its file is called, so the joined one doesn't either.
    #expect(root.member("file")?.member("name") == nil && number(root.member("file"), "bytes") == 77)
    #expect(
      report.people.map(\.present) == [10_000]
        && report.remarks == [
          "1 picture was left out, as the machine did not keep up", "the manifest had no room for 3 more sizes",
        ])
  }

  @Test func whoIsInBothPartsIsThereOnce() throws {
    let (root, report) = try joined([
      Part(start: 0, end: 10_000, manifest: manifest(end: "moved", late: 60)),
      Part(start: 13_000, end: 23_000, manifest: manifest(bob, gaps: #"{"from_ms": 50, "reason": "gone"}"#)),
    ])
    let people = list(root, "people")
    #expect(people.map { $0.member("identity")?.text } == ["ann", "bob"])
    #expect(people[1].member("kind")?.text == "bot")
    #expect(spans(people[0].member("stays")?.elements ?? []) == [[0, 10_000], [13_000, nil]])
    #expect(spans(people[1].member("stays")?.elements ?? []) == [[13_005, 13_700]])
    #expect(report.people.map(\.present) == [20_000, 695] && report.people[0].talked == 4000)
    let track = try #require(list(root, "tracks").first)
    let quality = track.member("quality")
    #expect(list(root, "tracks").count == 1 && number(track, "frames") == 480)
    #expect(number(track, "first_ms") == 100 && number(track, "last_ms") == 22_900)
    #expect(list(track, "sizes").count == 1)
    #expect(number(quality, "packets_expected") == 200 && number(quality, "packets_lost") == 4)
    #expect(number(quality, "freezes") == 2 && number(quality, "freezes_ms") == 600)
    #expect(number(quality, "longest_freeze_at_ms") == 4000)
    #expect(number(quality, "picture_late_ms") == 60 && number(quality, "picture_early_ms") == 10)
    // The layout goes on across the gap, and the part's own gap to the end.
    #expect(list(root, "layouts").map { number($0, "at_ms") } == [0])
    #expect(spans(list(root, "gaps")) == [[10_000, 13_000], [13_050, nil]])
    #expect(list(root, "markers").map { number($0, "at_ms") } == [500, 13_500])
    #expect(root.member("end")?.text == "stopped" && number(root.member("left_out"), "sizes") == 6)
    #expect(number(root.member("file")?.member("video"), "frames") == 500)
    #expect(
      report.remarks.contains("the recording was interrupted once: at 0:10 for 3.0 s")
        && report.remarks.contains("the connection was lost once: at 0:13 to the end"))
  }

  @Test func threePartsWithAnotherLayoutAndNoGap() throws {
    let (root, _) = try joined(
      [
        Part(start: 0, end: 10_000, manifest: manifest(gaps: #"{"from_ms": 9000, "reason": "gone"}"#)),
        Part(start: 10_000, end: 20_000, manifest: manifest(layout: "speaker")),
        Part(start: 20_000, end: 30_000, manifest: manifest(layout: "speaker")),
      ], length: 30_000)
    #expect(list(root, "layouts").map { number($0, "at_ms") } == [0, 10_000])
    #expect(spans(list(root, "gaps")) == [[9000, 10_000]])
    #expect(spans(list(root, "people")[0].member("stays")?.elements ?? []) == [[0, nil]])
    #expect(spans(list(root, "parts")) == [[0, 10_000], [10_000, 20_000], [20_000, 30_000]])
  }

  @Test(arguments: [
    nil, "", "{", "null", "[]", #"{"version": 2, "tracks": []}"#, #"{"version": 1}"#,
  ])
  func aPartWithoutAUsableManifestIsToldAsSuch(_ text: String?) throws {
    let broken = text.map { Array($0.utf8) }
    for isLast in [false, true] {
      let whole = Part(start: isLast ? 0 : 13_000, end: isLast ? 10_000 : 23_000, manifest: manifest())
      let lost = Part(start: isLast ? 13_000 : 0, end: isLast ? 23_000 : 10_000, manifest: broken)
      let (root, report) = try joined(isLast ? [whole, lost] : [lost, whole])
      #expect(list(root, "parts").map { $0.member("unknown") != nil } == [!isLast, isLast])
      #expect(report.people.map(\.present) == [10_000])
      #expect(spans(list(root, "gaps")) == [[10_000, 13_000]])
      // How it ended is not known when the last part doesn't say.
      #expect(root.member("end")?.text == (isLast ? nil : "stopped"))
      #expect(report.remarks.contains { $0.contains("nothing is known of people and tracks") })
    }
    let (root, _) = try joined([Part(start: 0, end: 10_000, manifest: broken)])
    #expect(list(root, "people").isEmpty && root.member("title")?.text == "?")
  }

  @Test func whatIsJoinedAgainStillTellsWhatIsUnknown() throws {
    let parts = [Part(start: 0, end: 4000), Part(start: 4000, end: 8000, manifest: manifest())]
    let once = ManifestJoin(parts).manifest(of: ManifestJoin.File(name: nil, bytes: 1, length: 8000))
    let (root, _) = try joined([Part(start: 0, end: 100), Part(start: 1000, end: 9000, manifest: Array(once.utf8))])
    #expect(spans(list(root, "parts")) == [[0, 100], [1000, 5000], [5000, 9000]])
    #expect(list(root, "parts").map { $0.member("unknown") != nil } == [true, true, false])
  }

  /// Whatever a document says, nothing traps, and no time is outside of its part.
  @Test func absurdNumbersHarmNothing() throws {
    let text = String(decoding: manifest(bob), as: UTF8.self)
    for number in ["9223372036854775807", "-1", "1e300", "281474976710655", "\"x\"", "null", "[]"] {
      for field in ["from_ms", "last_ms", "talked_ms", "frames", "packets_lost", "longest_freeze_at_ms", "at_ms"] {
        let pattern = try Regex("\"\(field)\": [0-9]+")
        let bytes = Array(text.replacing(pattern, with: "\"\(field)\": \(number)").utf8)
        let (root, _) = try joined((0..<3).map { Part(start: $0 * 10_000, end: $0 * 10_000 + 9000, manifest: bytes) })
        for track in list(root, "tracks") { #expect(self.number(track, "last_ms") ?? 0 <= 29_000) }
      }
    }
  }

  @Test func talkersAreMoved() {
    let first = "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<v Ann>Ann\n\n00:00:03.000 --> 00:00:09.000\n<v Ann>An"
    let second = "WEBVTT\n\n00:00:00.500 --> 01:00:00.000\n<v Bob>Bob\n\n00:0x:03.000 --> 00:00:09.000\n<v A>B\n\n"
    let text = ManifestJoin([
      Part(start: 0, end: 10_000, talkers: Array(first.utf8)), Part(start: 12_000, end: 13_000),
      Part(start: 3_600_000, end: 3_610_000, talkers: Array(second.utf8)),
    ]).talkers()
    #expect(
      text == """
        WEBVTT

        00:00:01.000 --> 00:00:02.500
        <v Ann>Ann

        NOTE From 00:00:12.000 to 00:00:13.000 it isn't known who talked.

        01:00:00.500 --> 01:00:10.000
        <v Bob>Bob


        """)
    for damaged in ["", "WEB", "WEBVTT", "\u{0}", "WEBVTT\n\n --> \n\n\n"] {
      _ = ManifestJoin([Part(start: 0, end: 1, talkers: Array(damaged.utf8))]).talkers()
    }
  }
}
