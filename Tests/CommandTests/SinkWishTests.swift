import JobsAPI
import Testing

@testable import recbot

/// Sinks of jobs, from the flag to the worker.
@Suite struct SinkWishTests {
  @Test func theFlagIsTheRequest() throws {
    #expect(
      try SinkWish.job("audio:mixed=wss://x/hear?key=1,rate=16000,channels=1", framesPerSecond: nil)
        == JobSink(audio: "mixed", url: "wss://x/hear?key=1", rate: 16_000, channels: 1, framing: .raw))
    #expect(
      try SinkWish.job("video:Ann=ws://x,size=640x360,fps=5,framing=timed", framesPerSecond: 15)
        == JobSink(
          video: "Ann", url: "ws://x", width: 640, height: 360, framesPerSecond: 5, framing: .timed))
    #expect(try SinkWish.job("video:Ann=ws://x", framesPerSecond: nil).framesPerSecond == nil)
  }

  @Test(arguments: [
    ("audio:mixed=unix:x", "write =wss://HOST/PATH"), ("audio:mixed=fd:3", "write =wss://HOST/PATH"),
    ("mixed=ws://x", "write audio:mixed"), ("video:Ann=ws://x,fps=4", "fps is one of"),
  ])
  func whatAJobCannotHaveIsTold(text: String, says: String) {
    let failure = #expect(throws: Failure.self) { try SinkWish.job(text, framesPerSecond: 15) }
    #expect(failure?.message.contains(says) == true, "\(failure?.message ?? "")")
  }

  @Test func aWorkerMakesWhatItCanAndSaysWhatItCannot() {
    let wishes = [
      JobSink(audio: "mixed", url: "ws://10.0.0.1/x?secret"),
      JobSink(audio: "Ann", url: "wss://example.com", rate: 16_000),
      JobSink(video: "mixed", url: "wss://example.com", framesPerSecond: 4),
      JobSink(video: "mixed", url: "wss://example.com", framesPerSecond: 5, framing: .timed),
      JobSink(audio: "mixed", url: "wss://example.com", rate: 1),
    ]
    let found = JobSinks(wishes, framesPerSecond: 15, privateAddresses: .refuse)
    #expect(found.sinks.map(\.text) == ["audio:Ann=wss://example.com", "video:mixed=wss://example.com"])
    #expect(found.relays.keys.sorted() == [0, 1])
    #expect(found.sinks[0].bytesPerCount == 4 && found.sinks[1].isTimed)
    #expect(found.faults.count == 3)
    #expect(found.faults[0].hasPrefix("audio:mixed ws://10.0.0.1/x?…: it is not encrypted"), "\(found.faults[0])")
    #expect(found.faults[1].contains("asks for 4 pictures a second of a recording of 15"), "\(found.faults[1])")
    #expect(found.faults[2].contains("sink.rate: 8000"), "\(found.faults[2])")
    #expect(JobSinks(wishes, framesPerSecond: 15, privateAddresses: .allow).sinks.count == 3)
  }
}
