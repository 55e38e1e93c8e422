import Foundation
import Jobs
import JobsAPI
import MediaCore

/// What a database carries here: how many heartbeats a second, and how many whole jobs, by so many callers at once who wait for each
/// answer.
struct DatabaseMeasurement {
  let queue: JobQueue
  private static let callers = 32
  private static let span = Duration.seconds(5)

  /// Heartbeats of jobs that are running, a second.
  func heartbeats() async throws -> Double {
    var jobs: [Job] = []
    for number in 0..<500 {
      _ = try await queue.jobs.submit(JobRequest(room: "beat-\(number)"), owner: "bench")
    }
    while jobs.count < 500 {
      let claim = try await queue.jobs.claim(worker: "bench", count: 100)
      guard !claim.jobs.isEmpty else { break }
      jobs += claim.jobs
    }
    let running = jobs
    return try await rate { caller, round in
      let job = running[(caller + round * Self.callers) % running.count]
      _ = try await queue.jobs.heartbeat(job: job.id, fence: job.fence, report: JobReport(state: .running))
    }
  }

  /// Jobs that are submitted, claimed and completed, a second.
  func jobs() async throws -> Double {
    try await rate { caller, round in
      _ = try await queue.jobs.submit(JobRequest(room: "room-\(caller)-\(round)"), owner: "bench")
      for job in try await queue.jobs.claim(worker: "worker-\(caller)", count: 1).jobs {
        let report = JobReport(state: .uploading, isRecorded: true)
        _ = try await queue.jobs.heartbeat(job: job.id, fence: job.fence, report: report)
        let file = JobFile(location: "file", size: 1, duration: 1)
        _ = try await queue.jobs.complete(job: job.id, fence: job.fence, files: [file])
      }
    }
  }

  private func rate(_ body: @escaping @Sendable (_ caller: Int, _ round: Int) async throws -> Void) async throws
    -> Double
  {
    let began = ContinuousClock.now
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for caller in 0..<Self.callers {
        group.addTask {
          var rounds = 0
          while ContinuousClock.now - began < Self.span {
            try await body(caller, rounds)
            rounds += 1
          }
          return rounds
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(count) / ((ContinuousClock.now - began) / .seconds(1))
  }
}
