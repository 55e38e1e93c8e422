import Foundation
import MediaCore
import Testing

@testable import JobsAPI

/// Sinks of jobs.
@Suite struct JobSinkTests {
  private static let url = "wss://example.com/listen?key=1"

  private static func problems(_ sinks: [JobSink]) -> [String] {
    JobRequest(room: "room", sinks: sinks).problems(now: Timestamp(seconds: 0))
  }

  @Test func whatIsRightHasNoProblem() {
    let sinks = [
      JobSink(audio: "mixed", url: Self.url, rate: 16_000, channels: 1, framing: .timed),
      JobSink(video: "ann", url: "ws://10.0.0.1", width: 640, height: 360, framesPerSecond: 10),
      JobSink(audio: "Ann Lee", url: Self.url),
    ]
    #expect(Self.problems(sinks) == [])
    #expect(Self.problems(Array(repeating: sinks[0], count: 8)) == [])
    #expect(Self.problems(Array(repeating: sinks[0], count: 9)) == ["sinks: at most 8"])
  }

  @Test(arguments: [
    (JobSink(url: url), "sinks[0]: give either audio or video"),
    (JobSink(audio: "mixed", video: "mixed", url: url), "sinks[0]: give either audio or video"),
    (JobSink(audio: "", url: url), "sinks[0]: an identity has 1 to 256 bytes"),
    (JobSink(audio: "a\nb", url: url), "sinks[0]: an identity has 1 to 256 bytes"),
    (JobSink(audio: "mixed", url: "https://example.com"), "sinks[0].url: ws:// or wss://"),
    (JobSink(audio: "mixed", url: url + String(repeating: "x", count: 2048)), "sinks[0].url: ws:// or wss://"),
    (JobSink(audio: "mixed", url: url, rate: 44_100), "sinks[0].rate: 8000, 16000, 24000 or 48000"),
    (JobSink(audio: "mixed", url: url, channels: 3), "sinks[0].channels: 1 or 2"),
    (JobSink(audio: "mixed", url: url, framesPerSecond: 10), "sinks[0]: sound has no fps"),
    (JobSink(video: "mixed", url: url, rate: 8000), "sinks[0]: pictures have no rate"),
    (JobSink(video: "mixed", url: url, width: 640), "sinks[0]: width and height go together"),
    (JobSink(video: "mixed", url: url, width: 640, height: 361), "sinks[0].height: 64 to 4096, even"),
    (JobSink(video: "mixed", url: url, framesPerSecond: 61), "sinks[0].fps: 1 to 60"),
  ])
  func whatIsWrongIsTold(sink: JobSink, says: String) {
    let problems = Self.problems([sink])
    #expect(problems.count == 1 && problems[0].hasPrefix(says), "\(problems)")
  }

  @Test func itIsWrittenAndRead() throws {
    let request = JobRequest(room: "room", sinks: [.init(video: "ann", url: Self.url, framesPerSecond: 10)])
    let text = try JSONEncoder().encode(request)
    #expect(try JSONDecoder().decode(JobRequest.self, from: text) == request)
    #expect(String(decoding: text, as: UTF8.self).contains(#""fps":10"#))
    let plain = try JSONEncoder().encode(JobRequest(room: "room"))
    #expect(!String(decoding: plain, as: UTF8.self).contains("sinks"))
    let wrong = Data(#"{"room": "room", "sinks": [{"audio": "mixed", "url": "ws://x", "framing": "y4m"}]}"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JobRequest.self, from: wrong) }
  }

  @Test func onlyAWorkerThatHasSinksIsGivenSuchAJob() throws {
    let (request, now) = (
      JobRequest(room: "room", sinks: [.init(audio: "mixed", url: Self.url)]), Timestamp(seconds: 0)
    )
    var job = Job(id: "j", owner: "o", request: request, notBefore: now, origin: nil, now: now)
    #expect(WorkerAbilities(hasStore: false).lack(for: job) == "sinks")
    #expect(WorkerAbilities(hasStore: false, sinks: true).lack(for: job) == nil)
    job.request.sinks = []
    #expect(WorkerAbilities(hasStore: false).lack(for: job) == nil)
  }

  @Test func itsNameKeepsTheSecret() {
    #expect(JobSink(audio: "mixed", url: Self.url).name == "audio:mixed wss://example.com/listen?…")
    #expect(JobSink(video: "ann", url: "ws://x").name == "video:ann ws://x")
  }
}
