import Backend
import Foundation
import Jobs
import JobsAPI
import Logging
import MediaCore
import Settings
import Testing

@testable import recbot

/// Nothing secret in what the program writes, and nothing that acts on a terminal.
@Suite struct SecrecyTests {
  private static let secret = "planted-value-0123456789"

  /// Everything that Swift has to make text of a value.
  private func texts(_ value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return ["\(value)", String(reflecting: value), dumped]
  }

  private func expectHidden(_ value: Any) {
    for text in texts(value) { #expect(!text.contains(Self.secret), "\(type(of: value)): \(text.prefix(400))") }
  }

  @Test func settingsHideTheirSecrets() {
    var environment = ["LIVEKIT_URL": "ws://host"]
    for setting in AnySetting.all where setting.isSecret {
      environment[setting.variables[0]] = Self.secret
    }
    environment["RECBOT_DATABASE"] = "postgres://me:\(Self.secret)@db/name?password=\(Self.secret)"
    let found = Configuration.inspect(path: nil, environment: environment)
    expectHidden(found.configuration)
    expectHidden(found)
    #expect("\(found.configuration)".contains("livekit.url=ws://host"))
    #expect(found.configuration[.apiSecret]?.text == Self.secret)
    #expect(Set(found.configuration.secrets) == [Self.secret])
  }

  @Test func configurationsHideTheirSecrets() throws {
    var backend = BackendConfiguration(
      roomService: RoomService(url: "ws://host", apiKey: "key", apiSecret: Self.secret))
    (backend.apiSecret, backend.workerSecret, backend.webhookSecret) = (Self.secret, Self.secret, Self.secret)
    expectHidden(backend)
    #expect(texts(backend.roomService).allSatisfy { $0.contains("ws://host") && $0.contains("[hidden]") })
    expectHidden(
      RecordingOrder(
        job: "j", attempt: 1, request: JobRequest(room: "r"),
        ticket: RoomTicket(url: "ws://host", token: Self.secret, until: Timestamp(seconds: 0)), output: "/o",
        turnCredential: Self.secret))
    var configuration = Configuration()
    configuration =
      Configuration.inspect(
        path: nil, environment: ["RECBOT_DATABASE": "postgres://me:\(Self.secret)@db/name"]
      ).configuration
    let place = try BackendStorage(configuration, dataDir: "/tmp", database: nil)
    expectHidden(place)
    #expect(place.database.contains(Self.secret) && place.description == "postgres://me:****@db/name")
  }

  /// The last line of defence: whatever a library puts into a record.
  @Test func logLinesAreClean() {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJkZXZrZXkiLCJzdWIiOiJib3QifQ.k3XnRr0g5v8b2Wc9QpLmZtYhJdFsA1eUoIi7T6x4"
    let line = StderrLog.clean(
      "service=Thing(secret: \"\(Self.secret)\") token \(token) name=\u{1b}[2J\n12:00:00 error forged\u{202e}",
      secrets: [Self.secret])
    #expect(!line.contains(Self.secret) && !line.contains("eyJ"))
    #expect(!line.unicodeScalars.contains(where: PeerText.isActive))
    #expect(line == "service=Thing(secret: \"[hidden]\") token [hidden] name=␛[2J 12:00:00 error forged\u{fffd}")
    #expect(StderrLog.clean(String(repeating: "x", count: 1 << 20), secrets: []).count <= 8192)
    // The handler itself can be printed.
    expectHidden(StderrLog(label: "x", level: .trace, secrets: [Self.secret]))
  }

  @Test func wordsThatAreWellKnownSecretsStay() {
    #expect(StderrLog.clean("no secret is set", secrets: ["secret"]) == "no secret is set")
  }

  @Test func tablesAndJSONHoldNothingThatActs() throws {
    let name = "x\u{1b}]0;t\u{7}\u{0}\u{2028}\u{202e}\n"
    var table = Table("a", "b")
    table.add(name, "c")
    var job = JobMachine().submit(
      id: "job_1", owner: name, request: JobRequest(room: name, metadata: [name: name]), origin: nil,
      now: Timestamp(seconds: 0))
    job.error = JobError(name: "n", code: 1, message: name)
    let lines = table.lines + JobText.lines(JobDetail(job: job)) + [JobText.state(job), try JSONLine.of(job)]
    for line in lines { #expect(!line.unicodeScalars.contains(where: PeerText.isActive), "\(line.debugDescription)") }
    #expect(try JSONDecoder().decode(JobsAPI.Job.self, from: Data(JSONLine.of(job).utf8)).request.room == name)
  }
}
