import ArgumentParser
import Jobs
import JobsAPI
import Settings
import Testing

@testable import recbot

@Suite struct ClientTests {
  static let now = Timestamp(seconds: 1_795_000_000)

  @Test func momentsAreReadAsTheyAreOrFromNow() throws {
    #expect(try TimeText.moment("+10m", now: Self.now) == Self.now + .seconds(600))
    #expect(try TimeText.moment("2026-12-24T18:00:00+01:00", now: Self.now).description == "2026-12-24T17:00:00Z")
    for wrong in ["", "tomorrow", "10m", "+", "+0s", "+-1m", "2026-12-24", "2026-12-24T18:00:00"] {
      #expect(throws: ValueError.self, "\(wrong)") { try TimeText.moment(wrong, now: Self.now) }
    }
  }

  @Test func lengthsAreShownAsClocksDo() {
    #expect(TimeText.length(0) == "0:00")
    #expect(TimeText.length(65_900_000) == "1:05")
    #expect(TimeText.length(3_600_000_000 + 61_000_000) == "1:01:01")
    #expect(TimeText.length(-1) == "0:00")
  }

  private func job(_ state: JobState, _ error: JobError? = nil) -> JobsAPI.Job {
    var job = JobMachine().submit(
      id: "job_1", owner: "me", request: JobRequest(room: "r"), origin: nil, now: Self.now)
    job.state = state
    job.error = error
    return job
  }

  @Test func theEndOfAJobIsTheEndOfItsWatcher() {
    #expect(JobWatch.failure(of: job(.completed)) == nil)
    let full = JobWatch.failure(of: job(.failed, JobError(name: "roomFull", code: 24, message: "The room is full")))
    #expect(full?.exitCode.rawValue == 24)
    #expect(full?.message.contains("The room is full") == true)
    #expect(JobWatch.failure(of: job(.cancelled))?.exitCode.rawValue == 47)
    // No failure may look like a success, whatever a backend says.
    for code in [nil, 0, -1, 256, Int.max] {
      let failure = JobWatch.failure(of: job(.failed, JobError(name: "x", code: code, message: "y")))
      #expect(failure?.exitCode.rawValue == 47, "\(code.map(String.init) ?? "none")")
    }
  }

  @Test func whatOthersWroteCannotMoveTheCursor() {
    var table = Table("A", "B")
    table.add("x\u{1b}[2J\ny", "")
    table.add("longer than that", "z")
    #expect(table.lines == ["A                 B", "x␛[2J y           -", "longer than that  z"])
    let lines = JobText.lines(
      JobDetail(job: job(.failed, JobError(name: "x", message: "a\u{1b}]0;b\u{7}\nc"))))
    #expect(lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.value >= 32 } })
  }

  @Test func flagsBecomeARequest() throws {
    let command = try JobsSubmitCommand.parse([
      "room", "--layout", "speaker", "--max-duration", "2h", "--stop-when-empty", "30s", "--size", "640x360", "--fps",
      "25", "--codec", "vp9", "--video-bitrate", "900k", "--participant", "ann", "--output", "{room}.webm", "--to",
      "s3", "--metadata", "a=b=c",
      "--webhook",
      "https://example.com", "--webhook-form", "livekit",
    ])
    var wanted = JobRequest(room: "room", layout: "speaker")
    wanted.maxDuration = 7200
    wanted.stopWhenEmpty = 30
    wanted.picture = JobPicture(width: 640, height: 360, framesPerSecond: 25, bitrate: 900_000, codec: .vp9)
    wanted.selection = JobSelection(participant: "ann")
    wanted.outputs = [JobOutput(path: "{room}.webm", destination: .s3)]
    wanted.metadata = ["a": "b=c"]
    wanted.webhook = WebhookTarget(url: "https://example.com", form: .livekit)
    #expect(try command.options.request(room: command.room) == wanted)
  }

  @Test(arguments: [
    ["--max-duration", "0s"], ["--size", "7x7"], ["--fps", "0"], ["--codec", "h264"], ["--to", "moon"],
    ["--video-bitrate", "9k"],
    ["--metadata", "=x"],
    ["--metadata", "x"], ["--webhook-form", "standard"], ["--webhook", "http://a", "--webhook-form", "x"],
  ])
  func flagsThatMakeNoSenseAreRefused(flags: [String]) throws {
    let command = try JobsSubmitCommand.parse(["room"] + flags)
    let failure = #expect(throws: Failure.self) { try command.options.request(room: "room") }
    #expect(failure?.exitCode == .usage)
    #expect(failure?.message.hasPrefix(flags[flags.count - 2]) == true, "\(failure?.message ?? "")")
  }
}
