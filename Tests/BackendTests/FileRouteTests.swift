import Delivery
import Foundation
import Glibc
import JobsAPI
import NIOCore
import Testing
import WebClient

@testable import Backend

extension KeptFiles: RecordingFolder {}
extension KeptFile: OpenRecording {}

/// Fetching, linking and deleting finished files, against a real backend with a folder of its own.
@Suite struct FileRouteTests {
  /// A backend with a data folder, a finished job, and its file.
  struct Stage: Sendable {
    let api: TestBackend
    let folder: String
    let kept: KeptFiles
    let job: Job
    let path: String
    let bytes: Data

    var file: String { "/v1/recordings/\(job.id)/file" }
    func get(_ headers: [(String, String)] = [], _ method: String = "GET") async throws -> TestBackend.Answer {
      try await api.ask(method, file, TestToken.caller(), headers: headers)
    }
  }

  static func run(
    size: Int = 1000, _ change: @escaping (inout BackendConfiguration) -> Void = { _ in },
    _ body: (Stage) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "recbot-files-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder + "/recordings", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let kept = try KeptFiles(dataFolder: folder, roots: [folder + "/recordings"])
    try await TestBackend.run(on: .sqlite) { configuration in
      configuration.keptFiles = kept
      change(&configuration)
    } _: { api in
      let path = folder + "/recordings/tälk \"1\".webm"
      let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      try bytes.write(to: URL(filePath: path))
      let file = JobFile(location: path, size: Int64(size), duration: 5, sha256: "abc", dataFolder: kept.folderID)
      let job = try await finished(api, [file])
      try await body(Stage(api: api, folder: folder, kept: kept, job: job, path: path, bytes: bytes))
    }
  }

  static func finished(_ api: TestBackend, _ files: [JobFile], room: String = "room") async throws -> Job {
    let job = try await api.submit(room, TestToken.caller())
    let fence = try #require(try await api.claim().first { $0.job.id == job.id }).job.fence
    let answer = try await api.send(
      "POST", "/v1/workers/jobs/\(job.id)/complete", TestBackend.workerSecret,
      CompleteRequest(fence: fence, files: files))
    return try answer.value()
  }

