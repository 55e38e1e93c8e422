import Foundation
import JobsAPI
import Logging
import Platform

/// What a worker that is gone left behind in a place of the data folder: jobs that its journal has no end of.
struct JournalRecovery: Sendable {
  let folder: WorkerFolder
  let journal: Journal
  let open: [OpenJob]

  /// Tells the backend everything that it doesn't know, in the order in which it happened: completions and failures as
  /// they were, parts with their true length; what was being recorded is given back, to go on anywhere. A job that has
  /// another owner by now is left to that one, and its parts here are kept.
  func settle(_ client: BackendClient, worker: String, delivery: FileDelivery, logger: Logger) async {
    for job in open {
      var logger = logger
      logger[metadataKey: "job"] = "\(job.job)"
      // What the backend does not take now stays in the journal, for the next start.
      guard await settle(job, client, worker: worker, logger: logger) else { continue }
      await share(job, client, delivery, logger: logger)
      try? await journal.append(JournalEntry(kind: .closed, job: job.job, fence: job.fence))
    }
  }

  /// False when the backend could not be told, or did not take it (a wrong secret, for example).
  private func settle(_ job: OpenJob, _ client: BackendClient, worker: String, logger: Logger) async -> Bool {
    let id = job.job
    var answer = BackendOutcome.accepted
    if let completion = job.completion {
      answer = await Self.ask(client, logger: logger) { client throws(BackendError) in
        _ = try await client.complete(job: id, completion)
      }
      if answer == .accepted { logger.notice("completed after a restart") }
    } else if let failure = job.failure {
      answer = await Self.ask(client, logger: logger) { client throws(BackendError) in
        _ = try await client.fail(job: id, failure)
      }
    } else {
      let parts = await lookAtParts(of: job, worker: worker)
      for part in parts where answer == .accepted {
        let beat = HeartbeatRequest(
          fence: job.fence, report: JobReport(part: part, isRecorded: job.isRecorded, error: job.error))
        answer = await Self.ask(client, logger: logger) { client throws(BackendError) in
          _ = try await client.heartbeat(job: id, beat)
        }
      }
      let release = HeartbeatRequest(
        fence: job.fence, report: JobReport(isRecorded: job.isRecorded, error: job.error))
      if answer == .accepted {
        answer = await Self.ask(client, logger: logger) { client throws(BackendError) in
          _ = try await client.release(job: id, release)
        }
      }
      if answer == .accepted { logger.notice("given back after a restart", metadata: ["parts": "\(parts.count)"]) }
    }
    if answer == .fenced, !job.parts.isEmpty {
      let places = job.parts.map(\.location).filter { FileManager.default.fileExists(atPath: $0) }
      if !places.isEmpty {
        logger.notice(
          "somebody else has the job, or it is over; the parts here are kept",
          metadata: ["parts": "\(places.joined(separator: " "))"])
      }
    }
    return answer != .refused
  }

  /// Asks the backend until it has answered.
  private static func ask(
    _ client: BackendClient, logger: Logger, _ request: (BackendClient) async throws(BackendError) -> Void
  ) async -> BackendOutcome {
    let began = ContinuousClock.now
    var retry = BackendRetry(now: .zero)
    while !Task.isCancelled {
      do throws(BackendError) {
        try await request(client)
        return .accepted
      } catch {
        switch retry.failed(error, now: ContinuousClock.now - began) {
        case .again(let at, let isFirst):
          if isFirst { logger.warning("the backend is away", metadata: ["reason": "\(error)"]) }
          try? await Task.sleep(until: began + at, clock: .continuous)
        case .over(let outcome):
          logger.warning("the backend did not take it", metadata: ["reason": "\(error)"])
          return outcome
        case .late: return .refused
        }
      }
    }
    return .refused
  }

  /// Brings parts to where the job's owner reaches them, unless the job is over.
  private func share(_ job: OpenJob, _ client: BackendClient, _ delivery: FileDelivery, logger: Logger) async {
    let paths = job.parts.map(\.location)
    guard !paths.isEmpty, job.completion == nil, let known = try? await client.workerJob(job.job), !known.state.isFinal
    else { return }
    await PartHandover(job: known, delivery: delivery, logger: logger).share(paths)
  }

  /// The job's parts that have something in them, with the length that the files have.
  private func lookAtParts(of job: OpenJob, worker: String) async -> [JobPart] {
    await BlockingWork.run {
      job.parts.compactMap { part in
        guard let found = PartFile.probe(part.location) else { return nil }
        var part = part
        part.duration = found.duration
        return part
      }
    }
  }
}
