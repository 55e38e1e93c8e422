import MediaCore
import Testing

@testable import WebM

/// What a recording is, is told by tags from its first page on: killed, repaired and joined files have them too.
@Suite struct TagTests {
  let directory = TemporaryDirectory()
  /// 2026-11-21 14:30:00.125 UTC.
  static let date: Int64 = 1_795_271_400_125_000_000

  private static func configuration(
    title: String = "Standup", date: Int64? = date, program: String = "recbot 1.2.3"
  ) -> WebMConfiguration {
    var configuration = Clip.configuration
    (configuration.title, configuration.date) = (title, date)
    configuration.describe(program: program)
    return configuration
  }

  private func recording(
    _ name: String, _ configuration: WebMConfiguration = configuration(), room: String = "room 7",
    finishes: Bool = true,
    also: (WebMWriter) -> Void = { _ in }
  ) throws -> String {
    let path = directory.path(name)
    let writer = try WebMWriter(path: path, configuration: configuration)
    writer.setTag(WebMConfiguration.Tag.room, room)
    for frame in Clip.shared.frames { try writer.add(frame) }
    also(writer)
    if finishes {
      _ = try writer.finish()
    } else {
      try writer.flush()
      writer.abandon()
    }
    return path
  }

  private func tags(_ path: String) throws -> [String] {
    let report = try WebMProbe.probe(path)
    #expect(report.problems == [])
    return report.tags.map { "\($0.name)=\($0.value)" }
  }

  private static let usual = [
    "TITLE=Standup", "DATE_RECORDED=2026-11-21 14:30:00.125", "ENCODER=recbot 1.2.3", "ROOM=room 7",
  ]

  /// Where the Tags elements begin, by their ID.
  private static func places(_ bytes: [UInt8]) -> [Int] {
    (0..<max(0, bytes.count - 3)).filter { bytes[$0..<$0 + 4] == [0x12, 0x54, 0xc3, 0x67] && bytes[$0 - 1] != 0x84 }
  }

  @Test func aKilledRecordingHasThem() throws {
    let killed = try recording("killed.webm", finishes: false)
    let whole = try recording("whole.webm")
    for path in [killed, whole] {
      #expect(try tags(path) == Self.usual)
      let places = Self.places(Files.read(path))
      #expect(places.count == 1 && places.allSatisfy { $0 < WebMHead.size }, "\(places)")
    }
    #expect(try WebMProbe.probe(whole).seekEntries == 4)
    // Before any frame.
    let empty = directory.path("empty.webm")
    let writer = try WebMWriter(path: empty, configuration: Self.configuration())
    #expect(try tags(empty) == Array(Self.usual.prefix(3)))
    writer.abandon()
  }

  @Test func aRepairedOneIsTheOneThatWasEnded() throws {
    let file = try RAMFile(Files.read(try recording("killed.webm", finishes: false)))
    try file.repair()
    #expect(file.bytes == Files.read(try recording("whole.webm")))
  }

  @Test func anotherTitleIsToldAtOnce() throws {
    let path = try recording("killed.webm", finishes: false) { $0.setTitle("Retro") }
    #expect(try tags(path) == ["TITLE=Retro"] + Self.usual.dropFirst())
    let nameless = try recording("nameless.webm", Self.configuration(title: "", date: nil, program: ""))
    #expect(try tags(nameless) == ["ROOM=room 7"])
  }

  /// Behind the Clusters all of them are one element again, and the head has none.
  @Test func tooManyForTheHeadAreWrittenAtTheEnd() throws {
    let long = String(repeating: "x", count: 4000)
    let killed = try recording("killed.webm", finishes: false) { $0.setTag("LONG", long) }
    #expect(try tags(killed) == Self.usual)
    let path = try recording("whole.webm") { $0.setTag("LONG", long) }
    #expect(try tags(path) == Self.usual + ["LONG=\(long)"])
    let places = Self.places(Files.read(path))
    #expect(places.count == 1 && places.allSatisfy { $0 > WebMHead.size }, "\(places)")
    let most = String(repeating: "\u{1F3A5}", count: 600)
    let full = try recording("full.webm", Self.configuration(title: most), room: String(most.prefix(256)))
    #expect(Self.places(Files.read(full)).allSatisfy { $0 < WebMHead.size })
    #expect(try WebMProbe.probe(full).tags.map(\.value.utf8.count) == [512, 23, 12, 1024])
  }