  @Test func theFileIsSentWhole() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let answer = try await stage.get()
      #expect(answer.status == 200 && answer.body == stage.bytes)
      #expect(answer.headers["content-type"] == "video/webm" && answer.headers["content-length"] == "1000")
      #expect(answer.headers["etag"] == "\"abc\"" && answer.headers["accept-ranges"] == "bytes")
      #expect(
        answer.headers["content-disposition"]
          == "attachment; filename=\"t_lk _1_.webm\"; filename*=UTF-8''t%C3%A4lk%20%221%22.webm")
      let head = try await stage.get([("Range", "bytes=0-1")], "HEAD")
      #expect(head.status == 200 && head.body.isEmpty && head.headers["content-length"] == "1000")
    }
  }

  @Test func partsOfItAreSent() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      for (range, expected) in [
        ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1000), ("bytes=-10", 990..<1000),
        ("bytes=0-99999999999999999999999", 0..<1000), ("bytes=-5000", 0..<1000), ("BYTES= 5-6 ", 5..<7),
      ] {
        let answer = try await stage.get([("Range", range)])
        #expect(answer.status == 206 && answer.body == stage.bytes[expected], "\(range)")
        #expect(
          answer.headers["content-range"] == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/1000", "\(range)")
      }
      for range in ["bytes=1000-", "bytes=5000-6000", "bytes=-0"] {
        let answer = try await stage.get([("Range", range)])
        #expect(answer.status == 416 && answer.headers["content-range"] == "bytes */1000", "\(range)")
      }
      let thousands = "bytes=" + (0..<4000).map { "\($0)-\($0)" }.joined(separator: ",")
      for range in [
        "bytes=0-1,5-6", "bytes=9-5", "bytes=", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=-1-2", thousands,
      ] {
        let answer = try await stage.get([("Range", range)])
        #expect(answer.status == 200 && answer.body == stage.bytes, "\(range.prefix(40))")
      }
    }
  }

  @Test func conditionsAreKept() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let range = ("Range", "bytes=0-9")
      #expect(try await stage.get([range, ("If-Range", "\"abc\"")]).status == 206)
      for other in ["\"abd\"", "W/\"abc\"", "Sat, 21 Nov 2026 14:30:00 GMT"] {
        #expect(try await stage.get([range, ("If-Range", other)]).status == 200, "\(other)")
      }
      #expect(try await stage.get([("If-None-Match", "\"x\", W/\"abc\"")]).status == 304)
      #expect(try await stage.get([("If-None-Match", "\"x\"")]).status == 200)
      #expect(try await stage.get([("If-Match", "\"x\"")]).status == 412)
      #expect(try await stage.get([("If-Match", "*")]).status == 200)
    }
  }

  @Test func onlyWhoMaySeesIt() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let (api, path) = (stage.api, stage.file)
      let strangers = [
        TestToken.caller("bob"), TestToken.caller(rooms: "other-*"), TestToken.caller("eve", grants: [.recordingsRead]),
      ]
      for stranger in strangers {
        #expect(try await api.ask("GET", path, stranger).status == 404)
        #expect(
          try await api.send("POST", "/v1/recordings/\(stage.job.id)/links", stranger, LinkRequest()).status == 404)
      }
      for stranger in strangers.prefix(2) {
        #expect(try await api.ask("DELETE", "/v1/recordings/\(stage.job.id)", stranger).status == 404)
      }
      #expect(try await api.ask("GET", path, nil).status == 401)
      #expect(try await api.ask("GET", path, TestToken.caller(grants: [.jobsRead])).status == 401)
      #expect(
        try await api.ask("DELETE", "/v1/recordings/\(stage.job.id)", TestToken.caller(grants: [.recordingsRead]))
          .status
          == 401)
      #expect(try await api.ask("GET", path, TestToken.caller("boss", grants: [.admin])).status == 200)
      for id in ["nowhere", "..%2f..%2fetc%2fpasswd", "%00"] {
        #expect(try await api.ask("GET", "/v1/recordings/\(id)/file", TestToken.caller()).status == 404, "\(id)")
      }
      #expect(FileManager.default.fileExists(atPath: stage.path))
    }
  }

  @Test func whatIsBesideAFileIsDeletedWithIt() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let path = stage.folder + "/recordings/b.webm"
      let sides = JobSideFile.Kind.allCases.map { $0.path(beside: path) }
      for name in [path] + sides { try Data("123456".utf8).write(to: URL(filePath: name)) }
      // One is gone already.
      try FileManager.default.removeItem(atPath: sides[1])
      let file = JobFile(
        location: path, size: 6, duration: 1, dataFolder: stage.kept.folderID,
        beside: zip(JobSideFile.Kind.allCases, sides).map { JobSideFile(kind: $0, location: $1, size: 6) })
      let job = try await Self.finished(stage.api, [file])
      #expect(job.files == [file])
      #expect(try await stage.api.ask("DELETE", "/v1/recordings/\(job.id)", TestToken.caller()).status < 300)
      for name in [path] + sides { #expect(!FileManager.default.fileExists(atPath: name), "\(name)") }
      #expect(FileManager.default.fileExists(atPath: stage.path))
    }
  }

  @Test func whatIsBesideAFileIsSentLikeIt() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let (api, path) = (stage.api, stage.folder + "/recordings/b.webm")
      let sides = JobSideFile.Kind.allCases.map { kind in
        let text = "what \(kind) tells"
        return (kind, text, JobSideFile(kind: kind, location: kind.path(beside: path), size: Int64(text.utf8.count)))
      }
      try Data("123456".utf8).write(to: URL(filePath: path))
      for (_, text, side) in sides { try Data(text.utf8).write(to: URL(filePath: side.location)) }
      let file = JobFile(
        location: path, size: 6, duration: 1, dataFolder: stage.kept.folderID, beside: sides.map { $0.2 })
      let job = try await Self.finished(api, [file])
      let url = "/v1/recordings/\(job.id)"
      #expect(try await api.ask("GET", "\(url)/file", TestToken.caller()).body == Data("123456".utf8))
      for (kind, text, side) in sides {
        let one = "\(url)/file?beside=\(kind.rawValue)"
        let answer = try await api.ask("GET", one, TestToken.caller())
        #expect(answer.status == 200 && answer.body == Data(text.utf8), "\(kind)")
        #expect(answer.headers["content-type"] == kind.contentType)
        #expect(answer.headers["content-disposition"]?.contains("filename=\"b\(kind.ending)\"") == true)
        #expect(
          try await api.ask("GET", one, TestToken.caller(), headers: [("Range", "bytes=0-3")]).body == Data("what".utf8)
        )
        #expect(try await api.ask("GET", one, TestToken.caller("bob")).status == 404)
        #expect(try await api.ask("GET", one, nil).status == 401)
        // A link is for exactly one of them.
        let made = try await api.send("POST", "\(url)/links", TestToken.caller(), LinkRequest(beside: kind))
        let link = try made.value(LinkAnswer.self).url
        #expect(try await api.ask("GET", link, nil).body == Data(text.utf8))
        for other in ["", "&beside=\(kind == .manifest ? "talkers" : "manifest")"] {
          let forged = link.replacing("&beside=\(kind.rawValue)", with: other)
          #expect(forged != link)
          #expect(try await api.ask("GET", forged, nil).status == 401, "\(other)")
        }
        try FileManager.default.removeItem(atPath: side.location)
        #expect(try await api.ask("GET", one, TestToken.caller()).status == 410)
      }
      #expect(try await api.ask("GET", "\(url)/file?beside=thumbnail", TestToken.caller()).status == 400)
      let none = try await api.ask("GET", "\(stage.file)?beside=manifest", TestToken.caller())
      #expect(none.status == 404 && none.problem?.code == "no_file")
      #expect(
        try await api.send(
          "POST", "/v1/recordings/\(stage.job.id)/links", TestToken.caller(), LinkRequest(beside: .talkers)
        )
        .status == 404)
    }
  }

  @Test func linksNeedNoCredentialAndEnd() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let (api, path) = (stage.api, "/v1/recordings/\(stage.job.id)/links")
      let made = try await api.send("POST", path, TestToken.caller(), LinkRequest(lifetime: 60))
      #expect(made.status == 201)
      let link = try made.value(LinkAnswer.self)
      #expect(try await api.ask("GET", link.url, nil).body == stage.bytes)
      #expect(try await api.ask("HEAD", link.url, nil).status == 200)
      #expect(try await api.ask("GET", link.url, nil, headers: [("Range", "bytes=0-1")]).status == 206)
      let until = link.expiresAt.seconds
      let later = link.url.replacing("until=\(until)", with: "until=\(until + 1)")
      let other = try await Self.finished(api, stage.job.files)
      let forged = [
        later, link.url.replacing("number=1", with: "number=2"), String(link.url.dropLast()), link.url + "0",
        link.url.replacing(stage.job.id, with: other.id), "\(stage.file)?signature=", "\(stage.file)?signature=00",
        "\(stage.file)?number=1&until=\(until)&signature=\(String(repeating: "0", count: 64))",
      ]
      for url in forged { #expect(try await api.ask("GET", url, nil).status == 401, "\(url)") }
      #expect(try await api.ask("DELETE", link.url, nil).status == 405)
      for lifetime: Int64 in [0, -1, 7 * 86_400 + 1, .max] {
        #expect(try await api.send("POST", path, TestToken.caller(), LinkRequest(lifetime: lifetime)).status == 400)
      }
    }
  }

  @Test func aLinkIsJudgedByTheTime() {
    let links = FileLinks(secret: "a secret")
    func verdict(_ until: Int64, now: Int64, by other: FileLinks? = nil) -> FileLinks.Verdict {
      let query = links.query(job: "job_1", number: 1, until: until)
      let signature = String(query.split(separator: "=").last ?? "")
      return (other ?? links).verdict(job: "job_1", number: 1, until: until, signature: signature, now: now)
    }
    #expect(verdict(1000, now: 999) == .good && verdict(1000, now: 1000) == .ended)
    #expect(verdict(1000, now: 999, by: FileLinks(secret: "another")) == .forged)
    // Nobody can have made one that is good for longer than links are.
    #expect(verdict(.max, now: 999) == .forged)
  }

  @Test func whatIsNoFileOfOursIsNotSent() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let api = stage.api
      let secret = stage.folder + "/secret.webm"
      try Data("secret".utf8).write(to: URL(filePath: secret))
      func status(_ location: String, folder: String?) async throws -> Int {
        let file = JobFile(location: location, size: 6, duration: 1, dataFolder: folder)
        let job = try await Self.finished(api, [file])
        let status = try await api.ask("GET", "/v1/recordings/\(job.id)/file", TestToken.caller()).status
        _ = try await api.ask("DELETE", "/v1/recordings/\(job.id)", TestToken.caller())
        return status
      }
      let own = stage.kept.folderID
      let root = stage.folder + "/recordings"
      symlink(secret, root + "/link.webm")
      symlink(stage.folder, root + "/folder")
      mkfifo(root + "/pipe.webm", 0o600)
      for path in [
        secret, root + "/../secret.webm", root + "/link.webm", root + "/folder/secret.webm", root + "/./../secret.webm",
        root, root + "/", root + "//secret.webm", "/etc/passwd", "relative.webm", root + "/pipe.webm",
        root + "/" + String(repeating: "x", count: 5000), root + "/gone.webm",
      ] {
        for folder in [own, nil] { #expect(try await status(path, folder: folder) == 410, "\(path.prefix(80))") }
      }
      #expect(FileManager.default.fileExists(atPath: secret))
      // Another machine's, which nobody serves; a store that the backend doesn't know.
      #expect(try await status(stage.path, folder: "another0000000000000000000") == 503)
      #expect(try await status("s3://bucket/a.webm", folder: nil) == 503)
      // A file that is not what was recorded.
      try Data("shorter".utf8).write(to: URL(filePath: stage.path))
      #expect(try await stage.get().status == 409)
    }
  }

  @Test func deletingEndsItOnce() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let path = "/v1/recordings/\(stage.job.id)"
      #expect(try await stage.api.ask("DELETE", path, TestToken.caller()).status == 204)
      #expect(!FileManager.default.fileExists(atPath: stage.path))
      let answer = try await stage.get()
      #expect(answer.status == 410 && answer.problem?.code == "deleted")
      let list = try await stage.api.ask("GET", "/v1/recordings", TestToken.caller()).value(RecordingPage.self)
      #expect(list.recordings.isEmpty)
      let shown = try await stage.api.ask("GET", path, TestToken.caller()).value(RecordingPage.self)
      #expect(shown.recordings.map(\.number) == [1] && shown.recordings[0].file.deletedAt != nil)
      #expect(try await stage.api.ask("DELETE", path, TestToken.caller()).status == 204)
    }
  }

  @Test func aRecordingThatRunsIsNeitherSentNorDeleted() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let job = try await stage.api.submit("room", TestToken.caller())
      _ = try await stage.api.claim()
      for (method, path) in [("GET", "/file"), ("DELETE", ""), ("GET", "")] {
        let answer = try await stage.api.ask(method, "/v1/recordings/\(job.id)\(path)", TestToken.caller())
        #expect(answer.status == 409 && answer.problem?.code == "not_finished", "\(method) \(path)")
      }
      #expect(try await stage.api.backend.queue.jobs.job(job.id).state == .waiting)
    }
  }

  @Test func oneOfSeveralMustBeNamed() async throws {
    try await Self.run { (stage: Stage) async throws -> Void in
      let job = try await Self.finished(stage.api, stage.job.files + stage.job.files)
      let path = "/v1/recordings/\(job.id)/file"
      #expect(try await stage.api.ask("GET", path, TestToken.caller()).status == 400)
      #expect(try await stage.api.ask("GET", path + "?number=2", TestToken.caller()).body == stage.bytes)
      for number in ["0", "3", "-1", "x", "99999999999999999999"] {
        #expect(
          try await stage.api.ask("GET", "\(path)?number=\(number)", TestToken.caller()).status == 400, "\(number)")
      }
    }
  }

  /// Readers that take nothing keep their places until they are left, and nobody else waits for them.
  @Test(.timeLimit(.minutes(2))) func slowReadersStarveNobody() async throws {
    // More than the kernel's buffers of both sides hold, or who reads nothing has all of it.
    try await Self.run(size: 96 << 20) { configuration in
      (configuration.limits.downloads, configuration.limits.downloadsPerOwner) = (3, 2)
      configuration.limits.request.requestTime = .seconds(10)
    } _: { stage in
      let url = "http://127.0.0.1:\(stage.api.port)\(stage.file)"
      func slow() async throws -> WebResponse {
        var request = try #require(WebRequest(url: url))
        request.headers.add(name: "Authorization", value: "Bearer \(TestToken.caller())")
        return try await WebConnections().answer(to: request)
      }
      let held = [try await slow(), try await slow()]
      #expect(held.allSatisfy { $0.status == .ok })
      let refused = try await stage.get()
      #expect(refused.status == 503 && refused.problem?.code == "busy" && refused.headers["retry-after"] == "5")
      #expect(try await stage.api.ask("GET", "/v1/jobs", TestToken.caller()).status == 200)
      // They are left, both, but not in the same instant: two places are free again. Who is not left yet and is read goes on.
      var fresh: [WebResponse] = []
      while fresh.count < 2 {
        try await Task.sleep(for: .milliseconds(100))
        let answer = try await slow()
        if answer.status != .serviceUnavailable { fresh.append(answer) }
      }
      #expect(fresh.allSatisfy { $0.status == .ok })
      for response in held {
        await #expect(throws: (any Error).self) { for try await _ in response.body {} }
      }
    }
  }
}
