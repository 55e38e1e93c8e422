import Foundation
import Glibc
import JobsAPI
import Testing

@testable import Worker

/// What workers do beside recording, against the real backend and disk.
@Suite struct HousekeepingTests {
  private static let file = JobFile(location: "/r/a.webm", size: 1, duration: 2)

  /// A job's folder of parts that was last changed at a time.
  private func makePart(of job: String, in data: String, changed: Timestamp, place: Int = 1) throws -> String {
    let folder = "\(data)/worker/\(place)/parts/\(job)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: folder + "/1-0.webm", contents: Data([1])))
    let time = timeval(tv_sec: Int(changed.microseconds / 1_000_000), tv_usec: 0)
    for path in [folder + "/1-0.webm", folder] { #expect(utimes(path, [time, time]) == 0) }
    return folder
  }

  private func keeper(_ queue: TestQueue) -> PartRetention {
    PartRetention(data: queue.folder, client: queue.client, age: .seconds(7 * 86_400), logger: queue.logger)
  }

  @Test func oldPartsOfACompletedJobGo() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let fence = try #require(try await queue.claim()).job.fence
      let now = Timestamp.now
      let old = try makePart(of: job.id, in: queue.folder, changed: now - .seconds(8 * 86_400))
      // Nobody has completed it yet.
      #expect(await keeper(queue).sweep(now: now) == [])
      _ = try await queue.store.complete(job: job.id, fence: fence, files: [Self.file])
      #expect(await keeper(queue).sweep(now: now) == [job.id])
      #expect(!FileManager.default.fileExists(atPath: old))
      let young = try makePart(of: job.id, in: queue.folder, changed: now - .seconds(6 * 86_400))
      #expect(await keeper(queue).sweep(now: now) == [])
      #expect(FileManager.default.fileExists(atPath: young))
    }
  }

  @Test func whatMayBeTheOnlyCopyStays() async throws {
    try await TestQueue.run { queue in
      let now = Timestamp.now
      var folders = [try makePart(of: "job_unknown", in: queue.folder, changed: now - .seconds(99 * 86_400), place: 2)]
      for name in ["partsMissing", "failed"] {
        let job = try await queue.submit(JobRequest(room: name))
        let fence = try #require(try await queue.claim()).job.fence
        let error = JobError(name: name, message: name)
        if name == "failed" {
          _ = try await queue.store.fail(job: job.id, fence: fence, error: error, mayRetry: false)
        } else {
          let report = JobReport(isRecorded: true, error: error)
          _ = try await queue.store.heartbeat(job: job.id, fence: fence, report: report)
          _ = try await queue.store.complete(job: job.id, fence: fence, files: [Self.file])
        }
        folders.append(try makePart(of: job.id, in: queue.folder, changed: now - .seconds(99 * 86_400)))
      }
      #expect(await keeper(queue).sweep(now: now) == [])
      for folder in folders { #expect(FileManager.default.fileExists(atPath: folder), "\(folder)") }
    }
  }

  @Test func aChosenNameIsOneWorkersInADataFolder() async throws {
    try await TestQueue.run { queue in
      func worker(_ name: String?, in folder: String) throws -> JobWorker {
        try JobWorker(WorkerSettings(dataDirectory: folder, name: name), client: queue.client, logger: queue.logger)
      }
      let first = try worker("camera", in: queue.folder)
      let error = #expect(throws: WorkerError.self) { _ = try worker("camera", in: queue.folder) }
      #expect(error?.description.contains("camera") == true)
      let others = [
        try worker("camera-2", in: queue.folder), try worker("camera", in: queue.folder + "/other"),
        try worker(nil, in: queue.folder), try worker(nil, in: queue.folder),
      ]
      withExtendedLifetime((first, others)) {}
    }
  }

  @Test func theTurnCredentialIsToldOnStandardInputAndNowhereElse() async throws {
    try await TestQueue.run { queue in
      _ = try await queue.submit()
      let assignment = try #require(try await queue.claim())
      let script = """
        head -n 1 > '\(queue.folder)/order'
        tr '\\0' '\\n' < /proc/$$/environ > '\(queue.folder)/shown'
        tr '\\0' '\\n' < /proc/$$/cmdline >> '\(queue.folder)/shown'
        touch '\(queue.folder)/done'; exec sleep 600
        """
      var launch = RecordingLaunch(
        executable: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
      launch.turnCredential = "turn-credential-4711"
      let run = JobRun(assignment, context: try queue.context(launch))
      let running = Task { await run.run() }
      #expect(try await queue.until { FileManager.default.fileExists(atPath: queue.folder + "/done") })
      let order = try #require(FileManager.default.contents(atPath: queue.folder + "/order"))
      guard case .order(let told) = try JSONDecoder().decode(RecordingInput.self, from: order) else {
        Issue.record("the first line is no order")
        return
      }
      #expect(told.turnCredential == "turn-credential-4711")
      let bytes = try #require(FileManager.default.contents(atPath: queue.folder + "/shown"))
      let shown = String(decoding: bytes, as: UTF8.self)
      #expect(shown.contains("PATH=") && !shown.contains("4711"))
      queue.clock.advance(.seconds(16))
      try await queue.store.expire()
      _ = try await queue.claim("w2")
      await running.value
    }
  }
}