  /// Rooms are named by people, and their names stand in players and terminals.
  @Test func aRoomsNameHoldsNothingThatActs() throws {
    let path = try recording("room.webm", room: "a\u{0}\u{1b}[2J\u{202e}\nb")
    #expect(try tags(path).last == "ROOM=a␀␛[2J\u{fffd} b")
  }

  @Test func aJoinedFileHasThoseOfItsFirstPart() throws {
    let first = try recording("1.webm", finishes: false)
    var later = Self.configuration(title: "Retro", date: Self.date + 9_000_000_000, program: "recbot 1.3.0")
    let second = try recording("2.webm", later, room: "another")
    func join(_ parts: [Concatenation.Part], _ name: String) throws -> String {
      let path = directory.path(name)
      let slate = Clip.shared.frames.first { $0.isVideo && $0.isKeyframe }
      let payload = MediaBuffer(try #require(slate).bytes)
      _ = try Concatenation(parts).write(
        to: path,
        slate: { _ in [EncodedFrame(codec: .vp8, payload: payload, rtpTime: 0, isKeyframe: true)] })
      return path
    }
    let joined = try join([.init(path: first), .init(path: second)], "joined.webm")
    let found = try tags(joined)
    #expect(found.prefix(4) == ["TITLE=Retro"] + Self.usual.dropFirst() && found.contains("PARTS=2"))
    // The date that is given counts.
    let dated = try join([.init(path: first, start: 0), .init(path: second, start: 9_000_000_000)], "dated.webm")
    #expect(try tags(dated)[1] == "DATE_RECORDED=1970-01-01 00:00:00.000")
    // Of parts without tags nothing is told but what it was put together of.
    later.tags = []
    let bare = directory.path("bare.webm")
    let writer = try WebMWriter(path: bare, configuration: later)
    for frame in Clip.shared.frames { try writer.add(frame) }
    _ = try writer.finish()
    #expect(try tags(join([.init(path: bare)], "one.webm")) == [])
  }

  @Test func datesAreWrittenAsTheListOfTagsSays() {
    #expect(WebMConfiguration.tagText(0) == "1970-01-01 00:00:00.000")
    #expect(WebMConfiguration.tagText(Self.date) == "2026-11-21 14:30:00.125")
    #expect(WebMConfiguration.tagText(-1) == "1969-12-31 23:59:59.999")
    for extreme in [Int64.min, .max] { #expect(WebMConfiguration.tagText(extreme).utf8.count == 23) }
  }

  @Test(.enabled(if: Tool.judgesAreThere), arguments: [true, false]) func othersReadThem(finished: Bool) throws {
    let path = try recording("recording.webm", finishes: finished)
    let info = Tool.run(["mkvinfo", path], in: directory)
    #expect(info.status == 0 && info.errors == "")
    let lines = info.output.split(separator: "\n").map { $0.drop { "|+ ".contains($0) } }
    for tag in Self.usual {
      let (name, value) = (tag.prefix { $0 != "=" }, tag.drop { $0 != "=" }.dropFirst())
      let place = lines.firstIndex(of: "Name: \(name)")
      #expect(place.map { lines[$0 + 1] } == "String: \(value)", "\(tag) in \(info.output)")
    }
    let probe = Tool.run(
      ["ffprobe", "-v", "error", "-of", "default=nw=1:nk=0", "-show_entries", "format_tags", path], in: directory)
    #expect(probe.errors == "")
    let told = probe.output.lowercased()
    for tag in Self.usual { #expect(told.contains("tag:\(tag.lowercased())\n"), "\(tag) in \(told)") }
  }
}
