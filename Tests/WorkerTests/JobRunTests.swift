import Foundation
import JobsAPI
import Testing

@testable import Worker

/// What becomes of a job in a worker's hands when things go wrong, against the real backend with real processes.
@Suite struct JobRunTests {
  /// A process that lives and says nothing.
  private static let silent = RecordingLaunch(executable: "/bin/sleep", arguments: ["600"])

  @Test func aRecordingThatCannotBeStartedIsGivenBackAfterSomeAttempts() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let assignment = try #require(try await queue.claim())
      let context = try queue.context(RecordingLaunch(executable: "/nowhere/recbot"))
      await JobRun(assignment, context: context).run()
      let after = try await queue.store.job(job.id)
      #expect(after.state == .queued && after.error?.name == "recorderCrashed" && after.lease == nil)
      // Nothing is open: a worker that starts here has nothing to tell.
      let (_, open) = try Journal.open(context.folder.journal)
      #expect(open.isEmpty)
    }
  }

  @Test func aWorkerThatWasReplacedEndsItsProcessAndChangesNothing() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let assignment = try #require(try await queue.claim())
      let run = JobRun(assignment, context: try queue.context(Self.silent))
      let running = Task { await run.run() }
      #expect(try await queue.until { await run.processNumber != nil })
      let process = try #require(await run.processNumber)
      // A heartbeat that comes a moment after the lease has ended, before anybody else has the job, keeps it.
      var taken: Assignment?
      let isReplaced = try await queue.until {
        queue.clock.advance(.seconds(16))
        try await queue.store.expire()
        taken = try await queue.claim("w2")
        return taken != nil
      }
      #expect(isReplaced)
      let other = try #require(taken)
      await running.value
      #expect(!FileManager.default.fileExists(atPath: "/proc/\(process)"))
      let after = try await queue.store.job(job.id)
      #expect(after.lease?.worker == "w2" && after.fence == other.job.fence && after.parts.isEmpty)
    }
  }

  @Test func theSameWorkerGoesOnWhenItGetsItsJobAgain() async throws {
    try await TestQueue.run { queue in
      _ = try await queue.submit()
      let assignment = try #require(try await queue.claim())
      let run = JobRun(assignment, context: try queue.context(Self.silent))
      var again = assignment
      again.job.fence += 1
      #expect(await run.renew(again))
      #expect(await run.fence == assignment.job.fence + 1)
      // An older lease is nothing new.
      #expect(await run.renew(assignment) == false)
    }
  }

  @Test func whatACrashedWorkerHadIsGivenBackWithItsParts() async throws {
    try await TestQueue.run { queue in
      let job = try await queue.submit()
      let fence = try #require(try await queue.claim()).job.fence
      let left = JournalRecovery(
        folder: try WorkerFolder.take(in: queue.folder),
        journal: try Journal.open(queue.folder + "/journal.jsonl").journal, open: [OpenJob(job: job.id, fence: fence)])
      await left.settle(
        queue.client, worker: "w2",
        delivery: FileDelivery(plan: DeliveryPlan(local: queue.folder), logger: queue.logger),
        logger: queue.logger)
      let after = try await queue.store.job(job.id)
      #expect(after.state == .queued && after.lease == nil)
      #expect(try await queue.claim("w2")?.job.id == job.id)
    }
  }

  @Test func completionsOfACrashedWorkerAreToldAndThoseOfAnotherLeaseAreNot() async throws {
    try await TestQueue.run { queue in
      let (mine, lost) = (try await queue.submit(), try await queue.submit(JobRequest(room: "other")))
      var fences: [String: Int64] = [:]
      for _ in 0..<2 {
        let job = try #require(try await queue.claim()).job
        fences[job.id] = job.fence
      }
      let files = [JobFile(location: "/r/a.webm", size: 1, duration: 2)]
      var open: [OpenJob] = []
      for job in [mine, lost] {
        // The second one belongs to a lease that there never was again.
        let fence = try #require(fences[job.id]) - (job.id == lost.id ? 1 : 0)
        open.append(
          OpenJob(job: job.id, fence: fence, isRecorded: true, completion: CompleteRequest(fence: fence, files: files)))
      }
      let path = queue.folder + "/journal.jsonl"
      let (journal, _) = try Journal.open(path)
      for entry in open.flatMap(\.entries) { try await journal.append(entry) }
      let left = JournalRecovery(folder: try WorkerFolder.take(in: queue.folder), journal: journal, open: open)
      await left.settle(
        queue.client, worker: "w2",
        delivery: FileDelivery(plan: DeliveryPlan(local: queue.folder), logger: queue.logger),
        logger: queue.logger)
      #expect(try await queue.store.job(mine.id).state == .completed)
      #expect(try await queue.store.job(mine.id).files == files)
      #expect(try await queue.store.job(lost.id).state == .waiting)
      #expect(try Journal.open(path).open.isEmpty)
    }
  }
}
