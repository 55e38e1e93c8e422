import Glibc
import MediaCore
import Session
import Testing

@testable import Recording

@Suite struct TranscriptTests {
  private func folder() throws -> String {
    var template = Array("/tmp/recbot-transcript-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func read(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private func remove(_ folder: String, _ path: String) {
    unlink(path)
    rmdir(folder)
  }

  /// What a file of this kind holds after these entries.
  private func written(_ ending: String, _ entries: [TimelineEntry]) throws -> String {
    let folder = try folder()
    let path = "\(folder)/t.\(ending)"
    defer { remove(folder, path) }
    let transcript = try Transcript(creating: path)
    for entry in entries { transcript.append(entry, startDate: 1_795_000_000_000_000_000) }
    #expect(!transcript.isBroken)
    return read(path)
  }

  private func entry(_ ms: Int64, _ event: TimelineEvent) -> TimelineEntry {
    TimelineEntry(time: .milliseconds(ms), sessionTime: .milliseconds(ms), event: event)
  }

  private func chat(
    _ ms: Int64, _ text: String, name: String = "Ann", action: ChatMessage.Action = .posted
  ) -> TimelineEntry {
    let message = ChatMessage(
      id: "1", participant: ParticipantIdentity("ann"), text: text, timestamp: 5, action: action)
    return entry(ms, .chat(message, name: name))
  }

  private func caption(_ ms: Int64, _ text: String, isFinal: Bool, id: String = "s") -> TimelineEntry {
    let caption = Caption(
      id: id, participant: ParticipantIdentity("ben"), text: text, language: "en", isFinal: isFinal)
    return entry(ms, .caption(caption, name: "Ben"))
  }

  private var conversation: [TimelineEntry] {
    [
      chat(1_000, "Hello\nall"), caption(2_000, "", isFinal: false), caption(2_500, "good", isFinal: false),
      caption(4_250, "Good morning.", isFinal: true),
      entry(5_000, .data(DataMessage(participant: nil, topic: "votes", payload: Array("yes".utf8)), name: "")),
      chat(3_723_004, "Bye", action: .edited), chat(3_724_000, "", action: .deleted),
    ]
  }

  @Test func webVTT() throws {
    #expect(
      try written("vtt", conversation) == """
        WEBVTT

        00:00:01.000 --> 00:00:03.480
        <v Ann>Hello
        all

        00:00:02.000 --> 00:00:04.780
        <v Ben>Good morning.

        01:02:03.004 --> 01:02:05.184
        <v Ann (edited)>Bye


        """)
  }

  @Test func subRip() throws {
    #expect(
      try written("srt", conversation) == """
        1
        00:00:01,000 --> 00:00:03,480
        Ann: Hello
        all

        2
        00:00:02,000 --> 00:00:04,780
        Ben: Good morning.

        3
        01:02:03,004 --> 01:02:05,184
        Ann (edited): Bye


        """)
  }

  @Test func linesOfJSON() throws {
    let lines = try written("jsonl", conversation).split(separator: "\n").map(String.init)
    #expect(lines.count == 5)
    let ann = "\"participant\":\"ann\",\"name\":\"Ann\",\"id\":\"1\""
    #expect(lines[0].hasPrefix("{\"time_ms\":1000,\"session_ms\":1000,\"at\":\"2026-11-18T"))
    #expect(
      lines[0].hasSuffix("\"event\":\"chat\",\(ann),\"action\":\"posted\",\"text\":\"Hello\\nall\",\"sent_ms\":5}"))
    #expect(
      lines[1].hasSuffix(
        "\"event\":\"caption\",\"participant\":\"ben\",\"name\":\"Ben\",\"id\":\"s\",\"text\":\"Good morning.\","
          + "\"language\":\"en\",\"begins_ms\":2000}"))
    #expect(lines[2].hasSuffix("\"event\":\"data\",\"participant\":null,\"topic\":\"votes\",\"text\":\"yes\"}"))
    #expect(lines[4].hasSuffix("\"event\":\"chat\",\(ann),\"action\":\"deleted\",\"sent_ms\":5}"))
  }

  @Test func bytesThatAreNoTextAreWrittenInBase64() throws {
    for (bytes, expected) in [
      ([0x00], "AA=="), ([0xff, 0xfe], "//4="), ([0x1b, 0x5b, 0x6d], "G1tt"), ([0, 1, 2, 3], "AAECAw=="),
    ] as [([UInt8], String)] {
      let line = try written(
        "jsonl", [entry(0, .data(DataMessage(participant: nil, topic: "", payload: bytes), name: ""))])
      #expect(line.hasSuffix("\"base64\":\"\(expected)\"}\n"), "\(line)")
    }
  }

  @Test func hostileTextCannotLeaveItsSubtitle() throws {
    let texts = [
      "a\n\n2\n00:00:00,000 --> 01:00:00,000\nforged", "x --> y", "<v Boss>you are fired</v>", "{\\an8}top", "&lt;",
      "\u{202e}evil\u{1b}[2J", "\r\n\r\n\u{2028}\u{85}", String(repeating: "long ", count: 20_000),
      String(repeating: "\n", count: 5000) + "end",
    ]
    for text in texts {
      for ending in ["srt", "vtt"] {
        let all = try written(ending, [chat(1000, text, name: text), chat(2000, "last")])
        let blocks = all.split(separator: "\n\n", omittingEmptySubsequences: true).map(String.init)
        let cues = ending == "vtt" ? Array(blocks.dropFirst()) : blocks
        // As many subtitles as messages with anything in them, each with one line of times.
        let count = Cues.lines(text).isEmpty ? 1 : 2
        #expect(cues.count == count, "\(ending): \(text.prefix(40)): \(all.prefix(400))")
        for cue in cues {
          let lines = cue.split(separator: "\n")
          #expect(lines.filter { $0.contains("-->") }.count == 1, "\(cue.prefix(200))")
          #expect(lines.count <= 10 && cue.unicodeScalars.count < 2500)
          let hasControls = cue.unicodeScalars.contains {
            $0.value < 0x20 && $0 != "\n" || ("\u{202a}"..."\u{202e}").contains($0)
          }
          #expect(!hasControls)
        }
        if ending == "vtt" { #expect(!all.contains("<v Boss>you")) } else { #expect(!all.contains("<v")) }
      }
    }
  }

  @Test func anExistingFileIsNotOverwritten() throws {
    let folder = try folder()
    let path = "\(folder)/t.vtt"
    defer { remove(folder, path) }
    _ = try Transcript(creating: path)
    #expect(throws: RecordingError.self) { try Transcript(creating: path) }
    #expect(throws: RecordingError.self) { try Transcript(creating: "\(folder)/t.txt") }
  }
}
