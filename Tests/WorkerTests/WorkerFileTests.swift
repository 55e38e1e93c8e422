import AsyncHTTPClient
import Delivery
import Foundation
import Glibc
import JobsAPI
import Logging
import NIOCore
import Testing

@testable import Worker

/// A worker's page gives the backend its files, and the command after finishing runs beside it all.
@Suite struct WorkerFileTests {
  @Test func thePageGivesFilesToWhoSigns() async throws {
    try await TestQueue.run { queue in
      let data = queue.folder + "/data"
      let worker = try JobWorker(WorkerSettings(dataDirectory: data), client: queue.client, logger: queue.logger)
      let page = try await WorkerPage(at: "127.0.0.1:0", worker, secret: TestQueue.secret)
      let port = try #require(page.port)
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
        var outgoing = HTTPClientRequest(
          url: "http://127.0.0.1:\(port)\(request.target(key: FileRequest.key(from: secret)))")
        outgoing.method = verb == .remove ? .DELETE : .GET
        let response = try await HTTPClient.shared.execute(outgoing, timeout: .seconds(30))
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
