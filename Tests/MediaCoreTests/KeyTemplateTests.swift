import MediaCore
import Testing

@Suite struct KeyTemplateTests {
  /// 2026-11-21 14:30:05 UTC.
  static let values = KeyTemplate.Values(room: "Stand-up", job: "01J", time: 1_795_271_405_000_000, attempt: 3)

  @Test func placesAreFilledIn() throws {
    let template = try KeyTemplate("{year}/{month}/{day}/{room}-{time}-{job}-{attempt}.webm")
    #expect(template.name(Self.values) == "2026/11/21/Stand-up-20261121T143005Z-01J-3.webm")
    #expect(try KeyTemplate("x{date}").name(Self.values) == "x2026-11-21")
    #expect(KeyTemplate.standard.name(Self.values) == "Stand-up-20261121T143005Z.webm")
  }

  @Test func valuesNeverLeadElsewhere() throws {
    let template = try KeyTemplate("{room}/{job}.webm")
    for room in ["../../etc", "..", ".", "", "/", "a/b\\c", "a\u{0}b\nc", ".hidden", "\u{202e}x", "%2e%2e"] {
      let name = template.name(.init(room: room, job: "j", time: 0))
      #expect(throws: Never.self, "\(room.debugDescription) -> \(name)") { try KeyTemplate.check(name) }
      #expect(name.split(separator: "/", omittingEmptySubsequences: false).count == 2)
    }
    #expect(template.name(.init(room: "Zürich 東京", job: "j", time: 0)) == "Zürich-東京/j.webm")
  }

  @Test func anyRoomGivesAGoodName() throws {
    var random = SeededRandom(seed: 11)
    for _ in 0..<500 {
      var room = ""
      for _ in 0..<Int(random.next() % 200) {
        if let scalar = Unicode.Scalar(UInt32(random.next() % 0x3000)) { room.unicodeScalars.append(scalar) }
      }
      let name = KeyTemplate.standard.name(.init(room: room, job: "j", time: 0))
      #expect(throws: Never.self, "seed 11: \(room.debugDescription)") { try KeyTemplate.check(name) }
    }
  }

  @Test(arguments: [
    "", "/x", "x/", "a//b", "../x", "a/../b", "a/./b", "{nobody}", "{room", "room}", "a\u{7}b", "a\\b",
    String(repeating: "x", count: 300),
  ])
  func templatesThatMakeNoGoodNameAreRefused(text: String) {
    #expect(throws: FileNameError.self) { try KeyTemplate(text) }
  }

  @Test func datesAreRight() {
    #expect(CivilTime.texts(microseconds: 0).time == "19700101T000000Z")
    #expect(CivilTime.texts(microseconds: -1).time == "19691231T235959Z")
    #expect(CivilTime.texts(microseconds: 951_782_400_000_000).date == "2000-02-29")
    #expect(CivilTime.texts(microseconds: 4_107_542_399_000_000).time == "21000228T235959Z")
  }
}
