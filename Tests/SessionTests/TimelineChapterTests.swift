import MediaCore
import Session
import Testing

/// What begins a chapter while recording begins the same one when it is read from the timeline's file.
@Suite struct TimelineChapterTests {
  @Test func linesOfATimelineGiveTheChaptersOfTheRecorder() {
    let events: [TimelineEvent] = [
      .started(room: "standup"), .connectionLost("signal"), .connectionRestored, .paused(.cut), .paused(.slate),
      .paused(.redact), .resumed, .marker("Agenda \"2\"\n"), .marker(""), .title("Other"), .layout("grid"),
      .joined(ParticipantIdentity("marker"), name: "paused"),
    ]
    var chapters = 0
    for event in events {
      let entry = TimelineEntry(time: .milliseconds(1234), sessionTime: .milliseconds(2000), event: event)
      let chapter = TimelineChapter(line: Array(entry.json(startDate: 0).utf8))
      #expect(chapter?.title == event.chapter)
      #expect(chapter == nil || chapter?.start == .milliseconds(1234))
      if chapter != nil { chapters += 1 }
    }
    #expect(chapters == 8)
  }

  @Test func otherLinesGiveNone() {
    let nested = String(repeating: "[", count: 100_000)
    for line in [
      "", "{", "null", "[]", #"{"event":"marker"}"#, #"{"time_ms":-1,"event":"marker"}"#,
      #"{"time_ms":99999999999999999999,"event":"marker"}"#, #"{"time_ms":1,"event":7}"#, nested,
    ] {
      #expect(TimelineChapter(line: Array(line.utf8)) == nil, "\(line.prefix(40))")
    }
  }
}
