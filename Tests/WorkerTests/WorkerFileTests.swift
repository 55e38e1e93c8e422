import Delivery
import Foundation
import Glibc
import JobsAPI
import Logging
import NIOCore
import NIOHTTP1
import Testing
import WebClient

@testable import Worker

/// A worker's page gives the backend its files, and the command after finishing runs beside it all.
@Suite struct WorkerFileTests {
  @Test func thePageGivesFilesToWhoSigns() async throws {
    try await TestQueue.run { queue in
      let data = queue.folder + "/data"
      let worker = try JobWorker(WorkerSettings(dataDirectory: data), client: queue.client, logger: queue.logger)
      let page = try await WorkerPage(at: "127.0.0.1:0", worker, secret: TestQueue.secret)
      let port = page.port
      let path = data + "/recordings/a b.webm"
      let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 11) })
      try bytes.write(to: URL(filePath: path))
      let folder = worker.keptFiles.folderID
      func ask(
        _ verb: FileRequest.Verb, _ location: String, folder: String, size: Int64 = 300_000,
        secret: String = TestQueue.secret
      ) async throws -> (status: UInt, body: Data) {
        let request = FileRequest(
          verb: verb, folderID: folder, location: location, size: size, until: Timestamp.now.seconds + 60)
        let outgoing = WebRequest(
          verb == .remove ? .DELETE : .GET, isSecure: false, host: "127.0.0.1", port: port,
          target: request.target(key: FileRequest.key(from: secret)))
        let response = try await WebConnections(.init(silence: .seconds(30))).answer(to: outgoing)
        return (response.status.code, Data(buffer: try await response.body.collect(upTo: 1 << 20)))
      }
      let all = FileRequest.Verb.read(0..<300_000)
      #expect(try await ask(all, path, folder: folder).body == bytes)
      #expect(try await ask(.read(5..<9), path, folder: folder).body == bytes[5..<9])
      #expect(try await ask(.read(0..<0), path, folder: folder).status == 200)
      #expect(try await ask(all, path, folder: folder, secret: "another secret").status == 401)
      #expect(try await ask(all, path, folder: "another0000000000000000000").status == 421)
      #expect(try await ask(all, data + "/recordings/../folder-id", folder: folder).status == 404)
      #expect(try await ask(.read(0..<5), path, folder: folder, size: 5).status == 409)
      #expect(try await ask(.remove, path, folder: folder, size: 5).status == 409)
      #expect(try await ask(.remove, path, folder: folder, secret: "another secret").status == 401)
      #expect(FileManager.default.fileExists(atPath: path))
      #expect(try await ask(.remove, path, folder: folder).status == 200)
      #expect(try await ask(.remove, path, folder: folder).status == 404)
      await page.close()
    }
  }

  @Test func thePageSaysWhatItHas() async throws {
    try await TestQueue.run { queue in
      let worker = try JobWorker(
        WorkerSettings(dataDirectory: queue.folder + "/data"), client: queue.client, logger: queue.logger)
      let page = try await WorkerPage(at: "127.0.0.1:0", worker, secret: TestQueue.secret)
      func ask(_ method: HTTPMethod, _ path: String) async throws -> (status: UInt, type: String?, text: String) {
        let request = WebRequest(method, isSecure: false, host: "127.0.0.1", port: page.port, target: path)
        let response = try await WebConnections(.init(silence: .seconds(30))).answer(to: request)
        let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
        return (response.status.code, response.headers.first(name: "content-type"), text)
      }
      #expect(try await ask(.GET, "/healthz").text == "ok\n")
      #expect(try await ask(.HEAD, "/healthz").status == 200)
      // It has not asked for work yet.
      let readiness = try await ask(.GET, "/readyz")
      #expect(readiness.status == 503 && readiness.text == "the backend is away\n")
      #expect(try await ask(.GET, "/nowhere").status == 404)
      #expect(try await ask(.POST, "/healthz").status == 405)
      #expect(try await ask(.GET, FileRequest.path).status == 404)
      #expect(try await ask(.GET, FileRequest.path + "?location=a").status == 401)
      worker.metrics.took()
      worker.metrics.ended(.handedOver)
      let metrics = try await ask(.GET, "/metrics?x")
      #expect(metrics.status == 200 && metrics.type == "text/plain; version=0.0.4; charset=utf-8")
      let lines = Set(metrics.text.split(separator: "\n").map(String.init))
      for line in [
        "recbot_worker_recordings 0", "# TYPE recbot_worker_recordings_capacity gauge", "recbot_worker_draining 0",
        "# TYPE recbot_worker_jobs_taken_total counter", "recbot_worker_jobs_taken_total 1",
        "recbot_worker_recorded_bytes_total 0", #"recbot_worker_jobs_ended_total{end="handed_over"} 1"#,
        #"recbot_worker_jobs_ended_total{end="completed"} 0"#, "recbot_build_info{version=\"\(Build.version)\"} 1",
      ] { #expect(lines.contains(line), "\(line)") }
      await page.close()
      await #expect(throws: (any Error).self) { try await ask(.GET, "/healthz") }
    }
  }

  /// Sixteen files are sent at once; whoever goes away in between gives his place back.
  @Test func filesAreSentSoManyAtOnce() async throws {
    try await TestQueue.run { queue in
      let data = queue.folder + "/data"
      let worker = try JobWorker(WorkerSettings(dataDirectory: data), client: queue.client, logger: queue.logger)
      let page = try await WorkerPage(at: "127.0.0.1:0", worker, secret: TestQueue.secret)
      let path = data + "/recordings/a.webm"
      let size = 32 << 20
      try Data(count: size).write(to: URL(filePath: path))
      let request = FileRequest(
        verb: .read(0..<Int64(size)), folderID: worker.keptFiles.folderID, location: path, size: Int64(size),
        until: Timestamp.now.seconds + 60)
      let outgoing = WebRequest(
        isSecure: false, host: "127.0.0.1", port: page.port,
        target: request.target(key: FileRequest.key(from: TestQueue.secret)))
      let client = WebConnections()
      // Each has a connection of its own, and reads nothing of the body.
      func begin() async throws -> WebResponse { try await client.answer(to: outgoing) }
      var open: [WebResponse] = []
      for _ in 0..<16 { open.append(try await begin()) }
      #expect(open.allSatisfy { $0.status == .ok })
      #expect(try await begin().status == .serviceUnavailable)
      open.removeAll()
      var isServed = false
      for _ in 0..<1000 where !isServed {
        try await Task.sleep(for: .milliseconds(10))
        isServed = try await begin().status == .ok
      }
      #expect(isServed)
      await page.close()
    }
  }

  @Test func theCommandEndsAsItDoes() async {
    func run(_ text: String, _ values: [String: String] = [:], limit: Duration = .seconds(20)) async -> String? {
      var command = AfterCommand(text, environment: ["PATH": "/usr/bin:/bin"])
      command.timeLimit = limit
      return await command.run(values) { true }
    }
    #expect(await run("exit 0") == nil)
    #expect(await run("exit 3") == "ended with code 3")
    #expect(await run("kill -9 $$") == "was ended by signal 9")
    // What others chose is never words of the shell.
    #expect(await run(#"test "$NAME" = '$(exit 9); `exit 9`'"#, ["NAME": "$(exit 9); `exit 9`"]) == nil)
    // What it started ends with it.
    let file = NSTemporaryDirectory() + "recbot-after-\(UUID().uuidString)"
    defer { unlink(file) }
    let late = await run("sleep 600 & echo $! > '\(file)'; wait", limit: .seconds(1))
    #expect(late == "ran longer than 1 s and was ended")
    let child = Int32((try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: "\n").first ?? "") ?? 0
    #expect(child > 0)
    func isAlive() -> Bool {
      (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)).map { !$0.contains(") Z ") } ?? false
    }
    for _ in 0..<500 where isAlive() { try? await Task.sleep(for: .milliseconds(10)) }
    #expect(!isAlive())
    // A job that is somebody else's now.
    let command = AfterCommand("sleep 600", environment: ["PATH": "/usr/bin:/bin"])
    #expect(await command.run([:]) { false } == "was ended by signal 9")
  }
}
